#include "io/hf/hf_error.h"

namespace headrace {
namespace {

std::string page_of(const HfLocation& repository, const HfSettings& settings) {
  const std::string prefix = repository.kind == "datasets" ? "/datasets/" : "/";
  return settings.endpoint.to_string() + prefix + repository.id;
}

Error not_found(const HfLocation& repository, const HfSettings& settings) {
  Error error{
      .code = settings.token.empty() ? Code::kNotFound : Code::kDenied,
      .message = "the Hub has no repository '" + repository.id + "', or does not show it to you",
      .origin = {.shard = repository.name()}};
  error.hint = settings.token.empty()
                   ? "Check the name; if it is private, give a token in HF_TOKEN, or log in "
                     "with 'hf auth login'."
                   : "Check the name, and that your token may read it.";
  return error;
}

Error gated(const HfLocation& repository, const HfSettings& settings) {
  const std::string token =
      settings.token.empty() ? " and give a token in HF_TOKEN, or log in with 'hf auth login'" : "";
  return {.code = Code::kDenied,
          .message = "'" + repository.id + "' is gated: its authors give access on request",
          .origin = {.shard = repository.name()},
          .hint = "Ask for access at " + page_of(repository, settings) + token + "."};
}

}  // namespace

Error hf_error(std::string_view action, const std::string& object, const HttpResponse& answer,
               const HfLocation& repository, const HfSettings& settings) {
  const std::string_view code = answer.headers.get("X-Error-Code");
  if (code == "RepoNotFound") return not_found(repository, settings);
  if (code == "GatedRepo") return gated(repository, settings);
  if (code == "RevisionNotFound")
    return {.code = Code::kNotFound,
            .message = "'" + repository.id + "' has no revision '" + repository.revision + "'",
            .origin = {.shard = repository.name()},
            .hint = "Name a branch, a tag or a commit after the '@'."};
  Error error = http_error(action, object, answer);
  if (const auto words = answer.headers.get("X-Error-Message"); !words.empty())
    error.message = "cannot " + std::string(action) + " it: the Hub says '" +
                    std::string(words.substr(0, 300)) + "'";
  if (error.code == Code::kDenied)
    error.hint = settings.token.empty()
                     ? "Give a token in HF_TOKEN, or log in with 'hf auth login'."
                     : "Check that your token may do this at " + page_of(repository, settings) +
                           "/settings.";
  if (answer.status == 429)
    error.hint = "The Hub limits requests; with a token of your own the limits are higher.";
  return error;
}

}  // namespace headrace
