#include "codec/moving_ops.h"

#include "base/try.h"
#include "codec/image_recipe.h"

namespace headrace {

Result<std::vector<ImageOp>> moving_ops(const std::vector<ImageOp>& ops) {
  ImageSpec spec;
  for (const ImageOp& op : ops)
    if (!std::holds_alternative<Normalize>(op) && !std::holds_alternative<RandomErasing>(op))
      spec.ops.push_back(op);
  HR_CHECK(check_image_recipe(spec));
  return spec.ops;
}

}  // namespace headrace
