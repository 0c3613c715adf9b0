#include "base/digest.h"
#include "codec/support.h"

namespace headrace {
namespace {

using Json = nlohmann::json;

Json npy_entries() { return Json::parse(read_file(TEST_DATA "/codec/npy.json")); }

Result<OwnedRow> decode_npy(std::string_view file) {
  static const auto decoder = decoder_of(NpySpec());
  return decode(*decoder, file);
}

/// A version 1.0 file with this header.
std::string npy_of(const std::string& header, const std::string& data) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  return file + header + data;
}

TEST(Npy, FilesByNumpyGiveTheArraysThatNumpyReadsOrAreRefused) {
  int read = 0;
  int refused = 0;
  for (const Json& entry : npy_entries()) {
    const std::string name = entry["file"];
    SCOPED_TRACE(name);
    const auto row = decode_npy(read_file(TEST_DATA "/codec/" + name));
    if (entry["expect"] != "ok") {
      EXPECT_FALSE(row.ok());
      ++refused;
      continue;
    }
    ASSERT_TRUE(row.ok()) << row.error().to_string();
    const Json& array = entry["samples"][0]["fields"]["array"];
    EXPECT_EQ(dtype_name(row->dtype), array["dtype"].get<std::string>());
    EXPECT_EQ(row->shape, array["shape"].get<std::vector<int64_t>>());
    EXPECT_EQ(sha256_hex(as_bytes(row->bytes)), array["sha256"].get<std::string>());
    ++read;
  }
  EXPECT_EQ(read, 26);
  EXPECT_EQ(refused, 12);
}

TEST(Npy, CutAtAnyByteIsAnError) {
  for (const char* name : {"v1-fortran-big-endian.npy", "v2-float32.npy", "v1-scalar.npy"}) {
    const std::string file = read_file(std::string(TEST_DATA "/codec/npy/") + name);
    for (size_t size = 0; size < file.size(); ++size)
      EXPECT_FALSE(decode_npy(std::string_view(file).substr(0, size)).ok()) << name << " " << size;
  }
}

TEST(Npy, ErrorsSayWhatIsWrong) {
  const struct {
    const char* header;
    const char* words;
  } cases[] = {
      {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "Python objects"},
      {"{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,)}", "records"},
      {"{'descr': '<U5', 'fortran_order': False, 'shape': (1,)}", "'<U5' is not a plain"},
      {"{'descr': '<f4', 'fortran_order': False}", "lacks one of"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "neither True nor False"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1)}", "no tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "no number"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", "too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9,)}", "2^64"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "its data is cut: 8 bytes"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", "2 bytes follow the data"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "there twice"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} + 1", "more than the dict"},
      {"__import__('os')", "'{' is missing"},
  };
  for (const auto& c : cases) {
    const auto row = decode_npy(npy_of(c.header, "1234"));
    ASSERT_FALSE(row.ok()) << c.header;
    EXPECT_NE(row.error().message.find(c.words), std::string::npos) << row.error().message;
  }
}

TEST(Npy, AHeaderLengthThatLiesIsRefusedBeforeAnythingIsAllocated) {
  std::string file("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF{}", 14);
  const auto row = decode_npy(file);
  ASSERT_FALSE(row.ok());
  EXPECT_NE(row.error().message.find("4294967295 bytes are announced"), std::string::npos);
}

TEST(Npy, ShapesWrittenByPython2AreRead) {
  const auto row =
      decode_npy(npy_of("{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 2L), }", "1234"));
  ASSERT_TRUE(row.ok()) << row.error().to_string();
  EXPECT_EQ(row->shape, (std::vector<int64_t>{2, 2}));
}

}  // namespace
}  // namespace headrace
