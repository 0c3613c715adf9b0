// Digests: XXH3 (fast, for data), SHA-256 (for the chain from the manifest to its tables) and MD5
// (what bucket services know of bytes).
// Thread-safety: functions are pure; one hasher object belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "headrace/bytes.h"

struct XXH3_state_s;
struct evp_md_ctx_st;

namespace headrace {

/// XXH3, 64 bits, seed 0.
uint64_t xxh3(ByteView bytes);

/// XXH64, the older one, for services that use it.
uint64_t xxh64(ByteView bytes, uint64_t seed = 0);

/// XXH3, 64 bits, of a stream of pieces.
class Xxh3Stream {
 public:
  Xxh3Stream();

  void update(ByteView bytes);
  uint64_t digest() const;
  void reset();

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

/// SHA-256 as 64 lower-case hexadecimal digits.
std::string sha256_hex(ByteView bytes);

/// SHA-256 of a stream of pieces.
class Sha256Stream {
 public:
  Sha256Stream();

  void update(ByteView bytes);
  /// 64 lower-case hexadecimal digits. Call it once, at the end.
  std::string hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

/// MD5: 16 bytes, as they are. For comparing with what a service computed; it protects nothing.
std::string md5(ByteView bytes);

/// HMAC with SHA-256: 32 bytes, as they are.
std::string hmac_sha256(std::string_view key, std::string_view message);

/// Two lower-case hexadecimal digits a byte.
std::string hex(ByteView bytes);

/// 16 lower-case hexadecimal digits.
std::string hex64(uint64_t value);

}  // namespace headrace
