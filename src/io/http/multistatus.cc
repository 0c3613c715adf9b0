#include "io/http/multistatus.h"

#include <pugixml.hpp>

#include "base/safe_path.h"
#include "io/timestamp.h"

namespace headrace {
namespace {

std::string_view local_name(const pugi::xml_node& node) {
  const std::string_view name = node.name();
  return name.substr(name.find(':') + 1);  // prefixes of namespaces are the server's choice
}

pugi::xml_node descendant(const pugi::xml_node& node, std::string_view name) {
  return node.find_node([&](const pugi::xml_node& n) { return local_name(n) == name; });
}

/// The path of an href: an address, or only its path.
std::string path_of_href(const Url& root, const std::string& href) {
  const auto url = root.resolve(href);
  return percent_decode(url.ok() ? url->path : href);
}

}  // namespace

std::optional<Multistatus> parse_multistatus(std::string_view body, const Url& root,
                                             const std::string& folder) {
  pugi::xml_document document;
  if (!document.load_buffer(body.data(), body.size()) ||
      local_name(document.document_element()) != "multistatus")
    return std::nullopt;
  Multistatus found;
  const size_t root_bytes = percent_decode(root.path).size() + 1;
  for (const pugi::xml_node& response : document.document_element().children()) {
    const std::string path = path_of_href(root, descendant(response, "href").child_value());
    if (!path.starts_with(folder)) continue;
    std::string relative = path.substr(root_bytes);
    const bool is_folder = relative.ends_with('/') || descendant(response, "collection");
    if (relative.ends_with('/')) relative.pop_back();
    if (path.size() == folder.size() || !is_safe_path(relative)) continue;
    if (is_folder) {
      found.folders.push_back(std::move(relative));
      continue;
    }
    found.files.push_back({std::move(relative),
                           descendant(response, "getcontentlength").text().as_ullong(),
                           parse_http_time(descendant(response, "getlastmodified").child_value())});
  }
  return found;
}

}  // namespace headrace
