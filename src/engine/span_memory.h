// Memory of fetched spans: written once, read once, of every size up to some megabytes, and so much
// of it that getting fresh pages from the system would cost more than copying into them.
//
//   |held | free  |held    |held|  free           |     a span takes the beginning of the smallest
//                                                       free piece that fits; free neighbours join
//
// Only when none fits are fresh pages got; then the largest free pieces go back to the system while
// there is more than the limit.
//
// Ownership: memory that was taken keeps what it needs of this alive. Thread-safe. In a forked
// child nothing is given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace headrace {

class SpanMemory {
 public:
  /// `bytes`: so much is kept from the system, and more only while it is held.
  explicit SpanMemory(uint64_t bytes);

  /// `size` bytes, contents undefined, at the beginning of a page. Destroying the pointer gives
  /// them back. Throws std::bad_alloc.
  std::shared_ptr<std::byte> take(uint64_t size);

  /// Whether more may be taken without crowding: the pieces between need an eighth.
  bool has_room() const;

  struct Usage {
    uint64_t held = 0;
    uint64_t mapped = 0;  ///< held and free
  };
  Usage usage() const;

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace headrace
