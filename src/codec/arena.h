// Memory for codecs that take many pieces a picture: they are taken one after the other from a
// block that stays, and given back all at once. Belongs to one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define HEADRACE_PIECES_APART 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEADRACE_PIECES_APART 1
#endif
#endif

namespace headrace {

class Arena {
 public:
  static constexpr size_t kAlignment = 64;
  /// What is kept for the next picture, at most.
  static constexpr size_t kKept = size_t{8} << 20;

  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    while (newest_ != nullptr) free_newest();
  }

  /// Uninitialised and aligned to kAlignment; nullptr: there is no memory. Throws nothing, as
  /// codecs in C call it.
  void* take(size_t size) noexcept {
    if (size > kMost) return nullptr;
    const size_t bytes = kPiecesApart ? size : (size + kAlignment - 1) / kAlignment * kAlignment;
    if ((newest_ == nullptr || newest_->size - newest_->used < bytes) &&
        !add_block(std::max(bytes, kSmallestBlock)))
      return nullptr;
    std::byte* piece = reinterpret_cast<std::byte*>(newest_ + 1) + newest_->used;
    newest_->used += bytes;
    taken_ += bytes;
    return piece;
  }

  /// Takes all pieces back. One block stays that has room for as many, if they are no more than
  /// kKept.
  void clear() noexcept {
    const size_t wanted = std::min(taken_, kKept);
    taken_ = 0;
    const auto may_stay = [&](const Block& block) {
      return !kPiecesApart && block.older == nullptr && block.size >= wanted && block.size <= kKept;
    };
    while (newest_ != nullptr && !may_stay(*newest_)) free_newest();
    if (newest_ != nullptr) {
      newest_->used = 0;
    } else if (!kPiecesApart && wanted > 0) {
      add_block(wanted);
    }
  }

 private:
#ifdef HEADRACE_PIECES_APART
  // A block a piece, so that AddressSanitizer sees what is read behind its end or after its time.
  static constexpr bool kPiecesApart = true;
#else
  static constexpr bool kPiecesApart = false;
#endif
  static constexpr size_t kSmallestBlock = kPiecesApart ? 0 : size_t{128} << 10;
  static constexpr size_t kMost = SIZE_MAX / 2;

  /// Stands before its bytes.
  struct alignas(kAlignment) Block {
    Block* older;
    size_t size;
    size_t used;
  };

  bool add_block(size_t size) noexcept {
    void* memory = nullptr;
    if (posix_memalign(&memory, kAlignment, sizeof(Block) + size) != 0) return false;
    newest_ = new (memory) Block{newest_, size, 0};  // NOLINT(*-owning-memory)
    return true;
  }

  void free_newest() noexcept {
    Block* block = newest_;
    newest_ = block->older;
    std::free(block);  // NOLINT(*-no-malloc,*-owning-memory)
  }

  Block* newest_ = nullptr;
  size_t taken_ = 0;
};

}  // namespace headrace
