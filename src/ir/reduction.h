#pragma once
// The update of a reduction block, made and recognised in one place.
//
//     let b_1 = value      (where the reducer mentions b more than once)
//     let x = result_0     (tuples: all new values are computed before any is stored)
//     let x_1 = result_1
//     out_0[indices] = x
//     out_1[indices] = x_1
//
// where result_i is the reducer's, with a_i read from out_i[indices] and b_i standing for value_i. With one
// value and no lets this is the store `out[indices] = out[indices] + value`.

#include "lathe/stmt.h"

namespace lathe {

/// The update that combines what `outputs` hold at `indices` with `values`.
Stmt make_reduction_update(const Reducer& reducer, const std::vector<Buffer>& outputs,
                           const std::vector<Expr>& indices, const std::vector<Expr>& values);
/// The stores of `values` (the identity, say) at `indices`.
Stmt make_reduction_init(const std::vector<Buffer>& outputs, const std::vector<Expr>& indices,
                         const std::vector<Expr>& values);

/// The parts of an update; lets are resolved.
struct ReductionUpdate {
  std::vector<Buffer> outputs;
  std::vector<Expr> indices;
  std::vector<Expr> values;
};
/// Takes an update apart; nothing when `update` does not have the form above for this reducer.
std::optional<ReductionUpdate> match_reduction_update(const Reducer& reducer, const Stmt& update);

}  // namespace lathe
