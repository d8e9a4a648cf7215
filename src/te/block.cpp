// The loop nest and block of a compute.

#include <algorithm>

#include "arith/block_access.h"
#include "ir/reduction.h"
#include "ir/visitor.h"
#include "te/nodes.h"

namespace lathe {
namespace {

/// One loop and one iteration variable of the block in the making.
struct Dimension {
  Var loop, iter;
  Expr extent;
  IterKind kind;
};

}  // namespace

Stmt build_block(const Compute& compute, const std::vector<Buffer>& outputs, Label label) {
  std::vector<Dimension> dimensions;
  VarMap to_iter;  // the compute's own variables serve many programs; a program gets fresh ones
  auto add = [&](const Var& var, const Expr& extent, IterKind kind) {
    dimensions.push_back({Var(var.name()), Var("v" + var.name()), extent, kind});
    to_iter[var.node()] = dimensions.back().iter;
  };
  for (std::size_t d = 0; d < compute.indices.size(); ++d) {
    add(compute.indices[d], compute.shape[d], IterKind::Spatial);
  }
  std::vector<Expr> position;
  for (const Dimension& d : dimensions) position.push_back(d.iter);
  const ReductionSpec* reduction = compute.reduction.empty() ? nullptr : &compute.reduction[0];
  if (reduction) {
    for (const Axis& axis : reduction->axes) add(axis, axis.extent(), IterKind::Reduce);
  }

  auto block = std::make_unique<Block>();
  block->label = std::move(label);
  block->predicate = true_expr();
  for (const Dimension& d : dimensions) {
    block->iters.push_back({d.iter, d.extent, d.kind});
    block->bindings.push_back(d.loop);
  }
  std::vector<Expr> values;
  for (const Expr& v : compute.values) values.push_back(substitute(v, to_iter));
  if (reduction) {
    std::vector<Expr> begin =
        reduction->options.initial.empty() ? reduction->reducer->identity : reduction->options.initial;
    for (Expr& e : begin) e = substitute(e, to_iter);
    block->reducer = reduction->reducer;
    block->init = make_reduction_init(outputs, position, begin);
    block->body = make_reduction_update(reduction->reducer, outputs, position, values);
  } else {
    block->body = make_reduction_init(outputs, position, values);
  }
  arith::refresh_regions(*block);
  block->writes.clear();  // one point an execution, also where an extent of 1 would make it a constant
  for (const Buffer& b : outputs) {
    std::vector<Range> point;
    for (const Expr& e : position) point.push_back({e, 1});
    block->writes.push_back({b, std::move(point)});
  }

  Stmt nest(block.release());
  for (auto d = dimensions.rbegin(); d != dimensions.rend(); ++d) {
    nest = make_stmt<For>(d->loop, d->extent, ForKind::Serial, std::move(nest));
  }
  return nest;
}

}  // namespace lathe
