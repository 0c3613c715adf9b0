#include "io/bucket/xml.h"

namespace headrace {

Result<pugi::xml_node> parse_xml(pugi::xml_document* document, const std::string& text,
                                 const char* name, const std::string& where) {
  // Keys may be spaces alone; entities other than XML's own five are not resolved.
  constexpr unsigned kOptions = pugi::parse_default | pugi::parse_ws_pcdata_single;
  const pugi::xml_parse_result parsed = document->load_buffer(text.data(), text.size(), kOptions);
  if (const pugi::xml_node root = document->child(name); parsed && root) return root;
  return Error{.code = Code::kFailure,
               .message = "the server's answer is not the XML that was asked for (" +
                          std::string(name) + ")",
               .origin = {.shard = where},
               .hint = "Check that the endpoint is that of an object store."};
}

}  // namespace headrace
