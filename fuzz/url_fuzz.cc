// Any bytes as an address, as a reference from one, and as the headers that say where a range lies
// and when to come back: values or errors, and an address written out is read as the same.
#include <cstdlib>

#include "io/hf/hf_location.h"
#include "io/hf/signed_places.h"
#include "io/http/retry.h"
#include "io/urls.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  const std::string text(reinterpret_cast<const char*>(data), size);
  static const Url base = *Url::parse("https://host:8080/a/b?c=d");
  for (const auto& url : {Url::parse(text), base.resolve(text)}) {
    if (!url.ok()) continue;
    const auto again = Url::parse(url->to_string());
    if (!again.ok() || !(*again == *url)) std::abort();
    static_cast<void>(url->redacted());
    static_cast<void>(expiry_of(*url));
    static_cast<void>(decode_query(url->query));
  }
  if (percent_decode(percent_encode(text)) != text) std::abort();
  static_cast<void>(split_location(text));
  static_cast<void>(split_list(text));
  static_cast<void>(HfLocation::parse("hf://" + text));
  if (const auto range = ContentRange::parse(text); range && range->range.last < range->range.first)
    std::abort();

  HttpResponse answer;
  answer.status = 503;
  answer.body = text;
  answer.url = base;
  for (const char* name : {"Retry-After", "RateLimit", "ETag", "Content-Length", "Content-Range"})
    answer.headers.set(name, text);
  static_cast<void>(asked_delay(answer));
  static_cast<void>(answer.etag());
  static_cast<void>(answer.total_bytes());
  static_cast<void>(http_error("read", "object", answer));
  return 0;
}
