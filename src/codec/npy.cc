#include "codec/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "base/little_endian.h"
#include "base/try.h"

namespace headrace {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
/// More than any plain array needs; numpy's own limit is 10,000.
constexpr size_t kHeaderLimit = 65536;
/// numpy's own limit.
constexpr size_t kDimensionLimit = 64;

Error bad(const std::string& what) {
  return {Code::kCorrupt, "not a numpy array: " + what, {}, {}};
}

Error refused(const std::string& what, const char* hint) {
  return {Code::kCorrupt, "numpy array refused: " + what, {}, hint};
}

/// The type of a `descr` string, as '<f4', and its byte order.
Status parse_descr(std::string_view descr, NpyArray& array) {
  if (descr.empty()) return bad("its type is empty");
  char order = '|';
  std::string_view type = descr;
  if (std::string_view("<>|=").find(type[0]) != std::string_view::npos) {
    order = type[0];
    type.remove_prefix(1);
  }
  struct Known {
    std::string_view name;
    DType dtype;
  };
  static constexpr Known kKnown[] = {{"u1", DType::u8},  {"i1", DType::i8},   {"u2", DType::u16},
                                     {"i2", DType::i16}, {"u4", DType::u32},  {"i4", DType::i32},
                                     {"u8", DType::u64}, {"i8", DType::i64},  {"f2", DType::f16},
                                     {"f4", DType::f32}, {"f8", DType::f64},  {"b1", DType::bool_},
                                     {"c8", DType::c64}, {"c16", DType::c128}};
  for (const Known& known : kKnown) {
    if (type != known.name) continue;
    array.dtype = known.dtype;
    array.big_endian = order == '>' && dtype_size(known.dtype) > 1;
    return Status();
  }
  if (type.starts_with("O"))
    return refused("it holds Python objects, which only unpickling could read",
                   "save it with a plain number type");
  std::string shown;
  for (const char c : descr.substr(0, 24)) shown += (c > 0x20 && c < 0x7F) ? c : '?';
  return refused("the type '" + shown + "' is not a plain number type",
                 "read the field as bytes, or save it with a plain number type");
}

/// Reads the dict of the header: literals of exactly the kinds that numpy writes.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, size_t offset) : text_(text), offset_(offset) {}

  Status parse(NpyArray& array, std::vector<int64_t>& shape) {
    bool seen_descr = false;
    bool seen_order = false;
    bool seen_shape = false;
    HR_CHECK(expect('{'));
    while (!take('}')) {
      HR_TRY(const std::string_view key, string());
      HR_CHECK(expect(':'));
      if (key == "descr" && !seen_descr) {
        seen_descr = true;
        HR_CHECK(descr(array));
      } else if (key == "fortran_order" && !seen_order) {
        seen_order = true;
        HR_CHECK(boolean(array.fortran_order));
      } else if (key == "shape" && !seen_shape) {
        seen_shape = true;
        HR_CHECK(dimensions(shape));
      } else {
        return error("a key that is unknown or there twice");
      }
      if (!take(',')) {
        HR_CHECK(expect('}'));
        break;
      }
    }
    if (!seen_descr || !seen_order || !seen_shape)
      return bad("its header lacks one of descr, fortran_order and shape");
    skip_space();
    if (at_ != text_.size()) return error("more than the dict");
    return Status();
  }

 private:
  Status descr(NpyArray& array) {
    skip_space();
    if (peek('['))
      return refused("its elements are records", "save one array for each field of the records");
    HR_TRY(const std::string_view name, string());
    return parse_descr(name, array);
  }

  Status boolean(bool& value) {
    skip_space();
    for (const bool candidate : {false, true}) {
      const std::string_view word = candidate ? "True" : "False";
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      value = candidate;
      return Status();
    }
    return error("fortran_order is neither True nor False");
  }

  Status dimensions(std::vector<int64_t>& shape) {
    shape.clear();
    HR_CHECK(expect('('));
    while (!take(')')) {
      if (shape.size() == kDimensionLimit) return error("more than 64 dimensions");
      HR_TRY(const int64_t dimension, integer());
      shape.push_back(dimension);
      if (take(',')) continue;
      if (shape.size() == 1) return error("a shape that is no tuple");
      HR_CHECK(expect(')'));
      break;
    }
    return Status();
  }

  Result<int64_t> integer() {
    skip_space();
    const size_t start = at_;
    int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const int digit = text_[at_] - '0';
      if (value > (std::numeric_limits<int64_t>::max() - digit) / 10)
        return error("a dimension is too large");
      value = value * 10 + digit;
    }
    if (at_ == start) return error("a dimension is no number");
    if (peek('L')) ++at_;  // written by Python 2
    return value;
  }

  Result<std::string_view> string() {
    skip_space();
    if (!peek('\'') && !peek('"')) return error("a string is missing");
    const char quote = text_[at_];
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return error("a string is not closed");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }

  bool peek(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    skip_space();
    if (!peek(c)) return false;
    ++at_;
    return true;
  }
  Status expect(char c) {
    if (take(c)) return Status();
    return error(std::string("'") + c + "' is missing");
  }
  void skip_space() {
    while (peek(' ') || peek('\n') || peek('\t') || peek('\r')) ++at_;
  }
  Error error(const std::string& what) const {
    return bad("its header has " + what + ", at byte " + std::to_string(offset_ + at_));
  }

  std::string_view text_;
  size_t offset_;  ///< of the text in the file
  size_t at_ = 0;
};

/// Bytes of all elements; nothing if the number does not fit.
std::optional<uint64_t> total_bytes(const std::vector<int64_t>& shape, size_t element) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  uint64_t total = element;
  for (const int64_t dimension : shape)
    if (__builtin_mul_overflow(total, static_cast<uint64_t>(dimension), &total))
      return std::nullopt;
  return total;
}

template <size_t kElement>
void copy_fortran(ByteView data, const std::vector<int64_t>& shape, std::byte* out) {
  // Odometer over all but the last dimension; `from` is the element's number in Fortran order.
  const size_t last = shape.size() - 1;
  std::array<int64_t, kDimensionLimit> index{};
  std::array<int64_t, kDimensionLimit> stride{};
  int64_t elements = 1;
  for (size_t d = 0; d <= last; ++d) {
    stride[d] = elements;
    elements *= shape[d];
  }
  const std::byte* in = data.data();
  int64_t from = 0;
  for (int64_t done = 0; done < elements; done += shape[last]) {
    for (int64_t i = 0; i < shape[last]; ++i, out += kElement)
      std::memcpy(out, in + static_cast<size_t>(from + i * stride[last]) * kElement, kElement);
    for (size_t d = last; d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
}

void reverse_units(MutableBytes bytes, size_t unit) {
  for (size_t i = 0; i + unit <= bytes.size(); i += unit)
    std::reverse(bytes.data() + i, bytes.data() + i + unit);
}

}  // namespace

Result<NpyArray> parse_npy(ByteView file, std::vector<int64_t>& shape) {
  const std::string_view text = as_text(file);
  if (!text.starts_with(kMagic)) return bad("it does not begin with \\x93NUMPY");
  if (text.size() < 8) return bad("it is cut in its first 8 bytes");
  const int major = static_cast<uint8_t>(text[6]);
  const int minor = static_cast<uint8_t>(text[7]);
  if (major < 1 || major > 3 || minor != 0)
    return bad("format version " + std::to_string(major) + "." + std::to_string(minor) +
               " is unknown");
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t start = 8 + length_bytes;
  if (text.size() < start) return bad("it is cut in its header");
  const size_t length =
      major == 1 ? load_le<uint16_t>(file.data() + 8) : load_le<uint32_t>(file.data() + 8);
  if (length > text.size() - start)
    return bad("it is cut in its header: " + std::to_string(length) + " bytes are announced, " +
               std::to_string(text.size() - start) + " are there");
  if (length > kHeaderLimit)
    return refused("its header has " + std::to_string(length) + " bytes",
                   "save it with a plain number type");

  NpyArray array;
  HR_CHECK(HeaderParser(text.substr(start, length), start).parse(array, shape));
  const auto wanted = total_bytes(shape, dtype_size(array.dtype));
  const size_t there = text.size() - start - length;
  if (!wanted || *wanted > there)
    return bad("its data is cut: " + (wanted ? std::to_string(*wanted) : "more than 2^64") +
               " bytes are announced, " + std::to_string(there) + " are there");
  if (*wanted < there)
    return bad(std::to_string(there - *wanted) + " bytes follow the data, at byte " +
               std::to_string(text.size() - there + *wanted));
  array.data = file.subspan(start + length);
  return array;
}

bool is_plain(const NpyArray& array, const std::vector<int64_t>& shape) {
  const auto wide = std::count_if(shape.begin(), shape.end(), [](int64_t d) { return d != 1; });
  return !array.big_endian && (!array.fortran_order || wide <= 1 || array.data.empty());
}

void copy_plain(const NpyArray& array, const std::vector<int64_t>& shape, MutableBytes into) {
  if (into.empty()) return;
  const size_t element = dtype_size(array.dtype);
  if (!array.fortran_order || shape.size() <= 1) {
    std::memcpy(into.data(), array.data.data(), into.size());
  } else {
    switch (element) {
      case 1:
        copy_fortran<1>(array.data, shape, into.data());
        break;
      case 2:
        copy_fortran<2>(array.data, shape, into.data());
        break;
      case 4:
        copy_fortran<4>(array.data, shape, into.data());
        break;
      case 8:
        copy_fortran<8>(array.data, shape, into.data());
        break;
      default:
        copy_fortran<16>(array.data, shape, into.data());
        break;
    }
  }
  const bool complex = array.dtype == DType::c64 || array.dtype == DType::c128;
  if (array.big_endian) reverse_units(into, complex ? element / 2 : element);
}

std::string npy_header_u8(std::span<const int64_t> shape) {
  std::string dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (";
  for (const int64_t side : shape) dict += std::to_string(side) + (shape.size() == 1 ? "," : ", ");
  if (shape.size() > 1) dict.resize(dict.size() - 2);
  dict += "), }";
  constexpr size_t kBefore = 10;  // magic, version and the length of the dictionary
  constexpr size_t kUnit = 64;
  dict.append(kUnit - 1 - (kBefore + dict.size()) % kUnit, ' ');
  dict += '\n';
  std::string header(kMagic);
  header += {1, 0};
  append_le(header, static_cast<uint16_t>(dict.size()));
  return header + dict;
}

}  // namespace headrace
