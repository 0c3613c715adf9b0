// The limit beside which the image benchmarks are read: libjpeg-turbo alone, cropping while it
// decodes, one picture after the other into one hot buffer a thread.
//
//   find … | jpeg_limit THREADS SETTINGS PART SECONDS
//
//   SETTINGS  default: libjpeg-turbo's own; fast: fast DCT and plain upsampling
//   PART      full:   the whole picture
//             random: a box as RandomResizedCrop draws it (area 0.08 to 1, aspect 3/4 to 4/3)
//             center: the middle, 224/256 of the shorter side
//
// Only what must be decoded is: columns in whole blocks, lines above skipped, lines below never
// read. Files are read into memory outside the timing. Prints pictures a second and bytes decoded.
// jpeglib.h needs size_t and FILE from here.
#include <cstddef>
#include <cstdio>
// clang-format off
#include <jpeglib.h>
// clang-format on

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Box {
  double top = 0, left = 0, height = 0, width = 0;
};

Box random_box(double height, double width, std::mt19937_64& random) {
  std::uniform_real_distribution<double> area(0.08, 1.0);
  std::uniform_real_distribution<double> log_ratio(std::log(3.0 / 4), std::log(4.0 / 3));
  for (int i = 0; i < 10; ++i) {
    const double pixels = height * width * area(random);
    const double ratio = std::exp(log_ratio(random));
    Box box{0, 0, std::round(std::sqrt(pixels / ratio)), std::round(std::sqrt(pixels * ratio))};
    if (box.width > width || box.height > height) continue;
    box.top = std::uniform_int_distribution<int>(0, static_cast<int>(height - box.height))(random);
    box.left = std::uniform_int_distribution<int>(0, static_cast<int>(width - box.width))(random);
    return box;
  }
  return {0, 0, height, width};
}

Box center_box(double height, double width) {
  const double side = std::ceil(std::min(height, width) * 224 / 256);
  return {std::floor((height - side) / 2), std::floor((width - side) / 2), side, side};
}

class Codec {
 public:
  explicit Codec(bool fast) : fast_(fast) {
    codec_.err = jpeg_std_error(&errors_);
    jpeg_create_decompress(&codec_);
  }
  ~Codec() { jpeg_destroy_decompress(&codec_); }
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  /// Bytes of pixels. An error ends the program: libjpeg's default.
  size_t decode(const std::string& file, const std::string& part, std::mt19937_64& random) {
    jpeg_mem_src(&codec_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_read_header(&codec_, TRUE);
    codec_.out_color_space = JCS_RGB;
    if (fast_) {
      codec_.dct_method = JDCT_FASTEST;
      codec_.do_fancy_upsampling = FALSE;
    }
    const double height = codec_.image_height, width = codec_.image_width;
    const Box box = part == "random"   ? random_box(height, width, random)
                    : part == "center" ? center_box(height, width)
                                       : Box{0, 0, height, width};
    jpeg_start_decompress(&codec_);
    if (box.width < width) {
      auto left = static_cast<JDIMENSION>(box.left);
      auto columns = static_cast<JDIMENSION>(box.width);
      jpeg_crop_scanline(&codec_, &left, &columns);
    }
    if (box.top > 0) jpeg_skip_scanlines(&codec_, static_cast<JDIMENSION>(box.top));
    const size_t stride = size_t{3} * codec_.output_width;
    const auto lines = static_cast<size_t>(box.height);
    pixels_.resize(std::max(pixels_.size(), stride * (lines + kLines)));
    const auto end = static_cast<JDIMENSION>(box.top + box.height);
    JSAMPROW rows[kLines];
    for (size_t y = 0; codec_.output_scanline < end;) {
      for (size_t i = 0; i < kLines; ++i) rows[i] = pixels_.data() + (y + i) * stride;
      y += jpeg_read_scanlines(&codec_, rows, kLines);
    }
    jpeg_abort_decompress(&codec_);
    return stride * lines;
  }

 private:
  static constexpr size_t kLines = 16;
  bool fast_;
  jpeg_decompress_struct codec_{};
  jpeg_error_mgr errors_{};
  std::vector<unsigned char> pixels_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: jpeg_limit THREADS default|fast full|random|center SECONDS\n", stderr);
    return 2;
  }
  const int threads = std::max(1, std::atoi(argv[1]));
  const bool fast = std::string(argv[2]) == "fast";
  const std::string part = argv[3];
  const double seconds = std::atof(argv[4]);
  std::vector<std::string> files;
  for (std::string line; std::getline(std::cin, line);) {
    std::ifstream file(line, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }

  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  std::atomic<size_t> next{0}, done{0}, bytes{0};
  const auto work = [&](unsigned number) {
    Codec codec(fast);
    std::mt19937_64 random(number);
    while (spent() < seconds) {
      bytes += codec.decode(files[next++ % files.size()], part, random);
      ++done;
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work, i);
  work(0);
  for (std::thread& thread : others) thread.join();
  std::printf("%.1f %zu\n", static_cast<double>(done.load()) / spent(), bytes.load());
  return 0;
}
