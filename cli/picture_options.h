// What `--image`, `--jpeg` and `--drop-corrupt` of pack and convert say, and the lines that report
// it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/output.h"
#include "headrace/result.h"
#include "job/picture_options.h"

namespace headrace::cli {

/// The options as they were written.
struct PictureWords {
  std::string image;
  std::string jpeg;
  bool drop_corrupt = false;
};

void add_picture_options(CLI::App& app, PictureWords& words);
/// "max-side=512, quality=90", "raw-uint8"; "baseline", "baseline,strip".
Result<PictureOptions> parse_picture_options(const PictureWords& words);

/// What was gained, in one line: "400 pictures: 33.1 MiB -> 8.2 MiB (25 %); …".
std::string describe_pictures(const PictureReport& report);
void write_pictures(const PictureReport& report, Json& json);

}  // namespace headrace::cli
