#include "base/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#ifdef HEADRACE_XXH_DISPATCH
#include <xxh_x86dispatch.h>  // the names below become those that look at the processor
#else
#include <xxhash.h>
#endif

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
  return headrace::hex(std::as_bytes(std::span(digest).first(size)));
}

std::string md5(ByteView bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_md5(), nullptr) != 1)
    throw std::bad_alloc();
  return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string hmac_sha256(std::string_view key, std::string_view message) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(), digest.data(),
           &size) == nullptr)
    throw std::bad_alloc();
  return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string hex(ByteView bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
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
