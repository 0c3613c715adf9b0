#include "io/hf/hf_settings.h"

#include "base/try.h"
#include "io/environment.h"
#include "io/local_source.h"

namespace headrace {
namespace {

constexpr const char* kHub = "https://huggingface.co";

class TokenSigner : public Signer {
 public:
  TokenSigner(Url endpoint, const std::string& token)
      : endpoint_(std::move(endpoint)), value_("Bearer " + token) {}
  Status sign(HttpRequest& request) const override {
    if (request.url.same_origin(endpoint_)) request.headers.set("Authorization", value_);
    return {};
  }

 private:
  const Url endpoint_;
  const std::string value_;
};

std::string home_folder() {
  if (std::string home = environment("HF_HOME"); !home.empty()) return home;
  std::string caches = environment("XDG_CACHE_HOME");
  if (caches.empty()) caches = environment("HOME") + "/.cache";
  return caches + "/huggingface";
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

/// A token file that is not there is no token; one that cannot be read is an error.
Result<std::string> read_token(const std::string& home) {
  std::string token = environment({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"});
  if (!token.empty()) return trimmed(token);
  std::string path = environment("HF_TOKEN_PATH");
  if (path.empty()) path = home + "/token";
  auto file = open_local_file(path);
  if (!file.ok()) {
    if (file.error().code == Code::kNotFound) return std::string();
    return std::move(file).error();
  }
  token.resize((*file)->size());
  HR_CHECK((*file)->read_at(0, as_writable_bytes(token)));
  return trimmed(token);
}

}  // namespace

Result<HfSettings> HfSettings::from_environment() {
  HfSettings settings;
  std::string endpoint = environment("HF_ENDPOINT");
  if (endpoint.empty()) endpoint = kHub;
  HR_TRY(settings.endpoint, Url::parse(endpoint));
  while (settings.endpoint.path.ends_with('/')) settings.endpoint.path.pop_back();
  const std::string home = home_folder();
  settings.cache = environment({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"});
  if (settings.cache.empty()) settings.cache = home + "/hub";
  settings.offline = environment_flag({"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"});
  settings.symlinks = !environment_flag({"HF_HUB_DISABLE_SYMLINKS"});
  if (!environment_flag({"HF_HUB_DISABLE_IMPLICIT_TOKEN"})) {
    HR_TRY(settings.token, read_token(home));
  }
  return settings;
}

Url HfSettings::url(const std::string& path, const std::string& query) const {
  Url url = endpoint;
  url.path += path;
  url.query = query;
  return url;
}

Result<Url> HfSettings::mirrored(const Url& from, std::string_view reference) const {
  HR_TRY(Url url, from.resolve(reference));
  if (url.origin() != kHub || endpoint.origin() == kHub) return url;
  return this->url(url.path, url.query);
}

std::shared_ptr<const Signer> HfSettings::signer() const {
  if (token.empty()) return nullptr;
  return std::make_shared<TokenSigner>(endpoint, token);
}

}  // namespace headrace
