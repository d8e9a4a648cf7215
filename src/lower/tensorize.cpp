// Blocks that a declared function computes become a call of it: the address and strides of each operand's tile.
//
// It runs behind `shrink`, because a call hides what it accesses.

#include <charconv>

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
    const char* at = operands->data();
    auto number = [&] {
      std::size_t value = 0;
      at = std::from_chars(at, operands->data() + operands->size(), value).ptr;
      return value;
    };
    for (const Param& p : intrinsic->description->params) {
      // "r0:1,r1:0:1,w0:1": regions of the block, and their dimensions for those of the parameter
      const bool written = *at++ == 'w';
      const BufferRegion& region = (written ? n.writes : n.reads).at(number());
      std::vector<Expr> first;
      for (const Range& r : region.ranges) first.push_back(r.min);
      args.push_back(Expr(new Load(region.buffer, first)));
      for (int k = 0; k < p.buffer->rank(); ++k) {
        ++at;  // ':'
        const Expr elements = arith::simplify(stride(region.buffer, number()));
        const auto constant = as_int(elements);
        args.push_back(constant ? make_int(i64, *constant) : cast(i64, elements));
      }
      ++at;  // ','
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
