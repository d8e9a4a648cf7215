#include "schedule/split_pad.h"

#include <algorithm>

#include "arith/block_access.h"
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

/// Is all that the block would read beyond its old domain there, and written before it? Then the surplus is computed like the
/// rest, without a condition that would hide what the block is.
bool reads_are_defined(const Edit& edit, const Block& block, const Stmt& self, int at, const Expr& extent) {
  auto child_of_root = [&](const Stmt& s) {
    const Path path = path_to(edit.body(), s.get());
    return path[path.size() > 1 && path[0].as<Seq>() ? 1 : 0].get();
  };
  auto written_whole = [&](const Buffer& buffer) {
    const std::vector<Stmt> writers = writers_of(edit.body(), buffer);
    if (writers.size() != 1 || child_of_root(writers[0]) == child_of_root(self)) return false;
    const Block& writer = *writers[0].as<Block>();
    const Store* store = writer.body.as<Store>();
    bool whole = store && is_true(writer.predicate) && !writer.is_reduction();
    for (std::size_t d = 0; whole && d < store->indices.size(); ++d) {
      whole = std::ranges::any_of(writer.iters, [&](const IterVar& i) {
        return i.var.get() == store->indices[d].get() && structural_equal(i.extent, buffer->shape[d]);
      });
    }
    return whole;
  };
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  for (std::size_t i = 0; i < block.iters.size(); ++i)
    analyzer.bind_extent(block.iters[i].var, static_cast<int>(i) == at ? extent : block.iters[i].extent);
  bool defined = true;
  walk(block.body, {}, [&](const Expr& e) {
    const Load* load = e.as<Load>();
    if (!load || !mentions(e, block.iters[at].var)) return defined;
    defined = defined && written_whole(load->buffer);
    for (std::size_t d = 0; defined && d < load->indices.size(); ++d)
      defined = analyzer.can_prove_ge(load->indices[d], 0) &&
                analyzer.can_prove_ge(arith::sub(load->buffer->shape[d], load->indices[d]), 1);
    return defined;
  });
  return defined;
}

/// The dimensions of the buffer that the block stores along with the variable. (A region would leave out one of extent 1.)
std::vector<bool> stored_along(const Block& block, const Buffer& buffer, const Var& var) {
  std::vector<bool> out(buffer->shape.size());
  walk(block.body, [&](const Stmt& s) {
    const Store* store = s.as<Store>();
    for (std::size_t d = 0; store && store->buffer.same_as(buffer) && d < out.size(); ++d)
      out[d] = out[d] || store->indices[d].get() == var.get();
    return true;
  });
  return out;
}

/// Does each store have the variable for a subscript, and in no other way? Else the buffer is laid out otherwise, and the
/// surplus has no place. (A subscript of one value may have been simplified away.)
bool stores_at(const Block& block, const Var& var) {
  bool all = true;
  walk(block.body, [&](const Stmt& s) {
    const Store* store = s.as<Store>();
    if (!store) return true;
    bool alone = false, part = false;
    for (const Expr& e : store->indices) {
      alone = alone || e.get() == var.get();
      part = part || (e.get() != var.get() && mentions(e, var));
    }
    all = all && alone && !part;
    return true;
  });
  return all;
}

/// The block with domain `extent` for variable `at`; values stored beyond the old domain are 0 unless they are `defined`.
std::unique_ptr<Block> widen(const Block& block, int at, const Expr& extent, bool defined) {
  auto out = copy(block);
  const IterVar old = block.iters[at];
  out->iters[at].extent = extent;
  if (defined) return out;
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
  if (!blocks_below(block.body).empty()) {
    edit.refuse(code::S012,
                "block \"" + block.name() + "\" is a nest of blocks, whose inner ones cannot be padded",
                {{self.get(), "here"}}, "pad before blockize, or use Tail::Guard or Tail::Peel");
  }
  if (!stores_at(block, block.iters[at].var)) {
    edit.refuse(
        code::S012,
        "block \"" + block.name() + "\" does not store at \"" + block.iters[at].var.name() + "\" itself",
        {{self.get(), "here"}}, "pad before transform_layout, or use Tail::Guard or Tail::Peel");
  }

  auto wide = widen(block, at, covered, reads_are_defined(edit, block, self, at, covered));
  arith::refresh_regions(*wide);  // a variable of a single value is a constant in them, and has more now
  BufferMap renamed;
  for (const BufferRegion& w : block.writes) {
    auto grown = new BufferNode;
    grown->name = w.buffer->name;
    grown->dtype = w.buffer->dtype;
    grown->shape = w.buffer->shape;
    grown->scope = w.buffer->scope;
    grown->alignment = w.buffer->alignment;
    Buffer fresh(grown);
    const std::vector<bool> along = stored_along(block, w.buffer, block.iters[at].var);
    for (std::size_t d = 0; d < along.size(); ++d) {
      if (along[d]) grown->shape[d] = covered;
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
