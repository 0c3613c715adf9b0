#include "cli/output.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace headrace::cli {
namespace {

constexpr size_t kBufferBytes = 64 << 10;
constexpr std::string_view kDigits = "0123456789abcdef";

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

void append_printable(std::string& into, std::string_view name) {
  size_t plain = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (!is_control(c)) continue;
    into.append(name, plain, i - plain);
    into.append({'\\', 'x', kDigits[c >> 4], kDigits[c & 15]});
    plain = i + 1;
  }
  into.append(name, plain);
}

}  // namespace

void Output::text(std::string_view text) {
  if (closed_ || problem_ != 0) return;
  if (buffer_.size() + text.size() > kBufferBytes) {
    write_out(buffer_);
    buffer_.clear();
  }
  if (text.size() > kBufferBytes)
    write_out(text);
  else
    buffer_ += text;
}

void Output::number(uint64_t value) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text({digits.data(), static_cast<size_t>(end - digits.data())});
}

void Output::name(std::string_view name) {
  for (const char c : name)
    if (is_control(static_cast<unsigned char>(c))) return text(printable(name));
  text(name);
}

void Output::write_out(std::string_view text) {
  while (!text.empty() && !closed_ && problem_ == 0) {
    const ssize_t wrote = ::write(descriptor_, text.data(), text.size());
    if (wrote >= 0)
      text.remove_prefix(static_cast<size_t>(wrote));
    else if (errno == EPIPE)
      closed_ = true;
    else if (errno != EINTR)
      problem_ = errno;
  }
}

Status Output::flush() {
  write_out(buffer_);
  buffer_.clear();
  if (problem_ == 0) return {};
  const bool full = problem_ == ENOSPC || problem_ == EDQUOT;
  return Error{.code = full ? Code::kNoSpace : Code::kFailure,
               .message = std::string("cannot write standard output: ") + std::strerror(problem_)};
}

std::string printable(std::string_view name) {
  std::string text;
  append_printable(text, name);
  return text;
}

}  // namespace headrace::cli
