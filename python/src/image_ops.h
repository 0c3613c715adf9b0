// headrace/image_ops.h: operations of an image recipe, from the dicts of headrace/image_ops.py.
#pragma once

#include "bindings.h"
#include "headrace/image_ops.h"

namespace headrace::python {

/// One operation: {"op": its name, and its parameters}.
ImageOp image_op_of(const nb::dict& op);

}  // namespace headrace::python
