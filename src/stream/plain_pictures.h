// Whole pictures of the size that their file has, as WebDataset's image specs want them.
//
// Only what is known to equal Pillow's result value for value is decoded; of all else, and of
// damaged files, the answer is no, and the caller asks Pillow. Thread-safety: PlainPictures is
// immutable.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codec/decoder.h"

namespace headrace {

/// Gives the memory for a picture of this shape; nullptr: there is none.
using PicturePlace = std::function<std::byte*(const std::vector<size_t>& shape)>;

class PlainPictures {
 public:
  /// `channels`: "l", "rgb" or "rgba". `floats`: 0..1, else bytes. `planes`: CHW, else HWC.
  static Result<PlainPictures> make(const std::string& channels, bool floats, bool planes);

  /// Into `place`, which is asked once the shape is known. False: what lies there, if it was asked,
  /// is no picture.
  bool decode(ByteView file, Scratch& scratch, const PicturePlace& place) const;

  /// Whether numbers are float32; else they are bytes.
  bool floats() const { return floats_; }

 private:
  std::unique_ptr<Decoder> decoder_;
  bool gray_ = false;
  bool floats_ = false;
  bool planes_ = false;
};

}  // namespace headrace
