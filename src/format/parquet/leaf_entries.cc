#include "format/parquet/leaf_entries.h"

#include <algorithm>

#include "base/try.h"
#include "format/parquet/packed_numbers.h"
#include "format/parquet/value_text.h"
#include "format/parquet/values.h"

namespace headrace::parquet {
namespace {

constexpr uint32_t kMostInPage = 1 << 24;
constexpr size_t kLongestDecimal = 64;

class LeafReader {
 public:
  LeafReader(const Leaf& leaf, const Chunk& chunk, ByteView bytes, bool json, Budget& budget)
      : leaf_(leaf),
        chunk_(chunk),
        json_(json),
        budget_(budget),
        pages_(chunk, leaf, bytes, budget) {}

  Result<LeafEntries> run() {
    while (out_.size() < chunk_.entries) {
      HR_TRY(const auto page, pages_.next());
      if (!page) return damaged_page("its column has fewer values than it should", chunk_.offset);
      HR_CHECK(page->is_dictionary ? take_dictionary(*page) : take(*page));
    }
    return std::move(out_);
  }

 private:
  /// Kept beyond its page.
  Status take_dictionary(const Page& page) {
    if (page.entries > kMostInPage) return too_large(page.offset);
    kept_ = as_text(page.values);
    Page copy = page;
    copy.values = as_bytes(kept_);
    copy.encoding = Encoding::kPlain;
    HR_CHECK(read_values(copy, leaf_.type, page.entries, {}, budget_, dictionary_));
    return {};
  }

  Status take(const Page& page) {
    if (page.entries > kMostInPage) return too_large(page.offset);
    if (page.entries > chunk_.entries - out_.size())
      return damaged_page("its column has more values than it should", page.offset);
    HR_CHECK(take_levels(page, page.rep, leaf_.rep, out_.rep));
    HR_CHECK(take_levels(page, page.def, leaf_.def, out_.def));
    const size_t first = out_.size();
    const auto there =
        leaf_.def == 0
            ? static_cast<uint32_t>(page.entries)
            : static_cast<uint32_t>(std::count(out_.def.begin() + static_cast<ptrdiff_t>(first),
                                               out_.def.end(), leaf_.def));
    HR_CHECK(read_values(page, leaf_.type, there, dictionary_.views, budget_, values_));
    return append(page, first);
  }

  Status take_levels(const Page& page, ByteView runs, uint8_t most, std::vector<uint8_t>& out) {
    if (most == 0) return {};
    levels_.resize(page.entries);
    if (!unpack_runs(runs, bits_for(most), levels_))
      return damaged_page("its levels cannot be read", page.offset);
    for (const uint32_t level : levels_) {
      if (level > most) return damaged_page("its levels are out of range", page.offset);
      out.push_back(static_cast<uint8_t>(level));
    }
    return {};
  }

  Status append(const Page& page, size_t first) {
    size_t next = 0;
    for (size_t i = 0; i < page.entries; ++i) {
      if (leaf_.def == 0 || out_.def[first + i] == leaf_.def)
        HR_CHECK(append_value(page, values_.views[next++]));
      out_.ends.push_back(static_cast<uint32_t>(out_.text.size()));
    }
    return {};
  }

  Status append_value(const Page& page, ByteView value) {
    if (leaf_.type.meaning == Meaning::kDecimal && value.size() > kLongestDecimal)
      return damaged_page("a decimal is too long", page.offset);
    const size_t before = out_.text.size();
    if (value.size() > budget_.text) return too_large(page.offset);
    if (json_)
      append_json(leaf_.type, value, out_.text);
    else
      append_text(leaf_.type, value, out_.text);
    const size_t more = out_.text.size() - before;
    if (more > budget_.text) return too_large(page.offset);
    budget_.text -= more;
    return {};
  }

  const Leaf& leaf_;
  const Chunk& chunk_;
  const bool json_;
  Budget& budget_;
  PageReader pages_;
  std::string kept_;
  Values dictionary_;
  Values values_;
  std::vector<uint32_t> levels_;
  LeafEntries out_;
};

}  // namespace

Result<LeafEntries> read_leaf(const Leaf& leaf, const Chunk& chunk, ByteView bytes, bool json,
                              Budget& budget) {
  return LeafReader(leaf, chunk, bytes, json, budget).run();
}

}  // namespace headrace::parquet
