// transform_layout: an intermediate, or a copy of a constant parameter, is stored in another order.

#include <algorithm>

#include "arith/iter_map.h"
#include "schedule/edit.h"
#include "schedule/legality.h"
#include "schedule/placement.h"
#include "schedule/prepare.h"

namespace lathe::schedule {
namespace {

class LayoutRewriter : public Mutator {
 public:
  LayoutRewriter(const Buffer& from, const Buffer& to, const IndexMap& map, arith::Analyzer& analyzer)
      : from_(from), to_(to), map_(map), analyzer_(analyzer) {}

 protected:
  using Mutator::mutate_node;
  Expr mutate_node(const Load& n, const Expr& self) override {
    Expr done = Mutator::mutate_node(n, self);
    const Load* load = done.as<Load>();
    return load->buffer.same_as(from_) ? Expr(new Load(to_, mapped(load->indices), load->mask)) : done;
  }
  Stmt mutate_node(const Store& n, const Stmt& self) override {
    Stmt done = Mutator::mutate_node(n, self);
    const Store* store = done.as<Store>();
    if (!store->buffer.same_as(from_)) return done;
    return make_stmt<Store>(to_, store->value, mapped(store->indices), store->mask, store->streaming);
  }

 private:
  std::vector<Expr> mapped(const std::vector<Expr>& indices) const {
    VarMap values;
    for (std::size_t d = 0; d < indices.size(); ++d) values.emplace(map_.from[d].node(), indices[d]);
    std::vector<Expr> out;
    for (const Expr& e : map_.to) out.push_back(analyzer_.simplify(substitute(e, values)));
    return out;
  }
  const Buffer& from_;
  const Buffer& to_;
  const IndexMap& map_;
  arith::Analyzer& analyzer_;
};

/// A copy of a constant parameter, made ahead of the calls, that all its readers read instead.
struct Staged {
  Stmt body;
  Buffer copy;
  Label label;
};

Staged stage_constant(const Edit& edit, const Buffer& constant) {
  Staged out;
  out.copy = like(constant, unique_buffer_name(edit.program(), constant->name + "_prepared"), Scope::Global);
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  BufferRegion whole;
  whole.buffer = constant;
  for (const Expr& extent : constant->shape) whole.ranges.push_back({Expr(0), extent});
  CopyNest made =
      copy_nest(unique_block_name(edit.program(), out.copy->name), constant, out.copy, whole, analyzer);
  out.label = made.label;
  std::vector<Stmt> stmts{marked_prepared(made.nest, made.label)};
  const Stmt rest = replace_buffers(edit.body(), {{constant.get(), out.copy}});
  if (const Seq* seq = rest.as<Seq>())
    stmts.insert(stmts.end(), seq->stmts.begin(), seq->stmts.end());
  else
    stmts.push_back(rest);
  out.body = make_seq(std::move(stmts));
  return out;
}

bool is_constant(const Program& program, const Buffer& buffer) {
  return std::any_of(program->params.begin(), program->params.end(), [&](const Param& p) {
    return p.role == ParamRole::Constant && p.buffer.same_as(buffer);
  });
}

}  // namespace

void run_transform_layout(Edit& edit) {
  const Path from = edit.block(0);
  const Stmt self = from.back();
  const Block& block = *self.as<Block>();
  const std::int64_t which = edit.integer(1);
  const IndexMap* given = edit.arg(2).get<IndexMap>();
  if (!given) edit.refuse(code::S003, "argument 3 is not an index map");
  IndexMap decided = *given;
  for (Expr& e : decided.to) e = edit.decided(e);
  const IndexMap* map = &decided;
  const std::vector<BufferRegion>& list = which < 0 ? block.writes : block.reads;
  const std::size_t at = which < 0 ? 0 : static_cast<std::size_t>(which);
  if (at >= list.size())
    edit.refuse(code::S008, "block \"" + block.name() + "\" has no such buffer", {{self.get(), "here"}},
                reads_to_choose_from(block) + "; -1: what it writes");
  Buffer buffer = list[at].buffer;
  const bool constant = is_constant(edit.program(), buffer);
  if (is_param(edit.program(), buffer) && !constant) {
    edit.refuse(code::S043,
                "\"" + buffer->name + "\" is a parameter of the program, whose layout its callers know",
                {{self.get(), "here"}}, "cache_read it (or cache_write) and lay out the copy");
  }
  if (map->from.size() != static_cast<std::size_t>(buffer->rank())) {
    edit.refuse(code::S063, "the map takes " + std::to_string(map->from.size()) + " indices, \"" +
                                buffer->name + "\" has " + std::to_string(buffer->rank()));
  }
  // Different elements must stay different: the map is injective on the buffer.
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  std::vector<arith::Domain> domain;
  for (std::size_t d = 0; d < map->from.size(); ++d) {
    domain.push_back({map->from[d], buffer->shape[d]});
    analyzer.bind_extent(map->from[d], buffer->shape[d]);
  }
  std::vector<Expr> shape, targets;
  for (const Expr& e : map->to) {
    targets.push_back(analyzer.simplify(e));
    const arith::ConstBound bound = analyzer.bound(targets.back());
    if (!bound.bounded() || bound.min < 0) {
      edit.refuse(code::S063, "the new index " + to_string(e) + " has no constant bounds from 0 up",
                  {{self.get(), "here"}}, "use floordiv and floormod by constants");
    }
    shape.push_back(make_index(bound.max + 1));
  }
  const std::optional<arith::IterMap> found =
      arith::detect_iter_map(targets, shape, domain, true_expr(), analyzer);
  if (!found || !found->injective) {
    edit.refuse(code::S063, "different elements of \"" + buffer->name + "\" may get the same place",
                {{self.get(), "here"}},
                "use every index, split by floordiv and floormod of the same constant");
  }
  Stmt body = edit.body();
  Staged staged;
  if (constant) {
    staged = stage_constant(edit, buffer);
    buffer = staged.copy;
    body = staged.body;
  }
  Buffer fresh(buffer->name, buffer->dtype, shape, buffer->scope);
  for (const Stmt& user : naming(body, buffer)) {
    const Path place = path_to_block(body, user.as<Block>()->label.get());
    auto b = copy(*place.back().as<Block>());
    arith::Analyzer inside;
    bind_sizes(inside, edit.program());
    for (const IterVar& i : b->iters) inside.bind_extent(i.var, i.extent);
    LayoutRewriter rewriter(buffer, fresh, *map, inside);
    if (b->init.defined()) b->init = rewriter.mutate(b->init);
    b->body = rewriter.mutate(b->body);
    body = replace(place, with_fresh_regions(std::move(b)));
  }
  edit.set_body(body);
  if (!constant) return edit.replace_temp(buffer, fresh);
  edit.add_temp(fresh);
  edit.output(staged.label);
}

}  // namespace lathe::schedule
