// Any bytes as a Parquet file: what the footer claims lies inside, and every row group is decoded
// or refused. What was indexed is decoded again as a frame, which must give the same.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "format/parquet/index_parquet.h"
#include "format/parquet/rows.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView object(reinterpret_cast<const std::byte*>(data), size);
  const ReadAt read = [&](uint64_t offset, MutableBytes into) -> Status {
    if (offset > size || into.size() > size - offset) std::abort();
    if (!into.empty()) std::memcpy(into.data(), data + offset, into.size());
    return {};
  };
  auto indexed = index_parquet("fuzz", "fuzz", size, read);
  if (!indexed.ok()) return 0;
  const auto footer = parquet::read_footer(size, read);
  if (!footer.ok()) std::abort();
  const ShardIndex index = indexed->builder.take();
  if (!index.frames()) return 0;
  for (const Frame& frame : index.frames()->frames()) {
    std::string decoded(frame.decoded_size, '\0');
    const Status status = parquet::decode_row_group(
        *footer, frame, object.subspan(frame.encoded_offset, frame.encoded_size),
        as_writable_bytes(decoded));
    if (!status.ok()) std::abort();
  }
  return 0;
}
