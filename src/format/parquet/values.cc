#include "format/parquet/values.h"

#include <array>

#include "base/little_endian.h"
#include "base/try.h"
#include "format/parquet/packed_numbers.h"

namespace headrace::parquet {
namespace {

constexpr std::array<std::byte, 2> kBooleans{std::byte{0}, std::byte{1}};

ByteView boolean(bool value) { return ByteView(kBooleans).subspan(value ? 1 : 0, 1); }

/// Lengths of byte arrays: what `bytes` still holds bounds them all.
std::optional<std::vector<uint64_t>> take_lengths(ByteView& bytes, uint32_t count) {
  auto lengths = take_deltas(bytes, count);
  if (!lengths) return std::nullopt;
  for (uint64_t& length : *lengths) length = static_cast<uint32_t>(length);
  return lengths;
}

class Reader {
 public:
  Reader(const Page& page, const ValueType& type, uint32_t count,
         const std::vector<ByteView>& dictionary, Budget& budget, Values& out)
      : page_(page),
        type_(type),
        count_(count),
        dictionary_(dictionary),
        budget_(budget),
        out_(out),
        left_(page.values) {}

  Status run() {
    out_.views.clear();
    out_.made.clear();
    if (count_ == 0) return {};
    switch (page_.encoding) {
      case Encoding::kPlain:
        return plain();
      case Encoding::kPlainDictionary:
        return page_.is_dictionary ? plain() : numbered();
      case Encoding::kRleDictionary:
        return numbered();
      case Encoding::kRle:
        return type_.physical == Physical::kBoolean ? boolean_runs() : unfit();
      case Encoding::kDeltaBinaryPacked:
        return deltas();
      case Encoding::kDeltaLengthByteArray:
        return type_.physical == Physical::kByteArray ? lengths_first() : unfit();
      case Encoding::kDeltaByteArray:
        return type_.physical == Physical::kByteArray || type_.physical == Physical::kFixed
                   ? prefixes_first()
                   : unfit();
      case Encoding::kByteStreamSplit:
        return type_.width > 0 ? split_streams() : unfit();
      case Encoding::kBitPacked:
        break;
    }
    return unfit();
  }

 private:
  Error damaged() const { return damaged_page("its values cannot be read", page_.offset); }
  Error unfit() const {
    return damaged_page("its values are in an encoding that is none for their type", page_.offset);
  }

  Status plain() {
    if (type_.physical == Physical::kBoolean) return plain_booleans();
    if (type_.width > 0) return fixed(left_);
    for (uint32_t i = 0; i < count_; ++i) {
      if (left_.size() < 4) return damaged();
      const uint32_t size = load_le<uint32_t>(left_.data());
      if (size > left_.size() - 4) return damaged();
      out_.views.push_back(left_.subspan(4, size));
      left_ = left_.subspan(4 + size_t{size});
    }
    return {};
  }

  Status plain_booleans() {
    if (left_.size() < (uint64_t{count_} + 7) / 8) return damaged();
    for (uint32_t i = 0; i < count_; ++i)
      out_.views.push_back(boolean((std::to_integer<unsigned>(left_[i / 8]) >> (i % 8) & 1U) != 0));
    return {};
  }

  Status fixed(ByteView bytes) {
    if (bytes.size() / type_.width < count_) return damaged();
    for (uint32_t i = 0; i < count_; ++i)
      out_.views.push_back(bytes.subspan(uint64_t{i} * type_.width, type_.width));
    return {};
  }

  /// Numbers of dictionary entries; their width comes first.
  Status numbered() {
    constexpr unsigned kWidest = 32;
    if (left_.empty() || std::to_integer<unsigned>(left_[0]) > kWidest) return damaged();
    std::vector<uint32_t> numbers(count_);
    if (!unpack_runs(left_.subspan(1), std::to_integer<unsigned>(left_[0]), numbers))
      return damaged();
    for (const uint32_t number : numbers) {
      if (number >= dictionary_.size()) return damaged();
      out_.views.push_back(dictionary_[number]);
    }
    return {};
  }

  Status boolean_runs() {
    if (left_.size() < 4 || load_le<uint32_t>(left_.data()) > left_.size() - 4) return damaged();
    std::vector<uint32_t> bits(count_);
    if (!unpack_runs(left_.subspan(4, load_le<uint32_t>(left_.data())), 1, bits)) return damaged();
    for (const uint32_t bit : bits) out_.views.push_back(boolean(bit != 0));
    return {};
  }

  Status deltas() {
    if (type_.physical != Physical::kInt32 && type_.physical != Physical::kInt64) return unfit();
    const auto numbers = take_deltas(left_, count_);
    if (!numbers) return damaged();
    for (const uint64_t number : *numbers)
      out_.made.append(reinterpret_cast<const char*>(&number), type_.width);
    return fixed(as_bytes(out_.made));
  }

  Status lengths_first() {
    const auto lengths = take_lengths(left_, count_);
    if (!lengths) return damaged();
    for (const uint64_t length : *lengths) {
      if (length > left_.size()) return damaged();
      out_.views.push_back(left_.first(length));
      left_ = left_.subspan(length);
    }
    return {};
  }

  /// Each value begins with so many bytes of the one before.
  Status prefixes_first() {
    const auto prefixes = take_lengths(left_, count_);
    const auto suffixes = prefixes ? take_lengths(left_, count_) : std::nullopt;
    if (!suffixes) return damaged();
    std::vector<uint64_t> begins;
    begins.reserve(count_);
    uint64_t before = 0;  // where the value before begins
    for (uint32_t i = 0; i < count_; ++i) {
      const uint64_t prefix = (*prefixes)[i];
      const uint64_t suffix = (*suffixes)[i];
      const uint64_t begin = out_.made.size();
      if (prefix > begin - before || suffix > left_.size()) return damaged();
      if (type_.width > 0 && prefix + suffix != type_.width) return damaged();
      if (prefix + suffix > budget_.unpacked) return too_large(page_.offset);
      budget_.unpacked -= prefix + suffix;
      out_.made.resize(begin + prefix);
      out_.made.replace(begin, prefix, out_.made, before, prefix);
      out_.made += as_text(left_.first(suffix));
      left_ = left_.subspan(suffix);
      begins.push_back(begin);
      before = begin;
    }
    const ByteView made = as_bytes(out_.made);
    for (uint32_t i = 0; i < count_; ++i) {
      const uint64_t end = i + 1 < count_ ? begins[i + 1] : made.size();
      out_.views.push_back(made.subspan(begins[i], end - begins[i]));
    }
    return {};
  }

  /// The first bytes of all values, then the second ones, and so on.
  Status split_streams() {
    if (type_.meaning == Meaning::kBoolean || left_.size() / type_.width < count_) return damaged();
    out_.made.resize(uint64_t{count_} * type_.width);
    for (uint32_t byte = 0; byte < type_.width; ++byte)
      for (uint32_t i = 0; i < count_; ++i)
        out_.made[uint64_t{i} * type_.width + byte] =
            static_cast<char>(left_[uint64_t{byte} * count_ + i]);
    return fixed(as_bytes(out_.made));
  }

  const Page& page_;
  const ValueType& type_;
  const uint32_t count_;
  const std::vector<ByteView>& dictionary_;
  Budget& budget_;
  Values& out_;
  ByteView left_;
};

}  // namespace

Status read_values(const Page& page, const ValueType& type, uint32_t count,
                   const std::vector<ByteView>& dictionary, Budget& budget, Values& out) {
  return Reader(page, type, count, dictionary, budget, out).run();
}

}  // namespace headrace::parquet
