// Views of bytes. A view owns nothing: it is valid while what it points into lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headrace {

using ByteView = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline MutableBytes as_writable_bytes(std::string& text) {
  return {reinterpret_cast<std::byte*>(text.data()), text.size()};
}

}  // namespace headrace
