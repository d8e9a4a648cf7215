// Blocks that a declared function computes become a call of it: the address and strides of each operand's tile.
//
// It runs behind `shrink`, because a call hides what it accesses.

#include "arith/analyzer.h"
#include "ir/visitor.h"
#include "lathe/tensor_intrinsic.h"
#include "lower/passes.h"
#include "schedule/blockize.h"

namespace lathe::lower {
namespace {

const std::string* note(const Block& block, const char* key) {
  const auto found = block.annotations.find(key);
  return found == block.annotations.end() ? nullptr : std::get_if<std::string>(&found->second);
}

/// Elements from one position of dimension `d` to the next.
Expr stride(const Buffer& buffer, std::size_t d) {
  if (!buffer->strides.empty()) return buffer->strides[d];
  Expr out = 1;
  for (std::size_t i = d + 1; i < buffer->shape.size(); ++i) out = arith::mul(out, buffer->shape[i]);
  return out;
}

class Calls : public Mutator {
 protected:
  using Mutator::mutate_node;
  Stmt mutate_node(const Block& n, const Stmt& self) override {
    const std::string *name = note(n, schedule::kIntrinsicNote), *operands = note(n, schedule::kOperandsNote);
    if (!name || !operands) return Mutator::mutate_node(n, self);
    const TensorIntrinsic* intrinsic = find_tensor_intrinsic(*name);
    internal_check(intrinsic != nullptr, "verify has found the intrinsic");
    std::vector<Expr> args;
    std::size_t at = 0;
    for (const Param& p : intrinsic->description->params) {
      // "r0,r1,w0": regions of the block
      const bool written = operands->at(at) == 'w';
      std::size_t digits = 0;
      const std::size_t which = std::stoul(operands->substr(at + 1), &digits);
      at += digits + 2;
      const BufferRegion& region = (written ? n.writes : n.reads).at(which);
      std::vector<Expr> first;
      for (const Range& r : region.ranges) first.push_back(r.min);
      args.push_back(Expr(new Load(region.buffer, first)));
      const std::size_t rank = static_cast<std::size_t>(p.buffer->rank());
      for (std::size_t d = first.size() - rank; d < first.size(); ++d) {
        const Expr elements = arith::simplify(stride(region.buffer, d));
        const auto constant = as_int(elements);
        args.push_back(constant ? make_int(i64, *constant) : cast(i64, elements));
      }
    }
    auto out = copy(n);
    out->body =
        make_stmt<Evaluate>(Expr(new Call(boolean, Intrinsic::Extern, std::move(args), intrinsic->symbol)));
    return Stmt(out.release());
  }
};

}  // namespace

Program call_intrinsics(const Program& program, const Target&, const Options&) {
  return program.with_body(Calls().mutate(program->body));
}

}  // namespace lathe::lower
