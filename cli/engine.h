// Running a plan on other machines: the drivers are Python (python/headrace/drivers), because Ray
// is.
#pragma once

#include <string>
#include <vector>

#include "cli/reshape.h"

namespace headrace::cli {

struct EngineFlags {
  std::string name = "threads";      ///< or "ray", "slurm"
  std::vector<std::string> options;  ///< of the driver, behind "--"
};

/// The Python that has the package: that of HEADRACE_PYTHON, the one beside this program, or the
/// one on the PATH.
std::string python_program();

void add_engine(CLI::App& app, EngineFlags& flags);

/// This process becomes `python3 -m headrace.drivers NAME PLAN …`; an error if it cannot.
Error become_driver(const EngineFlags& engine, const std::string& plan, const ReshapeFlags& run,
                    const Context& context);

}  // namespace headrace::cli
