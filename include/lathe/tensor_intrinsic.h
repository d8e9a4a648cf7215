#pragma once
// Functions that compute a small program as a whole: a matrix instruction, a hand-written kernel.
//
//     extern "C" void mma_4x8x8(float* c, int64_t c_row, int64_t c_column, const float* a, int64_t a_row, …);
//
//     Axis k = reduce_axis(8, "k");
//     Tensor a = placeholder("a", {4, 8}, f32), b = placeholder("b", {8, 8}, f32);
//     Tensor c = compute("c", {4, 8}, [&](Var i, Var j) { return sum(a(i, k) * b(k, j), {k}); });
//     register_tensor_intrinsic({"mma_4x8x8", program("mma", {a, b}, {c}), "mma_4x8x8"});
//     …
//     s.tensorize(i_inner, "mma_4x8x8");
//
// The description says what is computed; the interpreter runs it. Compiled code calls the function instead.

#include <string>

#include "lathe/program.h"

namespace lathe {

struct TensorIntrinsic {
  std::string name;
  /// One compute, all extents constant, each subscript of an operand an expression of the loops.
  Program description;
  /// A C function. For each parameter of the description, in order, it gets the address of the tile's first element and one
  /// std::int64_t a dimension: the elements from one position to the next. Of a reduction it adds the tile's result to what
  /// the output holds; else it stores it. It must not throw, and may be called by many threads at once.
  std::string symbol;
};

/// Declares an intrinsic for `tensorize`; returns true. Throws UserError LTH-S069 when the name is taken or the description
/// is not of the form above.
bool register_tensor_intrinsic(TensorIntrinsic intrinsic);
/// Null when there is none. Lives as long as the process.
const TensorIntrinsic* find_tensor_intrinsic(const std::string& name);

}  // namespace lathe
