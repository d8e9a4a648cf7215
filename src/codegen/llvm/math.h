#pragma once
// Mathematical functions as polynomials in LLVM IR, for scalars and vectors of any width with the same bits.
//
// LLVM makes a vector exp into one libm call a lane, 10 to 50 times slower than what follows. Everything here is
// branch-free (but for sin, cos and tan of huge arguments), right over the whole range of its type (infinities, NaN,
// signed zeros, denormal arguments and results, overflow), and needs no library at run time.
//
// Largest error in units of the last place; f32 over every 257th argument, f64 over many; with FMA and without:
//
//     function              f32     f64     how
//     exp                   1.2     1.1     2^n e^r, |r| <= ln(2)/2; 2^n in two factors, so that denormals round once
//     exp2                  1.5     1.6
//     expm1                 1.9     2.1     the same without the 1
//     log                   1.0     1.0     2^k (1+f); f32 a polynomial of f, f64 a series of f/(2+f)
//     log2                  1.8     1.0     f64 in two pieces
//     log10                 2.8     1.0
//     log1p                 1.7     1.7
//     tanh                  2.8     2.7     of expm1(-2|x|)
//     sigmoid               2.5     2.6     e^r / (2^-n + e^r), with x = n ln 2 + r
//     erf                   4.4     1.7     1 - e^-R(x); f64 below 1 an odd polynomial
//     sinh, cosh            2.6     2.6     of expm1 and exp
//     sin, cos, tan         0.6     libm    computed in f64
//     asin, acos, atan      0.6     libm    computed in f64
//     atan2, pow            0.6     libm    computed in f64
//     fmod                  libm    libm
//
// f16 and bf16 are computed in f32 and rounded. `libm`: one call a lane; see `is_scalar_only`.

#include "lathe/expr.h"

namespace lathe::codegen::cpu {

/// Is there no polynomial here, so that libm is called lane by lane? `type` is f32 or f64.
bool is_scalar_only(Intrinsic op, DataType type);

}  // namespace lathe::codegen::cpu
