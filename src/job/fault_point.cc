#include "job/fault_point.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

namespace headrace {
namespace {

struct CrashAt {
  std::string name;
  int times = 0;
};

CrashAt read_environment() {
  const char* text = std::getenv("HEADRACE_CRASH_AT");
  if (text == nullptr) return {};
  const std::string_view view(text);
  const size_t colon = view.find(':');
  const int times = colon == view.npos ? 1 : std::atoi(text + colon + 1);
  return {std::string(view.substr(0, colon)), times};
}

}  // namespace

void fault_point(const char* name) {
  static const CrashAt crash = read_environment();
  if (crash.times == 0 || crash.name != name) return;
  static std::atomic<int> seen{0};
  if (++seen == crash.times) std::raise(SIGKILL);
}

}  // namespace headrace
