// What pack and convert do to one picture on its way into a shard: shrink it, code it as baseline,
// decode it, or only look whether it can be decoded.
//
//   file's bytes --- larger than max_side? ---> decode, scale, encode (or keep the pixels: raw)
//               \--- not baseline? -----------> the same coefficients, coded again
//                \-- else -------------------> as they are
//
// Thread-safety: one object a thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "codec/decoder.h"
#include "headrace/result.h"
#include "job/picture_options.h"

namespace headrace {

/// Whether a file's name says that it is a picture (.jpg, .jpeg, .png, .webp, .gif, .tif …).
bool is_picture_name(std::string_view path);

/// The same of a field of a sample: jpg, left.png.
bool is_picture_field(std::string_view field);

/// What a picture's field is called afterwards: `jpg` and `left.png` become `npy` and `left.npy`
/// when pictures are decoded; a field without a picture's ending keeps its name.
std::string packed_field(const PictureOptions& options, const std::string& field);

class PicturePass {
 public:
  /// Code::kUsage if the options contradict each other.
  static Result<PicturePass> make(const PictureOptions& options);

  /// What to pack in the place of `file`: maybe `file` itself, else valid until the next call.
  /// It is counted in `report`, and timed where the sample's `position` is one in sixteen. Errors
  /// are the codec's, about the picture.
  Result<ByteView> run(ByteView file, uint64_t position, PictureReport& report);

 private:
  explicit PicturePass(const PictureOptions& options) : options_(options) {}

  Result<ByteView> change(ByteView file);
  void time(ByteView before, ByteView after, PictureReport& report);
  Result<ByteView> make_raw(ByteView file);
  Result<ByteView> change_jpeg(ByteView file, bool& decoded);
  Result<ByteView> shrink_jpeg(ByteView file);

  PictureOptions options_;
  std::unique_ptr<Decoder> whole_;   ///< height x width x channels as they are in the file, upright
  std::unique_ptr<Decoder> shrunk_;  ///< the same, scaled to max_side
  std::unique_ptr<Decoder> array_;   ///< of what raw makes
  Scratch scratch_;
  std::string out_;
};

}  // namespace headrace
