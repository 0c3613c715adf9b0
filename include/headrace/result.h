// Errors as values. `Result<T>` is a value or an `Error`; `Status` is success or an `Error`.
//
// Nothing below the faces (command line, Python) throws for bad data, bad storage or bad input: it
// returns one of these. Exceptions are left for misuse (reading the value of an error) and memory.
// Thread-safety: plain values; share them as you would share a std::string.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace headrace {

/// What kind of thing went wrong. The command line's exit codes follow from it (see `exit_code`).
enum class Code {
  kFailure,      ///< an operation failed and no other code fits
  kUsage,        ///< the caller asked for something that makes no sense
  kNotFound,     ///< a file, shard, key or field is not there
  kCorrupt,      ///< bytes are not what the format or a checksum says
  kPartial,      ///< stopped half-way; the same call again goes on
  kChanged,      ///< an input is no longer what it was
  kDenied,       ///< permissions or credentials
  kNoSpace,      ///< the disk or the quota is full
  kInterrupted,  ///< Ctrl-C or a stop was asked for
};

/// The process exit code of the command line for `code`.
int exit_code(Code code);

/// The snake_case name of `code`, as in JSON output and in Python (`error.code`).
const char* code_name(Code code);

/// Where bytes came from: shard (path or URL), member or sample key, byte offset in the shard.
struct Origin {
  static constexpr uint64_t kNoOffset = ~uint64_t{0};

  std::string shard = {};
  std::string member = {};
  uint64_t offset = kNoOffset;
};

/// What happened, where, and what to do next. `message` is one sentence without a full stop.
struct Error {
  Code code = Code::kFailure;
  std::string message;
  Origin origin = {};
  std::string hint = {};  ///< what to do next; may be empty

  /// "message (shard S, member M, at byte N). hint" with the parts that are known.
  std::string to_string() const;

  /// This error with the parts of `where` that it does not know itself.
  Error at(const Origin& where) &&;
};

/// A value of type T, or an Error. [[nodiscard]]: an ignored Result is a lost error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(*-explicit-*)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(*-explicit-*)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// Precondition: ok(). Throws std::bad_variant_access otherwise.
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// Precondition: !ok().
  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

/// Success, or an Error. `Status()` and `Status::success()` are success.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}  // NOLINT(*-explicit-*)
  static Result success() { return {}; }

  bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  Error& error() & { return error_; }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  Error error_;
  bool failed_ = false;
};

using Status = Result<void>;

}  // namespace headrace
