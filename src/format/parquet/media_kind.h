// What a picture, a sound or a video is, as the extension of a file.
//
// The bytes say it where they begin as their kind does, so that data sets whose paths are missing,
// or say `.JPEG` here and `.jpg` there, have one field. Thread-safety: a pure function.
#pragma once

#include <string>
#include <string_view>

namespace headrace::parquet {

/// As "jpg"; that of `path`, in lower case, for other bytes; empty if nothing tells.
std::string media_kind(std::string_view bytes, std::string_view path);

}  // namespace headrace::parquet
