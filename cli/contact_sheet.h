// A sheet of pictures in a grid, with words over it and two lines of words under each picture.
//
//   heading
//   +--------+ +--------+
//   |        | |        |
//   +--------+ +--------+
//   key        key
//   label      label
//
// Thread-safety: plain values; one thread at a time draws.
#pragma once

#include <string>
#include <vector>

#include "codec/picture.h"

namespace headrace::cli {

/// One picture of the sheet; its pixels are the caller's.
struct Tile {
  Picture picture;  ///< 1 to 4 channels; alpha is drawn on white. No pixels: an empty frame
  std::vector<std::string> lines;
  bool faint = false;  ///< drawn half as dark: a row that only fills the batch
};

struct Sheet {
  struct Place {
    int x = 0;
    int y = 0;
  };
  std::string png;
  std::vector<Place> places;  ///< of each tile's picture: its upper left corner
};

/// `columns` 0: about as wide as high.
Result<Sheet> draw_sheet(const std::string& heading, const std::vector<Tile>& tiles, int columns);

}  // namespace headrace::cli
