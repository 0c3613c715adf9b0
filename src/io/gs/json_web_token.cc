// JSON Web Tokens, RFC 7519, as far as a service account needs them.
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "io/gs/google_token.h"

namespace headrace {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

Error bad_key() {
  return {.code = Code::kDenied,
          .message = "the service account's private key is not a key for RS256",
          .origin = {},
          .hint = "Make a new key file for the account."};
}

}  // namespace

Result<std::string> sign_jwt(const std::string& claims_json, const std::string& key_id,
                             const std::string& key) {
  const std::unique_ptr<BIO, Free> text(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())));
  const std::unique_ptr<EVP_PKEY, Free> parsed(
      text ? PEM_read_bio_PrivateKey(text.get(), nullptr, nullptr, nullptr) : nullptr);
  if (!parsed) return bad_key();
  const nlohmann::json header{{"alg", "RS256"}, {"typ", "JWT"}, {"kid", key_id}};
  std::string token = base64url(header.dump()) + "." + base64url(claims_json);

  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  size_t size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(token.data());
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, parsed.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, token.size()) != 1)
    return bad_key();
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes, token.size()) != 1)
    return bad_key();
  signature.resize(size);
  return token + "." + base64url(signature);
}

}  // namespace headrace
