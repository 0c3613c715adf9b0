#include "io/read_whole.h"

#include <latch>

namespace headrace {

std::vector<Result<std::string>> read_whole(
    const std::vector<std::unique_ptr<ByteSource>>& objects) {
  std::vector<Result<std::string>> answers;
  answers.reserve(objects.size());  // places that readers hold must not move
  std::latch all_here(static_cast<std::ptrdiff_t>(objects.size()));
  for (const auto& object : objects) {
    Result<std::string>& answer = answers.emplace_back(std::string(object->size(), '\0'));
    object->start_read(0, as_writable_bytes(*answer), kNow, [&](Status status) {
      if (!status.ok()) answer = std::move(status).error();
      all_here.count_down();
    });
  }
  all_here.wait();
  return answers;
}

}  // namespace headrace
