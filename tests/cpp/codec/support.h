// What the codec tests share: files, the golden folder, decoding in one line.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "codec/decoder.h"

namespace headrace {

/// The golden folder; HEADRACE_GOLDEN names a larger one of the same layout.
inline std::string golden_folder() {
  const char* other = std::getenv("HEADRACE_GOLDEN");
  return other != nullptr ? other : TEST_DATA "/codec";
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline nlohmann::json golden_entries() {
  return nlohmann::json::parse(read_file(golden_folder() + "/golden.json"));
}

inline std::unique_ptr<Decoder> decoder_of(FieldKind kind) {
  FieldSpec spec;
  spec.name = "column";
  spec.sources = {"field"};
  spec.kind = std::move(kind);
  auto decoder = make_decoder(spec);
  if (!decoder.ok()) ADD_FAILURE() << decoder.error().to_string();
  return decoder.ok() ? std::move(*decoder) : nullptr;
}

/// A decoded row that owns its bytes.
struct OwnedRow {
  DType dtype = DType::u8;
  std::vector<int64_t> shape;
  std::string bytes;
};

inline Result<OwnedRow> decode(const Decoder& decoder, std::string_view file, RowKey key = {}) {
  static Scratch scratch;
  // A copy of exactly the file's length, so that a read past its end is seen.
  const std::vector<char> exact(file.begin(), file.end());
  auto row = decoder.decode_dynamic(as_bytes({exact.data(), exact.size()}), key, scratch);
  if (!row.ok()) return std::move(row).error();
  return OwnedRow{
      row->dtype, {row->shape.begin(), row->shape.end()}, std::string(as_text(row->bytes))};
}

}  // namespace headrace
