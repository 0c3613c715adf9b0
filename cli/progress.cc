#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "base/units.h"

namespace headrace::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kLine = std::chrono::seconds(30);
constexpr double kMemorySeconds = 5;
constexpr const char* kWipe = "\r\x1b[K";

size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

void Rate::update(double total, double seconds) {
  const double passed = seconds - seconds_;
  if (passed <= 0) return;
  const double now = (total - total_) / passed;
  const double keep = any_ ? std::exp(-passed / kMemorySeconds) : 0;
  rate_ = keep * rate_ + (1 - keep) * now;
  any_ = true;
  total_ = total;
  seconds_ = seconds;
}

ProgressLine::ProgressLine(const Context& context, std::string verb, std::string unit)
    : progress_(context.progress),
      verb_(std::move(verb)),
      unit_(std::move(unit)),
      redraw_(is_terminal(STDERR_FILENO)),
      start_(std::chrono::steady_clock::now()) {
  if (!context.quiet) thread_ = std::thread([this] { watch(); });
}

ProgressLine::~ProgressLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void ProgressLine::watch() {
  const std::chrono::milliseconds interval = redraw_ ? kRedraw : kLine;
  bool drawn = false;
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, interval, [this] { return end_; })) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    std::string text = line(passed.count());
    if (redraw_)
      text = kWipe + text.substr(0, terminal_columns() - 1);
    else
      text += '\n';
    std::fputs(text.c_str(), stderr);
    drawn = true;
  }
  if (drawn && redraw_) std::fputs(kWipe, stderr);
}

std::string ProgressLine::line(double seconds) {
  const uint64_t bytes = progress_.bytes, total = progress_.total_bytes;
  const uint64_t items = progress_.items, total_items = progress_.total_items;
  bytes_.update(static_cast<double>(bytes), seconds);
  items_.update(static_cast<double>(items), seconds);

  std::string text = verb_ + "  " + format_bytes(bytes);
  double left = -1;
  if (total > 0) {
    text += " of " + format_bytes(total) + "  " + std::to_string(bytes * 100 / total) + "%";
    if (bytes_.per_second() > 0 && bytes <= total)
      left = static_cast<double>(total - bytes) / bytes_.per_second();
  } else if (total_items > 0 && items_.per_second() > 0 && items <= total_items) {
    left = static_cast<double>(total_items - items) / items_.per_second();
  }
  text += "  " + format_bytes(static_cast<uint64_t>(bytes_.per_second())) + "/s";
  text += "  " + format_count(items);
  if (total_items > 0) text += " of " + format_count(total_items);
  text += " " + unit_;
  if (left >= 0) text += "  " + format_seconds(left) + " left";
  return text;
}

}  // namespace headrace::cli
