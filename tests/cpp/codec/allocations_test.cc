// How often, and for how much, a picture asks the heap: counted by wrappers of malloc, which the
// codecs' libraries call as well.
#include <cerrno>
#include <cstdlib>

#include "codec/arena.h"
#include "codec/support.h"

#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEADRACE_UNCOUNTED 1  // sanitizers have wrappers of their own
#endif

namespace headrace {
namespace {

struct Allocations {
  size_t count = 0;
  size_t bytes = 0;
};

thread_local Allocations allocations;

}  // namespace
}  // namespace headrace

#ifndef HEADRACE_UNCOUNTED

// As the C library has them.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-inconsistent-declaration-parameter-name,*-owning-memory)
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

#define HEADRACE_WRAPPER __attribute__((visibility("default")))

HEADRACE_WRAPPER void* malloc(size_t size) noexcept {
  headrace::allocations.count += 1;
  headrace::allocations.bytes += size;
  return __libc_malloc(size);
}

HEADRACE_WRAPPER void* calloc(size_t count, size_t size) noexcept {
  headrace::allocations.count += 1;
  headrace::allocations.bytes += count * size;
  return __libc_calloc(count, size);
}

HEADRACE_WRAPPER void* realloc(void* memory, size_t size) noexcept {
  headrace::allocations.count += 1;
  headrace::allocations.bytes += size;
  return __libc_realloc(memory, size);
}

HEADRACE_WRAPPER void* aligned_alloc(size_t alignment, size_t size) noexcept {
  headrace::allocations.count += 1;
  headrace::allocations.bytes += size;
  return __libc_memalign(alignment, size);
}

HEADRACE_WRAPPER int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  *memory = aligned_alloc(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-inconsistent-declaration-parameter-name,*-owning-memory)

#endif

namespace headrace {
namespace {

class AllocationsTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef HEADRACE_UNCOUNTED
    GTEST_SKIP() << "allocations are not counted in this build";
#endif
    allocations = {};
    const Scratch scratch;
    ASSERT_GT(allocations.count, 0U) << "the wrappers are not called";
  }
};

ImageSpec training(DecodeSettings decode) {
  ImageSpec spec;
  spec.decode = decode;
  spec.ops = {RandomResizedCrop{24, 24}, HorizontalFlip{}, GaussianBlur{},
              ColorJitter{{{0.6, 1.4}}, {{0.6, 1.4}}, {{0.6, 1.4}}, {{-0.1, 0.1}}},
              Normalize{{0.5}, {0.2}}};
  return spec;
}

/// Of the rows' decoding alone, the second time that they are decoded.
size_t allocations_of(const std::vector<std::string>& names, const ImageSpec& spec) {
  std::vector<std::string> files;
  files.reserve(names.size());
  for (const std::string& name : names) files.push_back(read_file(golden_folder() + "/" + name));
  const auto decoder = decoder_of(spec);
  std::vector<std::byte> row(decoder->row_shape().row_bytes(0));
  Scratch scratch;
  const auto decode_all = [&] {
    for (uint64_t i = 0; i < files.size(); ++i)
      for (uint64_t position = 0; position < 10; ++position) {
        const Status done =
            decoder->decode_into(as_bytes(files[i]), {1, i, position}, row, scratch);
        EXPECT_TRUE(done.ok()) << names[i] << ": " << done.error().to_string();
      }
  };
  decode_all();
  decode_all();  // what one file takes may be kept only when the next one comes
  allocations = {};
  decode_all();
  return allocations.count;
}

TEST_F(AllocationsTest, APictureAfterTheFirstOnesTakesNone) {
  const std::vector<std::string> jpegs = {
      "jpeg/baseline_420.jpg",       "jpeg/baseline_422.jpg", "jpeg/baseline_444.jpg",
      "jpeg/baseline_gray.jpg",      "jpeg/cmyk_adobe.jpg",   "jpeg/progressive_420.jpg",
      "jpeg/exif_orientation_6.jpg", "jpeg/restart_1.jpg",    "jpeg/restart_progressive.jpg"};
  EXPECT_EQ(allocations_of(jpegs, training(DecodeSettings::exact)), 0U);
  EXPECT_EQ(allocations_of(jpegs, training(DecodeSettings::fast)), 0U);
  const std::vector<std::string> pngs = {"transforms/src_a.png"};
  EXPECT_EQ(allocations_of(pngs, training(DecodeSettings::exact)), 0U);
}

void expect_refused_cheaply(const std::string& name, const std::string& file, Scratch& scratch) {
  constexpr size_t kSmall = size_t{256} << 10;
  const auto decoder = decoder_of(ImageSpec());
  allocations = {};
  const auto row = decoder->decode_dynamic(as_bytes(file), {}, scratch);
  const size_t bytes = allocations.bytes;
  EXPECT_FALSE(row.ok()) << name;
  EXPECT_LE(bytes, kSmall) << name;
}

TEST_F(AllocationsTest, NothingLargeIsTakenForAPictureThatIsRefused) {
  for (const char* name :
       {"jpeg/header_says_65500x65500.jpg", "jpeg/bomb_progressive_65500.jpg", "png/bomb_50000.png",
        "png/bomb_2g.png", "webp/header_says_16383.webp", "gif/screen_65535.gif", "bmp/bomb.bmp",
        "pnm/bomb.ppm", "tiff/huge.tif"}) {
    Scratch scratch;
    expect_refused_cheaply(name, read_file(golden_folder() + "/" + name), scratch);
  }
}

TEST_F(AllocationsTest, NothingLargeIsTakenForAnAvifThatIsRefused) {
  std::string file = read_file(golden_folder() + "/avif/pillow.avif");
  Scratch scratch;
  const auto decoder = decoder_of(ImageSpec());
  ASSERT_TRUE(decoder->decode_dynamic(as_bytes(file), {}, scratch).ok());  // loads the library
  const size_t sides = file.find("ispe") + 8;       // name, version; width, height
  const std::string_view large("\0\0\x3E\x80", 4);  // 16000
  file.replace(sides, 4, large).replace(sides + 4, 4, large);
  expect_refused_cheaply("AVIF", file, scratch);
}

TEST(Arena, KeepsOneBlockForTheNextPicture) {
  Arena arena;
  for (int picture = 0; picture < 3; ++picture) {
    arena.clear();
    for (size_t i = 1; i < 400; ++i) {
      auto* piece = static_cast<uint8_t*>(arena.take(i * 10));
      ASSERT_NE(piece, nullptr);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(piece) % Arena::kAlignment, 0U);
      std::fill_n(piece, i * 10, static_cast<uint8_t>(i));
      ASSERT_EQ(piece[i * 10 - 1], static_cast<uint8_t>(i));
    }
  }
}

TEST_F(AllocationsTest, AnArenaGivesBackWhatAHugePictureTook) {
  Arena arena;
  const auto take = [&](size_t pieces) {
    arena.clear();
    for (size_t i = 0; i < pieces; ++i) ASSERT_NE(arena.take(Arena::kKept / 4), nullptr);
  };
  take(1);
  take(100);
  arena.clear();
  allocations = {};
  take(4);
  EXPECT_EQ(allocations.count, 0U);
  take(5);
  EXPECT_EQ(allocations.count, 1U) << "more than what is kept";
  EXPECT_EQ(arena.take(SIZE_MAX), nullptr);
}

}  // namespace
}  // namespace headrace
