#pragma once
// The operators and the shapes that are measured.
//
// Sources of the shapes: the operator set of Ansor (Zheng et al., OSDI 2020), the convolutions of ResNet-50
// v1.5, BERT-base at sequence length 128, and prime and awkward sizes of our own. All f32, batch 1 unless the
// parameters say otherwise. Operands by key (row-major; k is the kernel's extent in every spatial dimension):
//
//   GMM            a[B,N,K]  b[B,K,M] constant                         -> [B,N,M]
//   GMV            a[m,k]  x[k]                                        -> [m]
//   C1D C2D C3D    x[N,...,CI]  w[k...,CI,CO] constant                 -> [N,...,CO]
//   GRP            as C2D with 4 groups, w[k,k,CI/4,CO]; DIL: as C2D with dilation 2
//   DEP            x[N,H,W,C]  w[k,k,C] constant                       -> [N,Ho,Wo,C]
//   T2D            x[N,H,W,CI]  w[k,k,CI,CO] constant; out[s*y + ky - p] += x[y] * w[ky]
//   NRM            x[B,M,N]                                            -> [B], Euclidean norm
//   SFM            x[m,n]                                              -> [m,n], softmax of rows
//   LN             x[rows,cols]  gamma[cols]  beta[cols]               -> [rows,cols], epsilon 1e-5
//   TRN            x[m,n]                                              -> [n,m]
//   EW             a[n]  b[n]                                          -> sigmoid(max(a + b, 0))
//   R50            convolution of ResNet-50 (H,CI,CO,k,s), pad k/2: relu(conv(x, w) + bias[CO])
//   CBR            relu((conv(x, w) + bias[CO]) * scale[CO] + shift[CO])
//   RES            relu(conv(x, w) + bias[CO] + residual[N,Ho,Wo,CO])
//   CMP            maxpool 2x2 of conv(x, w)
//   TBG            q[B,seq,heads,dim]  k[B,seq,heads,dim]              -> [B,heads,seq,seq] = q k^T; TBS: its
//   softmax MBG            x[M,K]  w[K,N] constant  bias[N]                    -> gelu(x w + bias), by erf
//   QKV            x[M,K]  w[3,K,N] constant                           -> [3,M,N]
//   ATT            q, k, v [B,heads,seq,dim]                           -> softmax(q k^T / sqrt(dim)) v
//   exp tanh erf sigmoid   x[n], in the cache                          -> [n]

#include <string>
#include <vector>

#include "problem.h"

namespace lathe::bench {

struct Operator {
  std::string key;
  std::string parameters;  ///< names, comma-separated
  std::vector<Shape> cases;
  bool has_constants = false;
};

/// The operators of a group (hand, default, math, tuned); empty for a group that has none.
std::vector<Operator> operators_of(const std::string& group);
/// The cases of a text "KEY:1,2,3", as many as variants (plain, prepared) of the operator. Throws std::runtime_error when
/// there is no such operator, or its parameters are not those of a case.
std::vector<Case> parse_cases(const std::string& text);
/// The cases of a group, in order; `quick` keeps a few small ones of each operator.
std::vector<Case> cases_of(const std::string& group, bool quick);
/// Fills and counts a case's operands.
Problem make_problem(const Case& what, int threads);

/// A convolution's extents; `in`, `out` have one entry a spatial dimension.
struct Convolution {
  std::int64_t batch = 1, channels_in = 1, channels_out = 1, groups = 1;
  Shape in, out;
  std::int64_t kernel = 1, stride = 1, pad = 0, dilation = 1;
  bool transposed = false;

  int rank() const { return static_cast<int>(in.size()); }
  double flops() const;
};
/// The geometry of a case of C1D, C2D, C3D, GRP, DIL, DEP, T2D, R50, CBR, RES or CMP (before its pooling).
Convolution convolution_of(const Case& what);

}  // namespace lathe::bench
