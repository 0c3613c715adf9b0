// A program of the user that prints credentials: `credential_process` of a profile.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/try.h"
#include "io/s3/credential_chain.h"

namespace headrace {
namespace {

constexpr size_t kMostBytes = 1 << 20;

Error failed(const std::string& what) {
  return {.code = Code::kDenied,
          .message = "the profile's credential_process " + what,
          .origin = {},
          .hint = "Run it by hand; see ~/.aws/config."};
}

}  // namespace

Result<S3Credentials> run_credential_process(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "re");  // NOLINT: a line for the shell is what it is
  if (pipe == nullptr) return failed("did not start");
  std::string text;
  std::array<char, 4096> buffer;
  for (size_t got;
       text.size() < kMostBytes && (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), got);
  const int status = ::pclose(pipe);
  if (status != 0)
    return failed("ended with status " +
                  std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : status));
  const auto answer = nlohmann::json::parse(text, nullptr, false);
  if (!answer.is_object() || !answer.contains("Version") || answer["Version"] != 1)
    return failed("did not print JSON of version 1");
  return parse_credentials(text, "the profile's credential_process");
}

}  // namespace headrace
