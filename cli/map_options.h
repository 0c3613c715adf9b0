// The options of `headrace map`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/reshape.h"

namespace headrace::cli {

void add_map(CLI::App& app, ReshapeFlags& flags);
Status take_map(const ReshapeFlags& flags, ReshapeOptions& options);

}  // namespace headrace::cli
