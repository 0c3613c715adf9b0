// A function of a Python module, in a process of its own that is asked sample after sample.
#pragma once

#include <memory>
#include <string>

#include "job/map/mapper.h"

namespace headrace {

/// Code::kUsage if the function cannot be imported. `function`: "module:name".
Result<std::unique_ptr<Mapper>> make_python_mapper(const std::string& function, Children& children,
                                                   Sandbox sandbox, const std::string& python);

}  // namespace headrace
