// An object written to an address as `curl -T` writes it: one PUT of its bytes, query and all, to
// whatever takes it (a signed address, nginx, a program of one's own). WebDav asks more of a
// server, and gives more: there an object appears whole.
#pragma once

#include <memory>
#include <string>

#include "headrace/result.h"
#include "headrace/store.h"

namespace headrace {

/// Spools what is appended; commit() sends it, again where that fails in a way that passes, and
/// follows redirects. Belongs to one thread. Credentials are those of HEADRACE_HTTP_HEADERS.
Result<std::unique_ptr<ByteSink>> put_address(const std::string& address);

}  // namespace headrace
