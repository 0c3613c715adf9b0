// Masks and boxes: what is refused, and that no damage is worse than an error.
#include "codec/scratch.h"
#include "codec/support.h"

namespace headrace {
namespace {

/// Beside an upright picture of this size.
Result<OwnedRow> decode_beside(const Decoder& decoder, std::string_view file, Size picture) {
  Scratch scratch;
  scratch.buffers().picture = picture;
  const std::vector<char> exact(file.begin(), file.end());
  auto row = decoder.decode_dynamic(as_bytes({exact.data(), exact.size()}), RowKey(), scratch);
  if (!row.ok()) return std::move(row).error();
  return OwnedRow{
      row->dtype, {row->shape.begin(), row->shape.end()}, std::string(as_text(row->bytes))};
}

/// Two boxes of float64.
std::string npy_file() {
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 4), }";
  header.resize(117, ' ');
  header += '\n';
  std::string file = std::string("\x93NUMPY\x01\x00", 8) + char(118) + char(0) + header;
  for (const double number : {1.0, 2.0, 30.0, 40.0, 0.0, 0.0, 80.0, 90.0})
    file.append(reinterpret_cast<const char*>(&number), sizeof number);
  return file;
}

BoxesSpec boxes_at(std::string at, std::string labels = "") {
  BoxesSpec spec;
  spec.at = std::move(at);
  spec.extra = labels.empty() ? 0 : 1;
  spec.labels = std::move(labels);
  return spec;
}

TEST(Boxes, AreFoundWhereTheyAre) {
  struct Case {
    const char* at;
    const char* labels;
    const char* json;
    int64_t boxes;
  };
  for (const Case& c : {Case{"", "", "[[0, 0, 1, 1]]", 1}, Case{"", "", " [ ] ", 0},
                        Case{"a.b", "", R"({"a": {"b": [[0,0,1,1],[0,0,2,2]]}})", 2},
                        Case{"a.b", "", R"({"a": [{"b": [0,0,1,1]}, {"b": [0,0,2,2]}]})", 2},
                        Case{"a.b", "a.c", R"({"a": [{"b": [0,0,1,1], "c": 5}]})", 1},
                        Case{"b", "c", R"({"b": [[0,0,1,1]], "c": [7]})", 1}}) {
    SCOPED_TRACE(c.json);
    const auto row = decode_beside(*decoder_of(boxes_at(c.at, c.labels)), c.json, {9, 9});
    ASSERT_TRUE(row.ok()) << row.error().to_string();
    EXPECT_EQ(row->shape, (std::vector<int64_t>{c.boxes, c.labels[0] == 0 ? 4 : 5}));
  }
}

TEST(Boxes, OtherDocumentsAreErrors) {
  const auto plain = decoder_of(boxes_at(""));
  for (const char* json :
       {"", "3", "null", "{}", "[3]", "[[1,2,3]]", "[[1,2,3,4,5]]", "[[]]", "[[[]]]",
        "[[1,2,3,null]]", "[[1e999,2,3,4]]", "[[5,1,2,3]]", "[[1,2,3,4]", "\x93NUMPY"}) {
    SCOPED_TRACE(json);
    EXPECT_FALSE(decode_beside(*plain, json, {9, 9}).ok());
  }
  const auto named = decoder_of(boxes_at("a.bbox", "a.id"));
  for (const char* json :
       {"[]x", "{}", R"({"a": 3})", R"({"a": [3]})", R"({"a": [{"bbox": [0,0,1,1]}]})",
        R"({"a": [{"bbox": [0,0,1,1], "id": "x"}]})", R"({"a": [{"bbox": 1, "id": 2}]})"}) {
    SCOPED_TRACE(json);
    EXPECT_FALSE(decode_beside(*named, json, {9, 9}).ok());
  }
}

TEST(Boxes, ADamagedArrayIsAnErrorOrAnotherArray) {
  const std::string file = npy_file();
  const auto decoder = decoder_of(boxes_at(""));
  ASSERT_TRUE(decode_beside(*decoder, file, {90, 90}).ok());
  for (size_t cut = 0; cut < file.size(); ++cut)
    EXPECT_FALSE(decode_beside(*decoder, file.substr(0, cut), {90, 90}).ok()) << cut;
  for (size_t i = 0; i < file.size(); ++i)
    for (const int flip : {1, 16, 128}) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      (void)decode_beside(*decoder, damaged, {90, 90}).ok();
    }
}

TEST(Masks, EveryGoldenPngIsAMaskOrAnError) {
  MaskSpec spec;
  spec.dtype = DType::i32;
  spec.ops = {RandomResizedCrop{6, 7}, HorizontalFlip{}};
  const auto decoder = decoder_of(spec);
  int good = 0;
  for (const auto& entry : golden_entries()) {
    const std::string name = entry["file"];
    if (!name.starts_with("png/") || !entry.contains("decoded")) continue;
    SCOPED_TRACE(name);
    const auto shape = entry["decoded"]["shape"];
    const auto row =
        decode_beside(*decoder, read_file(golden_folder() + "/" + name), {shape[0], shape[1]});
    if (!row.ok()) continue;
    EXPECT_EQ(row->shape, (std::vector<int64_t>{6, 7}));
    ++good;
  }
  EXPECT_GE(good, 10);
}

}  // namespace
}  // namespace headrace
