// The rows of one row group: each column is a field, whose bytes are the value.
//
//   binary, text          the bytes as they are
//   numbers, dates …      as text (value_text.h)
//   {bytes, path}         `bytes`, in a field with an extension: image.jpg, audio.wav
//   list, struct, map     JSON (json_rows.h)
//   null                  the row does not have the field
//
// The decoded bytes of a row group, as a frame of an archive (frame_map.h), are these values one
// behind the other, row by row, in the order of the columns.
// Thread-safety: a plain value; fields() may be called from any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "format/frame_map.h"
#include "format/parquet/footer.h"
#include "format/parquet/leaf_entries.h"
#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace::parquet {

class Rows {
 public:
  using OnField = std::function<void(std::string_view field, std::string_view value)>;

  /// `encoded`: the object's bytes from group.begin to group.end. Errors: Code::kCorrupt and
  /// Code::kUsage with the offset of the page.
  static Result<Rows> decode(const Schema& schema, const RowGroup& group, ByteView encoded);

  uint64_t size() const { return rows_; }
  /// The fields that `row` has. Precondition: row < size().
  void fields(uint64_t row, const OnField& on_field) const;

 private:
  struct Column {
    std::string field;
    uint32_t leaf = 0;  ///< in leaves_
    uint32_t path = 0;  ///< the leaf of a picture's path
    bool is_media = false;
    uint8_t def = 0;  ///< the level at which the value is there
  };

  uint64_t rows_ = 0;
  std::vector<Column> columns_;
  std::vector<LeafEntries> leaves_;
};

/// Fills `decoded` from a frame of a Parquet file. Errors: as those of decode_frame().
Status decode_row_group(const Footer& footer, const Frame& frame, ByteView encoded,
                        MutableBytes decoded);

}  // namespace headrace::parquet
