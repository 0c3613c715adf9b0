// The kind of a picture or sound, by its bytes or its path.
#include "format/parquet/media_kind.h"

#include <gtest/gtest.h>

namespace headrace::parquet {
namespace {

TEST(ParquetMediaKind, TheBytesSayItBeforeThePathDoes) {
  using namespace std::string_view_literals;
  const std::string_view rows[][3] = {
      {"\xff\xd8\xff\xe0"sv, "x.PNG"sv, "jpg"sv},
      {"\x89PNG\r\n\x1a\n"sv, ""sv, "png"sv},
      {"RIFF....WEBPVP8 "sv, ""sv, "webp"sv},
      {"RIFF....WAVEfmt "sv, "x"sv, "wav"sv},
      {"fLaC"sv, ""sv, "flac"sv},
      {"other"sv, "a/b.NPY"sv, "npy"sv},
      {"other"sv, "a.b/c"sv, ""sv},
      {"other"sv, "a.toolongone"sv, ""sv},
      {"other"sv, "a."sv, ""sv},
      {""sv, ""sv, ""sv},
  };
  for (const auto& [bytes, path, kind] : rows) EXPECT_EQ(media_kind(bytes, path), kind) << path;
}

}  // namespace
}  // namespace headrace::parquet
