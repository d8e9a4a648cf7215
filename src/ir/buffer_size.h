#pragma once
// How large a buffer may be.

#include <vector>

#include "lathe/expr.h"

namespace lathe {

/// Whether addresses of 63 bits reach all of a buffer, as far as its constant extents tell; those of run time count once. An
/// extent of 0 hides nothing: a buffer without elements is no reason to compute with extents that overflow.
inline bool is_addressable(const std::vector<Expr>& shape, DataType dtype) {
  std::int64_t bytes = dtype.bytes();
  for (const Expr& extent : shape) {
    const auto value = as_int(extent);
    if (value && *value > 0 && __builtin_mul_overflow(bytes, *value, &bytes)) return false;
  }
  return true;
}

}  // namespace lathe
