// Measures payloads on their way into a shard: pixels, tokens, frames (base/measure.h).
// Thread-safety: one object a thread; it keeps the readers of pictures.
#pragma once

#include <cstdint>
#include <vector>

#include "base/measure.h"
#include "codec/picture_readers.h"
#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

class PayloadMeter {
 public:
  /// Of a whole payload. Code::kCorrupt where it is not what the unit can measure. Precondition:
  /// not Unit::kNone.
  Result<Measure> measure(Unit unit, ByteView payload);

 private:
  Result<uint64_t> pixels(ByteView payload);

  PictureReaders readers_;
  std::vector<int64_t> shape_;
};

}  // namespace headrace
