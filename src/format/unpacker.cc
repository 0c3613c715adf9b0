#include "format/unpacker.h"

#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

namespace headrace {
namespace {

constexpr int kZstdWindowLog = 27;  // 128 MiB, what `zstd -d` takes without being asked
constexpr uint32_t kLz4Legacy = 0x184C2102;

Error damaged(const std::string& what) { return {.code = Code::kCorrupt, .message = what}; }

class GzipUnpacker final : public Unpacker {
 public:
  GzipUnpacker() { usable_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
  ~GzipUnpacker() override { inflateEnd(&stream_); }
  GzipUnpacker(const GzipUnpacker&) = delete;
  GzipUnpacker& operator=(const GzipUnpacker&) = delete;

  Result<Step> step(ByteView in, MutableBytes out) override {
    if (!usable_) return Error{.message = "zlib cannot be used: no memory"};
    Step step;
    if (between_ && any_) {  // zeros behind the end are padding, as of tapes
      const auto data = std::ranges::find_if(in, [](std::byte b) { return b != std::byte{0}; });
      step.taken = static_cast<size_t>(data - in.begin());
      if (step.taken > 0 || in.empty()) return step;
    }
    between_ = between_ && in.empty();
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
    stream_.avail_in = static_cast<uInt>(std::min<size_t>(in.size(), kMost));
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(out.size(), kMost));
    const uInt had_in = stream_.avail_in;
    const uInt had_out = stream_.avail_out;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    step.taken = had_in - stream_.avail_in;
    step.made = had_out - stream_.avail_out;
    if (result != Z_OK && result != Z_BUF_ERROR && result != Z_STREAM_END) return why();
    if (result != Z_STREAM_END) return step;
    inflateReset(&stream_);
    step.ends_frame = between_ = any_ = true;
    return step;
  }
  bool is_between_frames() const override { return between_; }

 private:
  static constexpr size_t kMost = size_t{1} << 30;

  Error why() const {
    const std::string words = stream_.msg != nullptr ? stream_.msg : "no reason given";
    if (stream_.total_out > 0) return damaged("the gzip data is damaged: " + words);
    return damaged(any_ ? "bytes that are no gzip follow the gzip data"
                        : "this does not begin as gzip does (" + words + ")");
  }

  z_stream stream_{};
  bool usable_ = false;
  bool between_ = true;
  bool any_ = false;  // a member has ended
};

class ZstdUnpacker final : public Unpacker {
 public:
  ZstdUnpacker() : context_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kZstdWindowLog);
  }

  Result<Step> step(ByteView in, MutableBytes out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const size_t left = ZSTD_decompressStream(context_.get(), &to, &from);
    if (ZSTD_isError(left))
      return damaged(std::string("the zstd data is damaged or of a kind that is not read: ") +
                     ZSTD_getErrorName(left));
    const bool ends = left == 0 && (from.pos > 0 || !between_);
    between_ = left == 0 || (between_ && from.pos == 0);
    return Step{from.pos, to.pos, ends};
  }
  bool is_between_frames() const override { return between_; }

 private:
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_;
  bool between_ = true;
};

class Lz4Unpacker final : public Unpacker {
 public:
  Lz4Unpacker() {
    LZ4F_dctx* made = nullptr;
    LZ4F_createDecompressionContext(&made, LZ4F_VERSION);
    context_.reset(made);
  }

  Result<Step> step(ByteView in, MutableBytes out) override {
    if (between_ && in.size() >= 4 && is_legacy(in))
      return damaged("lz4's legacy frames are not read: pack it again with a newer lz4");
    Step step{in.size(), out.size()};
    if (in.empty() && between_) return Step{};
    const size_t left =
        LZ4F_decompress(context_.get(), out.data(), &step.made, in.data(), &step.taken, nullptr);
    if (LZ4F_isError(left))
      return damaged(std::string("the lz4 data is damaged: ") + LZ4F_getErrorName(left));
    step.ends_frame = left == 0 && (step.taken > 0 || !between_);
    between_ = left == 0 || (between_ && step.taken == 0);
    return step;
  }
  bool is_between_frames() const override { return between_; }

 private:
  static bool is_legacy(ByteView in) {
    uint32_t magic = 0;
    for (size_t i = 0; i < 4; ++i) magic |= std::to_integer<uint32_t>(in[i]) << (8 * i);
    return magic == kLz4Legacy;
  }

  std::unique_ptr<LZ4F_dctx, decltype(&LZ4F_freeDecompressionContext)> context_{
      nullptr, LZ4F_freeDecompressionContext};
  bool between_ = true;
};

}  // namespace

std::unique_ptr<Unpacker> Unpacker::make(Encoding encoding) {
  if (encoding == Encoding::kGzip) return std::make_unique<GzipUnpacker>();
  if (encoding == Encoding::kZstd) return std::make_unique<ZstdUnpacker>();
  return std::make_unique<Lz4Unpacker>();
}

}  // namespace headrace
