#include "format/parquet/rows.h"

#include <algorithm>

#include "base/try.h"
#include "format/frame_codec.h"
#include "format/parquet/json_rows.h"
#include "format/parquet/media_kind.h"

namespace headrace::parquet {

Result<Rows> Rows::decode(const Schema& schema, const RowGroup& group, ByteView encoded) {
  Rows rows;
  rows.rows_ = group.rows;
  rows.leaves_.resize(schema.leaves.size());
  Budget budget;
  for (const Node& node : schema.columns) {
    Column column{.field = field_name(node.name), .leaf = node.first_leaf, .def = node.def};
    column.is_media = is_media(node, schema, &column.leaf, &column.path);
    const bool nested = !column.is_media && (node.repeated || !node.children.empty());
    const uint64_t before = budget.text;
    for (uint32_t leaf = node.first_leaf; leaf < node.end_leaf; ++leaf) {
      const Chunk& chunk = group.chunks[leaf];
      HR_TRY(rows.leaves_[leaf],
             read_leaf(schema.leaves[leaf], chunk,
                       encoded.subspan(chunk.offset - group.begin, chunk.bytes), nested, budget));
      if (!nested && rows.leaves_[leaf].size() != group.rows)
        return damaged_page("its column has another number of rows than its row group",
                            chunk.offset);
    }
    if (column.is_media) column.def = schema.leaves[column.leaf].def;
    if (nested) {
      budget.text = before;  // the parts go
      HR_TRY(LeafEntries joined, join_rows(node, rows.leaves_, group.rows,
                                           group.chunks[node.first_leaf].offset, budget));
      for (uint32_t leaf = node.first_leaf; leaf < node.end_leaf; ++leaf) rows.leaves_[leaf] = {};
      rows.leaves_[node.first_leaf] = std::move(joined);
      column.def = 1;
    }
    rows.columns_.push_back(std::move(column));
  }
  return rows;
}

void Rows::fields(uint64_t row, const OnField& on_field) const {
  thread_local std::string name;
  for (const Column& column : columns_) {
    const LeafEntries& leaf = leaves_[column.leaf];
    if (leaf.def_of(row) < column.def) continue;
    const std::string_view value = leaf.value(row);
    if (!column.is_media) {
      on_field(column.field, value);
      continue;
    }
    name = column.field;
    const std::string kind = media_kind(value, leaves_[column.path].value(row));
    if (!kind.empty()) name += "." + kind;
    on_field(name, value);
  }
}

Status decode_row_group(const Footer& footer, const Frame& frame, ByteView encoded,
                        MutableBytes decoded) {
  const Error other{.code = Code::kCorrupt,
                    .message = "the Parquet file is not the one that was indexed",
                    .origin = {.offset = frame.encoded_offset},
                    .hint = "Run 'headrace index' on it again."};
  const auto group =
      std::ranges::lower_bound(footer.groups, frame.encoded_offset, {}, &RowGroup::begin);
  if (group == footer.groups.end() || group->begin != frame.encoded_offset ||
      group->end != frame.encoded_end())
    return other;
  HR_TRY(const Rows rows, Rows::decode(footer.schema, *group, encoded));
  size_t used = 0;
  bool fits = true;
  for (uint64_t row = 0; row < rows.size() && fits; ++row)
    rows.fields(row, [&](std::string_view, std::string_view value) {
      fits = fits && value.size() <= decoded.size() - used;
      if (!fits) return;
      std::ranges::copy(as_bytes(value), decoded.data() + used);
      used += value.size();
    });
  if (!fits || used != decoded.size() || crc32_of(decoded) != frame.crc32) return other;
  return {};
}

}  // namespace headrace::parquet
