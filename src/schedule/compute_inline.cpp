// compute_inline, reverse_compute_inline: a block disappears into its consumers or its producer.

#include <algorithm>

#include "ir/expr_limits.h"
#include "schedule/edit.h"
#include "schedule/legality.h"
#include "schedule/placement.h"

namespace lathe::schedule {
namespace {

/// buffer[v0, v1, …] = value, with distinct variables: an element as a function of its subscripts.
struct Definition {
  const Store* store = nullptr;
  std::vector<Var> subscripts;  ///< undefined where the subscript is a constant (extent 1)
};

std::optional<Definition> definition(const Block& block) {
  Definition out;
  out.store = block.body.as<Store>();
  if (!out.store || out.store->mask.defined()) return std::nullopt;
  std::vector<const ExprNode*> seen;
  for (const Expr& i : out.store->indices) {
    if (is_int(i, 0)) {
      out.subscripts.push_back(Var());
      continue;
    }
    const VarNode* v = i.as<VarNode>();
    if (!v || std::find(seen.begin(), seen.end(), i.get()) != seen.end()) return std::nullopt;
    seen.push_back(i.get());
    out.subscripts.push_back(Var(v));
  }
  return out;
}

/// Replaces loads of one buffer by a value computed from their subscripts.
class LoadReplacement : public Mutator {
 public:
  LoadReplacement(const Buffer& buffer, std::function<Expr(const std::vector<Expr>&)> value)
      : buffer_(buffer), value_(std::move(value)) {}

 protected:
  using Mutator::mutate_node;
  Expr mutate_node(const Load& n, const Expr& self) override {
    Expr done = Mutator::mutate_node(n, self);
    const Load* load = done.as<Load>();
    return load->buffer.same_as(buffer_) ? value_(load->indices) : done;
  }

 private:
  const Buffer& buffer_;
  std::function<Expr(const std::vector<Expr>&)> value_;
};

/// The init of a decomposed reduction is complete, but not all that makes its buffer.
void need_whole(const Edit& edit, const Stmt& self) {
  const Block& block = *self.as<Block>();
  if (!block.partner.defined()) return;
  edit.refuse(code::S041, "block \"" + block.name() + "\" is a part of a decomposed reduction",
              {{self.get(), "here"}}, "inline before decompose_reduction or cache_write at a loop");
}

/// Many blocks inlined into one another make an expression that cannot be walked any more.
void need_shallow(const Edit& edit, const Block& fresh, const Stmt& self) {
  walk(fresh.body, {}, [&](const Expr& e) {
    if (const ExprExcess much = excess(e)) {
      edit.refuse(code::S076, "the expression of block \"" + fresh.name() + "\" would be " + much.what,
                  {{self.get(), "here"}},
                  "place it with " + std::string(edit.step().op == "compute_inline" ? "" : "reverse_") +
                      "compute_at");
    }
    return false;
  });
}

}  // namespace

void run_compute_inline(Edit& edit) {
  const Path from = edit.block(0);
  const Stmt self = from.back();
  const Block& block = *self.as<Block>();
  if (std::string why = why_not_complete(block, edit.body()); !why.empty()) {
    edit.refuse(
        code::S050, "block \"" + block.name() + "\" is not complete: " + why, {{self.get(), "here"}},
        block.is_reduction() ? "a reduction cannot be repeated at each use; place it with compute_at" : "");
  }
  need_whole(edit, self);
  const std::optional<Definition> def = definition(block);
  if (!def) {
    edit.refuse(
        code::S051,
        "block \"" + block.name() + "\" is not a single store whose subscripts are distinct variables",
        {{self.get(), "here"}}, "place it with compute_at");
  }
  const Buffer buffer = def->store->buffer;
  if (is_param(edit.program(), buffer)) {
    edit.refuse(code::S043,
                "\"" + buffer->name + "\" is a parameter of the program, all of which must be computed",
                {{self.get(), "writes it"}});
  }
  const std::vector<Stmt> consumers = readers_of(edit.body(), buffer);
  if (consumers.empty())
    edit.refuse(code::S044, "block \"" + block.name() + "\" has no consumers", {{self.get(), "here"}});
  for (const BufferRegion& r : block.reads) {
    // The value moves to the consumers: what it is made of must still be there.
    const std::vector<Stmt> writers = writers_of(edit.body(), r.buffer);
    bool after = false;
    for_each_block(edit.body(), [&](const Block&, const Stmt& s) {
      if (after && std::any_of(writers.begin(), writers.end(), [&](const Stmt& w) { return w.same_as(s); })) {
        edit.refuse(code::S042,
                    "block \"" + s.as<Block>()->name() + "\" writes \"" + r.buffer->name + "\", which \"" +
                        block.name() + "\" reads, after it",
                    {{self.get(), "here"}, {s.get(), "writes it later"}});
      }
      after |= s.same_as(self);
      return true;
    });
  }

  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  const Expr value = def->store->value;
  LoadReplacement inlining(buffer, [&](const std::vector<Expr>& indices) {
    VarMap map;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (def->subscripts[d].defined()) map.emplace(def->subscripts[d].node(), indices[d]);
    }
    // A variable that no subscript shows has extent 1.
    for (const IterVar& i : block.iters) map.emplace(i.var.node(), make_index(0));
    return substitute(value, map);
  });
  Stmt body = take_out(edit, from);
  for (const Stmt& c : naming(body, buffer)) {
    const Path place = path_to_block(body, c.as<Block>()->label.get());
    auto fresh = copy(*place.back().as<Block>());
    if (fresh->init.defined()) fresh->init = inlining.mutate(fresh->init);
    fresh->body = inlining.mutate(fresh->body);
    need_shallow(edit, *fresh, self);
    body = replace(place, with_fresh_regions(std::move(fresh)));
  }
  edit.consume(block.label);
  edit.remove_temp(buffer);
  edit.set_body(body);
}

void run_reverse_compute_inline(Edit& edit) {
  const Path from = edit.block(0);
  const Stmt self = from.back();
  const Block& block = *self.as<Block>();
  if (std::string why = why_not_complete(block, edit.body()); !why.empty()) {
    edit.refuse(code::S050, "block \"" + block.name() + "\" is not complete: " + why, {{self.get(), "here"}});
  }
  need_whole(edit, self);
  const std::optional<Definition> def = definition(block);
  if (!def)
    edit.refuse(
        code::S051,
        "block \"" + block.name() + "\" is not a single store whose subscripts are distinct variables",
        {{self.get(), "here"}});
  // The one producer that only this block reads.
  Stmt producer;
  Buffer buffer;
  for (const BufferRegion& r : block.reads) {
    if (is_param(edit.program(), r.buffer)) continue;
    const std::vector<Stmt> writers = writers_of(edit.body(), r.buffer);
    if (writers.size() != 1 || naming(edit.body(), r.buffer).size() != 2) continue;
    if (writers[0].as<Block>()->partner.defined() ||
        !why_not_complete(*writers[0].as<Block>(), edit.body()).empty() ||
        !definition(*writers[0].as<Block>()))
      continue;
    if (producer.defined()) continue;
    producer = writers[0];
    buffer = r.buffer;
  }
  if (!producer.defined()) {
    edit.refuse(code::S052,
                "no complete block with a single store makes an intermediate that \"" + block.name() +
                    "\" alone reads",
                {{self.get(), "here"}}, "place it under its producer with reverse_compute_at");
  }
  // Every load of the buffer has the same subscripts: distinct variables of the block that cover all its loops.
  std::vector<Expr> subscripts;
  bool elementwise = true;
  walk(block.body, {}, [&](const Expr& e) {
    const Load* load = e.as<Load>();
    if (!load || !load->buffer.same_as(buffer)) return true;
    if (subscripts.empty()) subscripts = load->indices;
    for (std::size_t d = 0; d < subscripts.size(); ++d)
      elementwise &= structural_equal(subscripts[d], load->indices[d]);
    return true;
  });
  VarMap map;  // the block's variables as functions of the producer's
  const Definition produced = *definition(*producer.as<Block>());
  for (std::size_t d = 0; d < subscripts.size() && elementwise; ++d) {
    const VarNode* v = subscripts[d].as<VarNode>();
    elementwise = v ? map.emplace(v, produced.store->indices[d]).second
                    : is_int(subscripts[d], 0) && is_int(produced.store->indices[d], 0);
  }
  for (const IterVar& i : block.iters) {
    // All of the buffer and no more: the producer runs for each element once.
    for (std::size_t d = 0; d < subscripts.size() && elementwise; ++d) {
      if (subscripts[d].get() == i.var.get()) elementwise = structural_equal(i.extent, buffer->shape[d]);
    }
    if (map.count(i.var.node())) continue;
    elementwise &= is_int(i.extent, 1);
    map.emplace(i.var.node(), make_index(0));
  }
  if (!elementwise) {
    edit.refuse(code::S053,
                "block \"" + block.name() + "\" does not read \"" + buffer->name + "\" element by element",
                {{self.get(), "here"}}, "place it under its producer with reverse_compute_at");
  }
  for (const BufferRegion& r : block.reads) {
    // What else the block reads must exist when the producer runs.
    if (r.buffer.same_as(buffer)) continue;
    bool before = true;
    for_each_block(edit.body(), [&](const Block& b, const Stmt& s) {
      if (s.same_as(producer)) before = false;
      if (!before && writes(b, r.buffer)) {
        edit.refuse(code::S042,
                    "\"" + r.buffer->name + "\" is not yet written when \"" + producer.as<Block>()->name() +
                        "\" runs",
                    {{s.get(), "writes it"}, {producer.get(), "runs before"}});
      }
      return true;
    });
  }

  LoadReplacement inlining(buffer, [&](const std::vector<Expr>&) { return produced.store->value; });
  const Stmt epilogue = substitute(make_stmt<Store>(def->store->buffer, inlining.mutate(def->store->value),
                                                    def->store->indices, Expr(), def->store->streaming),
                                   map);
  Stmt body = take_out(edit, from);
  const Path place = path_to_block(body, producer.as<Block>()->label.get());
  auto fresh = copy(*place.back().as<Block>());
  fresh->body = epilogue;
  need_shallow(edit, *fresh, self);
  edit.consume(block.label);
  edit.remove_temp(buffer);
  edit.set_body(replace(place, with_fresh_regions(std::move(fresh))));
}

}  // namespace lathe::schedule
