#include "io/http/redirect.h"

#include <array>

#include "base/try.h"

namespace headrace {
namespace {

/// Cloud machines ask these for their credentials: nothing else has business there.
bool gives_credentials(const std::string& host) {
  return host.starts_with("169.254.") || host == "fd00:ec2::254" ||
         host == "metadata.google.internal" || host == "metadata";
}

Error refused(const Url& to, const std::string& why) {
  return {.code = Code::kDenied,
          .message = "the server redirects to " + to.origin() + ", " + why + "; not followed"};
}

HttpHeaders harmless(const HttpHeaders& headers) {
  constexpr std::array<std::string_view, 3> kHarmless{"Range", "If-Range", "Accept"};
  HttpHeaders kept;
  for (const std::string_view name : kHarmless)
    if (const std::string* value = headers.find(name)) kept.set(name, *value);
  return kept;
}

}  // namespace

Result<HttpRequest> redirected(const HttpRequest& request, const HttpResponse& response) {
  HttpRequest next = request;
  HR_TRY(next.url, request.url.resolve(response.headers.get("Location")));
  if (request.url.scheme == "https" && next.url.scheme == "http")
    return refused(next.url, "which would send in the clear what was asked for under TLS");
  if (gives_credentials(next.url.host))
    return refused(next.url, "an address that gives machines their credentials");
  if (!next.url.same_origin(request.url)) next.headers = harmless(request.headers);
  const bool becomes_get =
      response.status == 303 ||
      (response.status != 307 && response.status != 308 && request.method == "POST");
  if (becomes_get && request.method != "HEAD") {
    next.method = "GET";
    next.body = {};
    next.body_owner.reset();
  }
  return next;
}

}  // namespace headrace
