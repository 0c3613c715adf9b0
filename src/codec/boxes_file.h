// Boxes as files have them: JSON, or a numpy array of (boxes, numbers).
//
//   [[x, y, x, y], …]                                        at ""
//   {"objects": {"boxes": [[x, y, x, y], …]}}                at "objects.boxes"
//   [{"bbox": [x, y, w, h], "category_id": 3}, …]            at "bbox", labels "category_id"
#pragma once

#include <string>
#include <vector>

#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

struct BoxPaths {
  const std::string& at;      ///< JSON: names separated by dots; lists on the way are gone through
  const std::string& labels;  ///< JSON: the way to one more number a box; empty: none
  size_t numbers = 4;         ///< of a box, its label included
};

/// The numbers of all boxes, one after the other. Code::kCorrupt says which box is wrong.
Status read_boxes(ByteView file, const BoxPaths& paths, std::vector<double>& numbers);

}  // namespace headrace
