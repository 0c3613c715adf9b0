#include "io/system_error.h"

#include <cerrno>
#include <system_error>

namespace headrace {
namespace {

struct Kind {
  Code code;
  const char* hint;
};

Kind kind_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return {Code::kNotFound, "Check the path."};
    case EACCES:
    case EPERM:
      return {Code::kDenied, "Check the permissions of the file and of the folders above it."};
    case EROFS:
      return {Code::kDenied, "The file system is read-only; choose another place."};
    case ENOSPC:
    case EDQUOT:
      return {Code::kNoSpace, "Free some space, or choose another place, and run it again."};
    case EFBIG:
      return {Code::kNoSpace, "The file is larger than the file system or `ulimit -f` allows."};
    case EMFILE:
    case ENFILE:
      return {Code::kFailure, "Too many open files: raise `ulimit -n` or use fewer threads."};
    case ELOOP:
      return {Code::kFailure, "Symbolic links lead in a circle."};
    case ENAMETOOLONG:
      return {Code::kFailure, "The name is longer than the system allows."};
    default:
      return {Code::kFailure, ""};
  }
}

}  // namespace

Error system_error(const std::string& action, const std::string& path, int number) {
  const Kind kind = kind_of(number);
  return {
      .code = kind.code,
      .message = "cannot " + action + " '" + path + "': " + std::generic_category().message(number),
      .origin = {},
      .hint = kind.hint};
}

}  // namespace headrace
