#include <algorithm>
#include <cstring>
#include <span>

#include "codec/support.h"

namespace headrace {
namespace {

FieldSpec column(FieldKind kind) {
  FieldSpec spec;
  spec.name = "x";
  spec.sources = {"jpg", "png"};
  spec.kind = std::move(kind);
  return spec;
}

std::string usage_error(const FieldSpec& spec) {
  const auto decoder = make_decoder(spec);
  if (decoder.ok()) return "accepted";
  EXPECT_EQ(decoder.error().code, Code::kUsage);
  return decoder.error().message;
}

ImageSpec with(std::vector<ImageOp> ops) {
  ImageSpec spec;
  spec.ops = std::move(ops);
  return spec;
}

TEST(DType, NamesAndSizesAgree) {
  for (int i = 0; i <= static_cast<int>(DType::c128); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(dtype_size(DType::c128), 16u);
  EXPECT_EQ(dtype_size(DType::bf16), 2u);
  EXPECT_STREQ(dtype_name(DType::bool_), "bool");
  EXPECT_EQ(parse_dtype("object"), std::nullopt);
}

TEST(Sources, AreSplitAtSemicolons) {
  EXPECT_EQ(parse_sources("jpg;jpeg;;png;"), (std::vector<std::string>{"jpg", "jpeg", "png"}));
  EXPECT_TRUE(parse_sources("").empty());
}

TEST(MakeDecoder, SaysWhatIsWrongWithARecipe) {
  const struct {
    FieldKind kind;
    const char* words;
  } cases[] = {
      {IntegerSpec{DType::f32}, "integer fields cannot be float32"},
      {FloatSpec{DType::f16}, "float fields cannot be float16"},
      {with({Resize{Resize::By::exact, 0, 10}}), "is not between 1 and 65535"},
      {with({CenterCrop{10, 70000}}), "is not between 1 and 65535"},
      {with({RandomResizedCrop{8, 8, {0.5, 0.1}}}), "scale must be two positive numbers"},
      {with({RandomResizedCrop{8, 8, {0.1, 1.0}, {0.0, 1.0}}}), "ratio must be two positive"},
      {with({HorizontalFlip{1.5}}), "between 0 and 1"},
      {with({Normalize{{0.5}, {0.5}}, HorizontalFlip{}}), "must be the last operation"},
      {with({Normalize{{0.5, 0.5}, {0.5}}}), "one for each of 3 channels"},
      {with({Normalize{{0.5}, {0.0}}}), "std must not be zero"},
      {with(std::vector<ImageOp>(17, HorizontalFlip{})), "more than 16 operations"},
  };
  for (const auto& c : cases) {
    const std::string error = usage_error(column(c.kind));
    EXPECT_NE(error.find(c.words), std::string::npos) << error;
    EXPECT_EQ(error.find("column 'x': "), 0u) << error;
  }
  FieldSpec nameless = column(BytesSpec());
  nameless.name.clear();
  EXPECT_EQ(usage_error(nameless), "a column needs a name");
  FieldSpec sourceless = column(BytesSpec());
  sourceless.sources.clear();
  EXPECT_EQ(usage_error(sourceless), "column 'x' needs a field to be made from");
}

TEST(MakeDecoder, AFallbackMustDecode) {
  FieldSpec spec = column(IntegerSpec());
  spec.fallback = "-1";
  EXPECT_TRUE(make_decoder(spec).ok());
  spec.fallback = "none";
  EXPECT_EQ(usage_error(spec),
            "column 'x': the fallback does not decode: not an integer: \"none\"");
}

TEST(RowShape, IsKnownBeforeAnythingIsDecoded) {
  const auto shape_of = [](FieldKind kind) { return decoder_of(std::move(kind))->row_shape(); };
  EXPECT_EQ(shape_of(IntegerSpec()).kind, RowShape::Kind::kFixed);
  EXPECT_EQ(shape_of(IntegerSpec()).row_bytes(3), 8u);
  EXPECT_EQ(shape_of(JsonSpec()).kind, RowShape::Kind::kEncoded);
  EXPECT_EQ(shape_of(NpySpec()).dtype, std::nullopt);
  EXPECT_EQ(shape_of(ImageSpec()).kind, RowShape::Kind::kDynamic);

  ImageSpec spec = with({RandomResizedCrop{24, 32}, Normalize{{0.5}, {0.5}}});
  const RowShape chw = shape_of(spec);
  EXPECT_EQ(chw.kind, RowShape::Kind::kFixed);
  EXPECT_EQ(chw.dtype, DType::f32);
  EXPECT_EQ(chw.shape, (std::vector<int64_t>{3, 24, 32}));
  EXPECT_EQ(chw.row_bytes(99), 3u * 24 * 32 * 4);
  spec.layout = Layout::hwc;
  EXPECT_EQ(shape_of(spec).shape, (std::vector<int64_t>{24, 32, 3}));
}

TEST(ImageRows, AreTheSameInBothLayoutsMirroredOrNot) {
  const std::string file = read_file(TEST_DATA "/codec/transforms/src_g.png");  // 7 x 5
  for (const double p : {0.0, 1.0}) {
    ImageSpec spec = with({CenterCrop{5, 7}, HorizontalFlip{p}});
    const auto chw = decode(*decoder_of(spec), file);
    spec.layout = Layout::hwc;
    const auto hwc = decode(*decoder_of(spec), file);
    spec.dtype = DType::f32;
    const auto floats = decode(*decoder_of(spec), file);
    ImageSpec plain;
    plain.layout = Layout::hwc;
    const auto source = decode(*decoder_of(plain), file);
    for (size_t y = 0; y < 5; ++y) {
      for (size_t x = 0; x < 7; ++x) {
        for (size_t c = 0; c < 3; ++c) {
          const char pixel = source->bytes[(y * 7 + (p == 0 ? x : 6 - x)) * 3 + c];
          const size_t at = (y * 7 + x) * 3 + c;
          EXPECT_EQ(hwc->bytes[at], pixel);
          EXPECT_EQ(chw->bytes[c * 35 + y * 7 + x], pixel);
          float value = 0;
          std::memcpy(&value, floats->bytes.data() + at * sizeof value, sizeof value);
          EXPECT_EQ(value, static_cast<float>(static_cast<uint8_t>(pixel)));
        }
      }
    }
  }
}

TEST(ImageRows, AStepThatMovesNoPixelLeavesThemToTheNextOne) {
  // 97 x 131: what is cut lies in the middle, so mirrors around it change nothing.
  const std::string file = read_file(TEST_DATA "/codec/transforms/src_d.png");
  const CenterCrop middle{61, 51};
  const auto expected = decode(*decoder_of(with({middle})), file);
  const VerticalFlip mirror{1.0};
  const Adjust nothing{Adjust::What::saturation, 2.0, 1.0};  // to gray pictures
  ImageSpec gray = with({middle});
  gray.channels = Channels::gray;
  const auto expected_gray = decode(*decoder_of(gray), file);
  gray.ops = {mirror, middle, nothing, mirror};
  EXPECT_EQ(decode(*decoder_of(gray), file)->bytes, expected_gray->bytes);
  EXPECT_EQ(decode(*decoder_of(with({mirror, middle, mirror})), file)->bytes, expected->bytes);
  const Pad around{{7, 7, 7, 7}, Edge::edge};
  EXPECT_EQ(
      decode(*decoder_of(with({around, mirror, middle, around, mirror, middle})), file)->bytes,
      expected->bytes);
}

TEST(ImageRows, AFixedRowIsWrittenStraightIntoItsPlace) {
  const std::string file = read_file(TEST_DATA "/codec/jpeg/baseline_420.jpg");
  const auto decoder = decoder_of(with({RandomResizedCrop{16, 24}, HorizontalFlip{}}));
  const RowKey key{1, 0, 42};
  Scratch scratch;
  std::vector<std::byte> row(decoder->row_shape().row_bytes(file.size()) + 1, std::byte{0xAB});
  const auto status =
      decoder->decode_into(as_bytes(file), key, MutableBytes(row).first(row.size() - 1), scratch);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(row.back(), std::byte{0xAB});
  const auto again = decode(*decoder, file, key);
  EXPECT_EQ(again->bytes, as_text(ByteView(row).first(row.size() - 1)));
  EXPECT_NE(decode(*decoder, file, {1, 0, 43})->bytes, again->bytes);
}

TEST(ImageRows, OfAnySizeAreWrittenIntoThePlaceThatIsGivenForTheirShape) {
  const std::string file = read_file(TEST_DATA "/codec/jpeg/baseline_420.jpg");
  for (const FieldSpec& spec : {column(ImageSpec()), column(BytesSpec())}) {
    const auto decoder = *make_decoder(spec);
    Scratch scratch, other;
    const auto row = decoder->decode_dynamic(as_bytes(file), RowKey(), other);
    std::vector<std::byte> placed(row->bytes.size());
    std::vector<int64_t> shape;
    const auto place = [&](std::span<const int64_t> sides) {
      shape.assign(sides.begin(), sides.end());
      return placed.data();
    };
    ASSERT_TRUE(decoder->decode_placed(as_bytes(file), RowKey(), scratch, place).ok());
    EXPECT_TRUE(std::equal(placed.begin(), placed.end(), row->bytes.begin()));
    EXPECT_TRUE(std::equal(shape.begin(), shape.end(), row->shape.begin(), row->shape.end()));
    const auto nowhere = [](std::span<const int64_t>) { return static_cast<std::byte*>(nullptr); };
    EXPECT_FALSE(decoder->decode_placed(as_bytes(file), RowKey(), scratch, nowhere).ok());
  }
}

TEST(ImageRows, MoreThanThePixelLimitIsRefusedAlsoAfterAResize) {
  const std::string file = read_file(TEST_DATA "/codec/transforms/src_g.png");  // 7 x 5
  ImageSpec spec;
  spec.pixel_limit = 34;
  EXPECT_NE(decode(*decoder_of(spec), file).error().message.find("7 x 5 pixels are more"),
            std::string::npos);
  spec = with({Resize{Resize::By::exact, 65535, 65535}});
  EXPECT_NE(decode(*decoder_of(spec), file).error().message.find("picture refused"),
            std::string::npos);
}

TEST(ImageRows, GrayOfAGrayAndAColourFileHaveOneChannel) {
  ImageSpec spec;
  spec.channels = Channels::gray;
  for (const char* name :
       {"jpeg/baseline_gray.jpg", "jpeg/baseline_420.jpg", "transforms/src_f.png"}) {
    const auto row = decode(*decoder_of(spec), read_file(std::string(TEST_DATA "/codec/") + name));
    ASSERT_TRUE(row.ok()) << name;
    EXPECT_EQ(row->shape[0], 1) << name;
  }
}

}  // namespace
}  // namespace headrace
