// The pages of one column chunk, decompressed: levels and values of some entries each, or the
// dictionary that values are numbers in.
//
//   chunk   |header|dictionary|header|levels values|header|levels values|…
//
// A page's CRC-32 is checked where it has one. Sizes that a header claims are held against the
// chunk's bytes and against a budget, before memory is taken for them.
// Format: parquet.thrift and README.md of apache/parquet-format 2.11.
// Thread-compatible: a reader belongs to one thread; what it gives lives until its next page.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "format/frame_map.h"
#include "format/parquet/footer.h"
#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace::parquet {

/// How values are written. The numbers are Parquet's.
enum class Encoding : uint8_t {
  kPlain = 0,
  kPlainDictionary = 2,
  kRle = 3,
  kBitPacked = 4,
  kDeltaBinaryPacked = 5,
  kDeltaLengthByteArray = 6,
  kDeltaByteArray = 7,
  kRleDictionary = 8,
  kByteStreamSplit = 9,
};

struct Page {
  bool is_dictionary = false;
  Encoding encoding = Encoding::kPlain;
  uint32_t entries = 0;
  ByteView rep = {};  ///< runs; empty where nothing repeats
  ByteView def = {};  ///< runs; empty where all is there
  ByteView values = {};
  uint64_t offset = 0;  ///< of its header in the object
};

/// Bytes that may still be made from one row group: a bound on what a hostile file can ask for.
struct Budget {
  uint64_t unpacked = 2 * kLargestFrame;  ///< bytes of decompressed pages
  uint64_t text = kLargestFrame;          ///< bytes of fields
};

class PageReader {
 public:
  /// `bytes`: of the chunk.
  PageReader(const Chunk& chunk, const Leaf& leaf, ByteView bytes, Budget& budget)
      : chunk_(chunk), leaf_(leaf), bytes_(bytes), budget_(budget) {}

  /// The next page with entries; nothing behind the last. Errors: Code::kCorrupt, at the page's
  /// offset; Code::kUsage for what is not read.
  Result<std::optional<Page>> next();

 private:
  struct Header;

  uint64_t offset() const { return chunk_.offset + at_; }
  Result<Header> read_header() const;
  Status open(const Header& header, ByteView stored, Page& page);
  Result<ByteView> unpack(ByteView packed, uint64_t size);
  Status split_levels(ByteView bytes, Page& page) const;

  const Chunk& chunk_;
  const Leaf& leaf_;
  const ByteView bytes_;
  Budget& budget_;
  uint64_t at_ = 0;
  std::unique_ptr<std::byte[]> unpacked_;
  uint64_t unpacked_size_ = 0;
};

/// Code::kCorrupt for a page.
Error damaged_page(const char* what, uint64_t offset);

}  // namespace headrace::parquet
