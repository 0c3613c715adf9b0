// Answers in XML, as S3, Google and Azure give them.
#pragma once

#include <pugixml.hpp>
#include <string>

#include "headrace/result.h"

namespace headrace {

/// `document` owns the answer's root, which must be called `name`. Names are without namespaces'
/// prefixes in all answers that we read. `where` is for messages.
Result<pugi::xml_node> parse_xml(pugi::xml_document* document, const std::string& text,
                                 const char* name, const std::string& where);

}  // namespace headrace
