#include "ir/visitor.h"

namespace lathe {

// ---- Visitor
// -----------------------------------------------------------------------------------------------------

void Visitor::visit(const Expr& e) {
  switch (e.kind()) {
#define X(name) \
  case name::Kind: return visit_node(*static_cast<const name*>(e.get()), e);
    LATHE_EXPR_NODES(X)
#undef X
  }
}

void Visitor::visit(const Stmt& s) {
  switch (s.kind()) {
#define X(name) \
  case name::Kind: return visit_node(*static_cast<const name*>(s.get()), s);
    LATHE_STMT_KINDS(X)
#undef X
  }
}

void Visitor::visit_node(const IntImm&, const Expr&) {}
void Visitor::visit_node(const FloatImm&, const Expr&) {}
void Visitor::visit_node(const VarNode&, const Expr&) {}
void Visitor::visit_node(const Binary& n, const Expr&) {
  visit(n.a);
  visit(n.b);
}
void Visitor::visit_node(const Not& n, const Expr&) { visit(n.a); }
void Visitor::visit_node(const Cast& n, const Expr&) { visit(n.a); }
void Visitor::visit_node(const Select& n, const Expr&) {
  visit(n.condition);
  visit(n.if_true);
  visit(n.if_false);
}
void Visitor::visit_node(const Load& n, const Expr&) {
  for (const Expr& i : n.indices) visit(i);
  if (n.mask.defined()) visit(n.mask);
}
void Visitor::visit_node(const Call& n, const Expr&) {
  for (const Expr& a : n.args) visit(a);
}
void Visitor::visit_node(const Ramp& n, const Expr&) {
  visit(n.base);
  visit(n.stride);
}
void Visitor::visit_node(const Broadcast& n, const Expr&) { visit(n.value); }

void Visitor::visit(const BufferRegion& region) {
  for (const Range& r : region.ranges) {
    visit(r.min);
    visit(r.extent);
  }
}

void Visitor::visit_node(const For& n, const Stmt&) {
  visit(n.extent);
  visit(n.body);
}
void Visitor::visit_node(const Block& n, const Stmt&) {
  for (const IterVar& i : n.iters) visit(i.extent);
  for (const Expr& b : n.bindings) visit(b);
  visit(n.predicate);
  for (const BufferRegion& r : n.reads) visit(r);
  for (const BufferRegion& r : n.writes) visit(r);
  if (n.init.defined()) visit(n.init);
  visit(n.body);
}
void Visitor::visit_node(const Store& n, const Stmt&) {
  visit(n.value);
  for (const Expr& i : n.indices) visit(i);
  if (n.mask.defined()) visit(n.mask);
}
void Visitor::visit_node(const Seq& n, const Stmt&) {
  for (const Stmt& s : n.stmts) visit(s);
}
void Visitor::visit_node(const If& n, const Stmt&) {
  visit(n.condition);
  visit(n.then_case);
  if (n.else_case.defined()) visit(n.else_case);
}
void Visitor::visit_node(const Let& n, const Stmt&) {
  visit(n.value);
  visit(n.body);
}
void Visitor::visit_node(const Allocate& n, const Stmt&) {
  for (const Expr& e : n.buffer->shape) visit(e);
  visit(n.body);
}
void Visitor::visit_node(const Evaluate& n, const Stmt&) { visit(n.value); }

// ---- Mutator
// -----------------------------------------------------------------------------------------------------

Expr Mutator::mutate(const Expr& e) {
  switch (e.kind()) {
#define X(name) \
  case name::Kind: return mutate_node(*static_cast<const name*>(e.get()), e);
    LATHE_EXPR_NODES(X)
#undef X
  }
  return e;
}

Stmt Mutator::mutate(const Stmt& s) {
  switch (s.kind()) {
#define X(name) \
  case name::Kind: return mutate_node(*static_cast<const name*>(s.get()), s);
    LATHE_STMT_KINDS(X)
#undef X
  }
  return s;
}

std::vector<Expr> Mutator::mutate_all(const std::vector<Expr>& exprs, bool& changed) {
  std::vector<Expr> out;
  out.reserve(exprs.size());
  for (const Expr& e : exprs) {
    out.push_back(mutate(e));
    changed |= !out.back().same_as(e);
  }
  return out;
}

Expr Mutator::mutate_node(const IntImm&, const Expr& self) { return self; }
Expr Mutator::mutate_node(const FloatImm&, const Expr& self) { return self; }
Expr Mutator::mutate_node(const VarNode&, const Expr& self) { return self; }
Expr Mutator::mutate_node(const Binary& n, const Expr& self) {
  Expr a = mutate(n.a), b = mutate(n.b);
  if (a.same_as(n.a) && b.same_as(n.b)) return self;
  return Expr(new Binary(n.op, std::move(a), std::move(b)));
}
Expr Mutator::mutate_node(const Not& n, const Expr& self) {
  Expr a = mutate(n.a);
  return a.same_as(n.a) ? self : Expr(new Not(std::move(a)));
}
Expr Mutator::mutate_node(const Cast& n, const Expr& self) {
  Expr a = mutate(n.a);
  return a.same_as(n.a) ? self : cast(n.dtype, std::move(a));
}
Expr Mutator::mutate_node(const Select& n, const Expr& self) {
  Expr c = mutate(n.condition), t = mutate(n.if_true), f = mutate(n.if_false);
  if (c.same_as(n.condition) && t.same_as(n.if_true) && f.same_as(n.if_false)) return self;
  return Expr(new Select(std::move(c), std::move(t), std::move(f)));
}
Expr Mutator::mutate_node(const Load& n, const Expr& self) {
  bool changed = false;
  std::vector<Expr> indices = mutate_all(n.indices, changed);
  Expr mask = n.mask.defined() ? mutate(n.mask) : Expr();
  Buffer buffer = mutate_buffer(n.buffer);
  if (!changed && mask.same_as(n.mask) && buffer.same_as(n.buffer)) return self;
  return Expr(new Load(std::move(buffer), std::move(indices), std::move(mask)));
}
Expr Mutator::mutate_node(const Call& n, const Expr& self) {
  bool changed = false;
  std::vector<Expr> args = mutate_all(n.args, changed);
  return changed ? Expr(new Call(n.dtype, n.op, std::move(args), n.symbol)) : self;
}
Expr Mutator::mutate_node(const Ramp& n, const Expr& self) {
  Expr base = mutate(n.base), stride = mutate(n.stride);
  if (base.same_as(n.base) && stride.same_as(n.stride)) return self;
  return ramp(std::move(base), std::move(stride), n.lanes());
}
Expr Mutator::mutate_node(const Broadcast& n, const Expr& self) {
  Expr value = mutate(n.value);
  return value.same_as(n.value) ? self : broadcast(std::move(value), n.lanes());
}

BufferRegion Mutator::mutate_region(const BufferRegion& region, bool& changed) {
  BufferRegion out{mutate_buffer(region.buffer), {}};
  changed |= !out.buffer.same_as(region.buffer);
  out.ranges.reserve(region.ranges.size());
  for (const Range& r : region.ranges) {
    out.ranges.push_back({mutate(r.min), mutate(r.extent)});
    changed |= !out.ranges.back().min.same_as(r.min) || !out.ranges.back().extent.same_as(r.extent);
  }
  return out;
}

std::vector<BufferRegion> Mutator::mutate_regions(const std::vector<BufferRegion>& regions, bool& changed) {
  std::vector<BufferRegion> out;
  out.reserve(regions.size());
  for (const BufferRegion& r : regions) out.push_back(mutate_region(r, changed));
  return out;
}

Stmt Mutator::mutate_node(const For& n, const Stmt& self) {
  Expr extent = mutate(n.extent);
  Stmt body = mutate(n.body);
  if (extent.same_as(n.extent) && body.same_as(n.body)) return self;
  return make_stmt<For>(n.var, std::move(extent), n.for_kind, std::move(body), n.axis, n.annotations);
}
Stmt Mutator::mutate_node(const Block& n, const Stmt& self) {
  bool changed = false;
  std::vector<IterVar> iters = n.iters;
  for (IterVar& i : iters) {
    Expr extent = mutate(i.extent);
    changed |= !extent.same_as(i.extent);
    i.extent = std::move(extent);
  }
  std::vector<Expr> bindings = mutate_all(n.bindings, changed);
  Expr predicate = mutate(n.predicate);
  std::vector<BufferRegion> reads = mutate_regions(n.reads, changed),
                            writes = mutate_regions(n.writes, changed);
  Stmt init = n.init.defined() ? mutate(n.init) : Stmt();
  Stmt body = mutate(n.body);
  if (!changed && predicate.same_as(n.predicate) && init.same_as(n.init) && body.same_as(n.body)) return self;
  auto out = copy(n);
  out->iters = std::move(iters);
  out->bindings = std::move(bindings);
  out->predicate = std::move(predicate);
  out->reads = std::move(reads);
  out->writes = std::move(writes);
  out->init = std::move(init);
  out->body = std::move(body);
  return Stmt(out.release());
}
Stmt Mutator::mutate_node(const Store& n, const Stmt& self) {
  bool changed = false;
  Expr value = mutate(n.value);
  std::vector<Expr> indices = mutate_all(n.indices, changed);
  Expr mask = n.mask.defined() ? mutate(n.mask) : Expr();
  Buffer buffer = mutate_buffer(n.buffer);
  if (!changed && value.same_as(n.value) && mask.same_as(n.mask) && buffer.same_as(n.buffer)) return self;
  return make_stmt<Store>(std::move(buffer), std::move(value), std::move(indices), std::move(mask),
                          n.streaming);
}
Stmt Mutator::mutate_node(const Seq& n, const Stmt& self) {
  std::vector<Stmt> stmts;
  bool changed = false;
  stmts.reserve(n.stmts.size());
  for (const Stmt& s : n.stmts) {
    stmts.push_back(mutate(s));
    changed |= !stmts.back().same_as(s);
  }
  return changed ? make_seq(std::move(stmts)) : self;
}
Stmt Mutator::mutate_node(const If& n, const Stmt& self) {
  Expr c = mutate(n.condition);
  Stmt t = mutate(n.then_case), f = n.else_case.defined() ? mutate(n.else_case) : Stmt();
  if (c.same_as(n.condition) && t.same_as(n.then_case) && f.same_as(n.else_case)) return self;
  return make_stmt<If>(std::move(c), std::move(t), std::move(f));
}
Stmt Mutator::mutate_node(const Let& n, const Stmt& self) {
  Expr value = mutate(n.value);
  Stmt body = mutate(n.body);
  if (value.same_as(n.value) && body.same_as(n.body)) return self;
  return make_stmt<Let>(n.var, std::move(value), std::move(body));
}
Stmt Mutator::mutate_node(const Allocate& n, const Stmt& self) {
  Buffer buffer = mutate_buffer(n.buffer);
  Stmt body = mutate(n.body);
  if (buffer.same_as(n.buffer) && body.same_as(n.body)) return self;
  return make_stmt<Allocate>(std::move(buffer), std::move(body));
}
Stmt Mutator::mutate_node(const Evaluate& n, const Stmt& self) {
  Expr value = mutate(n.value);
  return value.same_as(n.value) ? self : make_stmt<Evaluate>(std::move(value));
}

// ---- functions
// ---------------------------------------------------------------------------------------------------

namespace {

class Substitution : public Mutator {
 public:
  explicit Substitution(const VarMap& map) : map_(map) {}
  BufferRegion region(const BufferRegion& r) {
    bool changed = false;
    return mutate_region(r, changed);
  }

 protected:
  using Mutator::mutate_node;
  Expr mutate_node(const VarNode& n, const Expr& self) override {
    auto it = map_.find(&n);
    return it == map_.end() ? self : it->second;
  }

 private:
  const VarMap& map_;
};

class BufferReplacement : public Mutator {
 public:
  explicit BufferReplacement(const BufferMap& map) : map_(map) {}

 protected:
  Buffer mutate_buffer(const Buffer& buffer) override {
    auto it = map_.find(buffer.get());
    return it == map_.end() ? buffer : it->second;
  }

 private:
  const BufferMap& map_;
};

class Walker : public Visitor {
 public:
  Walker(const std::function<bool(const Stmt&)>* on_stmt, const std::function<bool(const Expr&)>& on_expr)
      : on_stmt_(on_stmt), on_expr_(on_expr) {}

 protected:
#define X(name)                                                      \
  void visit_node(const name& node, const Expr& self) override {     \
    if (on_expr_ && on_expr_(self)) Visitor::visit_node(node, self); \
  }
  LATHE_EXPR_NODES(X)
#undef X
#define X(name)                                                                        \
  void visit_node(const name& node, const Stmt& self) override {                       \
    if (!on_stmt_ || !*on_stmt_ || (*on_stmt_)(self)) Visitor::visit_node(node, self); \
  }
  LATHE_STMT_KINDS(X)
#undef X

 private:
  const std::function<bool(const Stmt&)>* on_stmt_;
  const std::function<bool(const Expr&)>& on_expr_;
};

/// Applies `on_stmt` and `on_expr`, where given, to every node after its children.
class Rewriter : public Mutator {
 public:
  Rewriter(const std::function<Stmt(const Stmt&)>* on_stmt, const std::function<Expr(const Expr&)>* on_expr)
      : on_stmt_(on_stmt), on_expr_(on_expr) {}

 protected:
#define X(name)                                                   \
  Stmt mutate_node(const name& node, const Stmt& self) override { \
    Stmt done = Mutator::mutate_node(node, self);                 \
    Stmt changed = on_stmt_ ? (*on_stmt_)(done) : Stmt();         \
    return changed.defined() ? changed : done;                    \
  }
  LATHE_STMT_KINDS(X)
#undef X
#define X(name)                                                   \
  Expr mutate_node(const name& node, const Expr& self) override { \
    if (!on_expr_) return self;                                   \
    Expr done = Mutator::mutate_node(node, self);                 \
    Expr changed = (*on_expr_)(done);                             \
    return changed.defined() ? changed : done;                    \
  }
  LATHE_EXPR_NODES(X)
#undef X

 private:
  const std::function<Stmt(const Stmt&)>* on_stmt_;
  const std::function<Expr(const Expr&)>* on_expr_;
};

}  // namespace

Expr substitute(const Expr& e, const VarMap& map) { return map.empty() ? e : Substitution(map).mutate(e); }
Stmt substitute(const Stmt& s, const VarMap& map) { return map.empty() ? s : Substitution(map).mutate(s); }
BufferRegion substitute(const BufferRegion& region, const VarMap& map) {
  return Substitution(map).region(region);
}
Stmt replace_buffers(const Stmt& s, const BufferMap& map) {
  return map.empty() ? s : BufferReplacement(map).mutate(s);
}

void walk(const Expr& e, const std::function<bool(const Expr&)>& f) { Walker(nullptr, f).visit(e); }
void walk(const Stmt& s, const std::function<bool(const Stmt&)>& on_stmt,
          const std::function<bool(const Expr&)>& on_expr) {
  Walker(&on_stmt, on_expr).visit(s);
}

Stmt rewrite(const Stmt& s, const std::function<Stmt(const Stmt&)>& f) {
  return Rewriter(&f, nullptr).mutate(s);
}
Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& f) {
  return Rewriter(nullptr, &f).mutate(e);
}
Stmt rewrite_exprs(const Stmt& s, const std::function<Expr(const Expr&)>& f) {
  return Rewriter(nullptr, &f).mutate(s);
}

bool mentions_any(const Expr& e, const std::function<bool(const VarNode*)>& in_set) {
  bool found = false;
  walk(e, [&](const Expr& x) {
    if (const VarNode* v = x.as<VarNode>()) found |= in_set(v);
    return !found;
  });
  return found;
}

bool mentions(const Expr& e, const Var& var) {
  return mentions_any(e, [&](const VarNode* v) { return v == var.node(); });
}

std::vector<Var> free_vars(const Expr& e) {
  std::vector<Var> vars;
  std::unordered_set<const VarNode*> seen;
  walk(e, [&](const Expr& x) {
    const VarNode* v = x.as<VarNode>();
    if (v && seen.insert(v).second) vars.push_back(Var(v));
    return true;
  });
  return vars;
}

std::unique_ptr<Block> copy(const Block& block) {
  auto out = std::make_unique<Block>();
  out->label = block.label;
  out->iters = block.iters;
  out->bindings = block.bindings;
  out->predicate = block.predicate;
  out->reads = block.reads;
  out->writes = block.writes;
  out->init = block.init;
  out->body = block.body;
  out->reducer = block.reducer;
  out->partner = block.partner;
  out->annotations = block.annotations;
  return out;
}

std::unique_ptr<For> copy(const For& loop) {
  return std::make_unique<For>(loop.var, loop.extent, loop.for_kind, loop.body, loop.axis, loop.annotations);
}

Stmt with_body(const Stmt& loop, Stmt body) {
  const For* f = loop.as<For>();
  if (body.same_as(f->body)) return loop;
  return make_stmt<For>(f->var, f->extent, f->for_kind, std::move(body), f->axis, f->annotations);
}

}  // namespace lathe
