// Standard output, buffered: plain appends, no streams. And JSON written straight into a string.
//
// A reader that goes away (`headrace ls … | head`) is no error: `closed()` turns true, what is
// written afterwards is dropped, and verbs that only print stop early.
// Thread-safety: one thread at a time.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace::cli {

class Output {
 public:
  explicit Output(int descriptor) : descriptor_(descriptor) {}

  void text(std::string_view text);
  void number(uint64_t value);
  /// Text from a data set: control characters as \xNN, so that names cannot steer a terminal.
  void name(std::string_view name);
  void bytes(ByteView bytes) { text(as_text(bytes)); }

  bool closed() const { return closed_; }
  /// Writes what is buffered. The first failed write (a full disk) is reported here, each time.
  Status flush();

 private:
  void write_out(std::string_view text);

  int descriptor_;
  std::string buffer_;
  bool closed_ = false;
  int problem_ = 0;  // errno of the first failed write
};

/// Control characters as \xNN.
std::string printable(std::string_view name);

/// Appends JSON to a string. Bytes that are not UTF-8 become \udcXX, as Python's surrogateescape
/// does, so that no name is lost.
///   Json(text).object().key("samples").value(12).end();
class Json {
 public:
  explicit Json(std::string& into) : into_(into) {}

  Json& object() { return open('{'); }
  Json& array() { return open('['); }
  Json& end();
  Json& key(std::string_view name);
  Json& value(std::string_view text);
  Json& value(const char* text) { return value(std::string_view(text)); }
  Json& value(double number);
  Json& value(bool truth);
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Json& value(T number) { return raw(std::to_string(number)); }
  Json& null() { return raw("null"); }
  template <typename T>
  Json& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }

 private:
  Json& open(char bracket);
  Json& raw(std::string_view text);
  void comma();

  std::string& into_;
  std::string closing_;  // brackets still to close, innermost last
  bool first_ = true;
  bool after_key_ = false;
};

}  // namespace headrace::cli
