#include "job/key_set.h"

#include "base/digest.h"

namespace headrace {

size_t KeySet::slot_of(std::string_view key, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot] != kFree && (hashes_[slots_[slot]] != hash || (*this)[slots_[slot]] != key))
    slot = (slot + 1) & mask;
  return slot;
}

bool KeySet::contains(std::string_view key) const {
  return slots_[slot_of(key, xxh3(as_bytes(key)))] != kFree;
}

KeySet::Place KeySet::add(std::string_view key) {
  const uint64_t hash = xxh3(as_bytes(key));
  const size_t slot = slot_of(key, hash);
  if (slots_[slot] != kFree) return {slots_[slot], false};
  const uint32_t number = size();
  slots_[slot] = number;
  text_ += key;
  begins_.push_back(text_.size());
  hashes_.push_back(hash);
  if (hashes_.size() * 2 > slots_.size()) grow();
  return {number, true};
}

void KeySet::grow() {
  slots_.assign(slots_.size() * 2, kFree);
  const size_t mask = slots_.size() - 1;
  for (uint32_t number = 0; number < size(); ++number) {
    size_t slot = hashes_[number] & mask;
    while (slots_[slot] != kFree) slot = (slot + 1) & mask;
    slots_[slot] = number;
  }
}

}  // namespace headrace
