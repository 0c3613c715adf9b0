// HR_TRY(auto x, f()): x = the value of f(), or return its error. HR_CHECK(f()): return its error.
// Macros, because only a macro can return for its caller; kept out of the public headers.
#pragma once

#include <utility>

#include "headrace/result.h"

#define HR_CONCAT_INNER(a, b) a##b
#define HR_CONCAT(a, b) HR_CONCAT_INNER(a, b)
#define HR_TRY(declaration, expression) \
  HR_TRY_AS(HR_CONCAT(hr_try_, __LINE__), declaration, expression)
#define HR_TRY_AS(name, declaration, expression)  \
  auto name = (expression);                       \
  if (!name.ok()) return std::move(name).error(); \
  declaration = std::move(name).value()
#define HR_CHECK(expression)                                                                 \
  do {                                                                                       \
    if (auto hr_status = (expression); !hr_status.ok()) return std::move(hr_status).error(); \
  } while (false)
