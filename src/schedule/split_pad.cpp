#include "schedule/split_pad.h"

#include "schedule/legality.h"

namespace lathe::schedule {
namespace {

/// Which iteration variable of the block the loop is bound to, by itself.
int bound_variable(const Block& block, const Var& loop) {
  for (std::size_t i = 0; i < block.bindings.size(); ++i) {
    if (block.bindings[i].get() == loop.get()) return static_cast<int>(i);
  }
  return -1;
}

/// The block with domain `extent` for variable `at`; values stored beyond the old domain are 0.
std::unique_ptr<Block> widen(const Block& block, int at, const Expr& extent) {
  auto out = copy(block);
  const IterVar old = block.iters[at];
  out->iters[at].extent = extent;
  const Expr inside = old.var < old.extent;
  auto guard_store = [&](const Stmt& s) -> Stmt {
    const Store* store = s.as<Store>();
    if (!store) return {};
    return make_stmt<Store>(store->buffer, select(inside, store->value, make_const(store->value.dtype(), 0)),
                            store->indices, store->mask, store->streaming);
  };
  out->body = rewrite(block.body, guard_store);
  if (block.init.defined()) out->init = rewrite(block.init, guard_store);
  return out;
}

}  // namespace

void split_padded(Edit& edit, const Path& path, const std::vector<Expr>& extents, const Expr& covered) {
  const For& loop = *path.back().as<For>();
  const std::vector<Stmt> below = blocks_below(loop.body);
  if (below.size() != 1)
    edit.refuse(code::S012, "Tail::Pad needs a single block below the loop", {{path.back().get(), "here"}},
                "use Tail::Guard or Tail::Peel");
  const Stmt self = below[0];
  const Block& block = *self.as<Block>();
  const int at = bound_variable(block, loop.var);
  if (at < 0 || block.iters[at].kind == IterKind::Reduce || !is_true(block.predicate)) {
    edit.refuse(code::S012,
                "Tail::Pad needs a loop that is bound, unsplit, to a spatial variable of the block",
                {{self.get(), "here"}},
                block.is_reduction() ? "on a reduce loop use pad_einsum" : "use Tail::Guard or Tail::Peel");
  }
  if (block.is_reduction()) {
    // The update reads its own output, which select would cut off from the accumulation: only the operands may be padded.
    edit.refuse(code::S012, "Tail::Pad pads complete blocks", {{self.get(), "here"}},
                "use pad_einsum, Tail::Guard or Tail::Peel");
  }
  for (const BufferRegion& w : block.writes) {
    if (is_param(edit.program(), w.buffer)) {
      edit.refuse(code::S013, "\"" + w.buffer->name + "\" is a parameter and cannot be enlarged",
                  {{self.get(), "here"}}, "put a cache_write between, or use Tail::Guard or Tail::Peel");
    }
  }

  Stmt body = edit.body();
  auto wide = widen(block, at, covered);
  BufferMap renamed;
  for (const BufferRegion& w : block.writes) {
    auto grown = new BufferNode;
    grown->name = w.buffer->name;
    grown->dtype = w.buffer->dtype;
    grown->shape = w.buffer->shape;
    grown->scope = w.buffer->scope;
    grown->alignment = w.buffer->alignment;
    Buffer fresh(grown);
    for (std::size_t d = 0; d < w.ranges.size(); ++d) {
      if (w.ranges[d].min.get() == block.iters[at].var.get()) grown->shape[d] = covered;
    }
    renamed.emplace(w.buffer.get(), fresh);
    edit.replace_temp(w.buffer, fresh);
  }

  std::vector<Var> vars;
  Expr index = 0;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    vars.push_back(Var(loop.var.name() + "_" + std::to_string(i)));
    index = arith::add(arith::mul(index, extents[i]), vars[i]);
  }
  wide->bindings[at] = index;
  Stmt nest = replace(path_to(loop.body, self.get()), Stmt(wide.release()));
  for (std::size_t i = vars.size(); i-- > 0;) {
    nest = make_stmt<For>(vars[i], extents[i], ForKind::Serial, nest, ThreadAxis::None,
                          i == 0 ? loop.annotations : Annotations());
  }
  edit.set_body(replace_buffers(replace(path, nest), renamed));
  edit.consume(loop.var);
  for (const Var& v : vars) edit.output(v);
}

}  // namespace lathe::schedule
