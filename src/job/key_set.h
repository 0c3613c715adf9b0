// A set of keys that numbers them in order of arrival: an open hash table over one text.
// Memory: the bytes of the keys and about 32 bytes a key. Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

class KeySet {
 public:
  /// The number of `key`, and whether it is new.
  struct Place {
    uint32_t number = 0;
    bool is_new = false;
  };
  Place add(std::string_view key);
  bool contains(std::string_view key) const;

  uint32_t size() const { return static_cast<uint32_t>(begins_.size() - 1); }
  std::string_view operator[](uint32_t number) const {
    return std::string_view(text_).substr(begins_[number], begins_[number + 1] - begins_[number]);
  }
  uint64_t begin(uint32_t number) const { return begins_[number]; }
  /// All keys, one after the other; the set is done for.
  std::string take_text() { return std::move(text_); }

 private:
  static constexpr uint32_t kFree = ~uint32_t{0};

  size_t slot_of(std::string_view key, uint64_t hash) const;
  void grow();

  std::string text_;
  std::vector<uint64_t> begins_{0};
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> slots_ = std::vector<uint32_t>(1024, kFree);
};

}  // namespace headrace
