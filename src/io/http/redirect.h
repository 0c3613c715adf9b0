// Where a redirect leads, and what may go there.
// Pure.
#pragma once

#include "io/http/http_message.h"

namespace headrace {

/// The request that follows `response` (301, 302, 303, 307, 308 with a Location). To another origin
/// only Range, If-Range and Accept headers go along. Refused (Code::kDenied): from https to http,
/// and to addresses that give machines their credentials.
Result<HttpRequest> redirected(const HttpRequest& request, const HttpResponse& response);

}  // namespace headrace
