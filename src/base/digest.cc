#include "base/digest.h"

#include <openssl/evp.h>
#include <xxhash.h>

#include <array>
#include <new>

namespace headrace {

uint64_t xxh3(ByteView bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

uint64_t xxh64(ByteView bytes, uint64_t seed) { return XXH64(bytes.data(), bytes.size(), seed); }

Xxh3Stream::Xxh3Stream() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  reset();
}

void Xxh3Stream::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

void Xxh3Stream::update(ByteView bytes) {
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

uint64_t Xxh3Stream::digest() const { return XXH3_64bits_digest(state_.get()); }

void Xxh3Stream::reset() { XXH3_64bits_reset(state_.get()); }

// The calls below fail only for want of memory.
Sha256Stream::Sha256Stream() : context_(EVP_MD_CTX_new()) {
  if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
    throw std::bad_alloc();
}

void Sha256Stream::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

void Sha256Stream::update(ByteView bytes) {
  if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1) throw std::bad_alloc();
}

std::string Sha256Stream::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_DigestFinal_ex(context_.get(), digest.data(), &size) != 1) throw std::bad_alloc();
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(size_t{2} * size);
  for (unsigned int i = 0; i < size; ++i) {
    hex += kDigits[digest[i] >> 4];
    hex += kDigits[digest[i] & 15];
  }
  return hex;
}

std::string sha256_hex(ByteView bytes) {
  Sha256Stream stream;
  stream.update(bytes);
  return stream.hex();
}

std::string hex64(uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex(16, '0');
  for (int i = 15; i >= 0; --i, value >>= 4) hex[static_cast<size_t>(i)] = kDigits[value & 15];
  return hex;
}

}  // namespace headrace
