#include "job/map/python_mapper.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/little_endian.h"
#include "base/try.h"
#include "io/file.h"
#include "io/system_error.h"
#include "job/map/map_wire.h"

namespace headrace {
namespace {

constexpr uint64_t kLargestAnswer = uint64_t{1} << 40;

class PythonMapper : public Mapper {
 public:
  PythonMapper(std::string function, Children& children, Sandbox sandbox, std::string python)
      : function_(std::move(function)),
        children_(children),
        sandbox_(std::move(sandbox)),
        python_(std::move(python)) {}
  ~PythonMapper() override { stop(); }

  Status start() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return system_error("start", python_, errno);
    socket_ = File(ends[0]);
    const File theirs(ends[1]);
    HR_CHECK(sandbox_.unpack({}));
    HR_TRY(child_,
           children_.start({.words = {python_, "-m", "headrace.drivers.map_worker", function_},
                            .input = theirs.get(),
                            .output = sandbox_.log(),
                            .errors = sandbox_.log()}));
    return {};
  }

  /// Its first words: that the function is there.
  Status hear_greeting() {
    HR_TRY(const std::string words, read_answer());
    std::string why;
    if (!words.empty()) {
      HR_TRY(const MapAnswer answer, decode_map_answer(words));
      if (!answer.raised) return {};
      why = last_lines(*answer.raised);
    }
    if (why.empty()) why = ended();
    return Error{.code = Code::kUsage,
                 .message = "the function '" + function_ + "' cannot be used: " + why,
                 .hint = "Name it module:function, in a folder that '" + python_ +
                         "' imports from (PYTHONPATH); HEADRACE_PYTHON names another Python."};
  }

  Result<Mapped> run(MapSample sample, uint64_t number) override {
    if (!child_) {
      HR_CHECK(start());
      HR_CHECK(hear_greeting());
    }
    Mapped mapped;
    const std::string question = encode_map_question(sample, number);
    std::string size;
    append_le(size, static_cast<uint64_t>(question.size()));
    Status asked = send(size);
    if (asked.ok()) asked = send(question);
    HR_TRY(const std::string words, asked.ok() ? read_answer() : std::string());
    if (words.empty()) {
      mapped.failed = ended();
      return mapped;
    }
    HR_TRY(MapAnswer answer, decode_map_answer(words));
    mapped.samples = std::move(answer.samples);
    if (answer.raised) mapped.failed = "the function raised " + last_lines(*answer.raised);
    return mapped;
  }

 private:
  // Not SIGPIPE when it is gone.
  Status send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return system_error("ask", python_, errno);
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return {};
  }

  bool receive(char* into, size_t size) {
    while (size > 0) {
      const ssize_t got = ::recv(socket_.get(), into, size, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      into += got;
      size -= static_cast<size_t>(got);
    }
    return true;
  }

  /// Empty: the process has ended.
  Result<std::string> read_answer() {
    std::string size(sizeof(uint64_t), '\0');
    if (!receive(size.data(), size.size())) return std::string();
    const uint64_t bytes = load_le<uint64_t>(as_bytes(size).data());
    if (bytes > kLargestAnswer) return damaged_map_answer();
    std::string answer(bytes, '\0');
    return receive(answer.data(), answer.size()) ? answer : std::string();
  }

  // It ended by itself; the next sample gets another one.
  std::string ended() {
    const std::string how = stop();
    const std::string words = sandbox_.last_words();
    return "the Python process ended with " + (how.empty() ? "exit status 0" : how) +
           (words.empty() ? "" : ": " + words);
  }

  // Closing the socket is how it learns that there is no more.
  std::string stop() {
    if (!child_) return "";
    socket_ = File();
    const pid_t child = *child_;
    child_.reset();
    return children_.wait(child);
  }

  const std::string function_;
  Children& children_;
  Sandbox sandbox_;
  const std::string python_;
  File socket_;
  std::optional<pid_t> child_;
};

}  // namespace

Result<std::unique_ptr<Mapper>> make_python_mapper(const std::string& function, Children& children,
                                                   Sandbox sandbox, const std::string& python) {
  auto mapper = std::make_unique<PythonMapper>(function, children, std::move(sandbox), python);
  HR_CHECK(mapper->start());
  HR_CHECK(mapper->hear_greeting());
  return std::unique_ptr<Mapper>(std::move(mapper));
}

}  // namespace headrace
