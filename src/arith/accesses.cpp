// What a statement reads and writes: every load and store, under the conditions on the way to it.

#include "arith/regions.h"
#include "arith/simplifier.h"

namespace lathe::arith {
namespace {

class AccessFinder : public Visitor {
 public:
  AccessFinder(const std::vector<Domain>& domains, Analyzer& analyzer) : analyzer_(analyzer) {
    for (const Domain& d : domains) {
      // A block that never runs has regions all the same: they say what it would access.
      if (is_int(d.extent, 0)) {
        analyzer_.bind_size(d.var);
      } else {
        analyzer_.bind_extent(d.var, d.extent);
      }
    }
  }
  Accesses take() { return std::move(found_); }

 protected:
  using Visitor::visit_node;

  // ---- statements
  void visit_node(const For& loop, const Stmt&) override {
    visit(loop.extent);
    analyzer_.bind_extent(loop.var, loop.extent);
    loops_.push_back({loop.var, loop.extent});
    visit(loop.body);
    loops_.pop_back();
  }
  void visit_node(const Block& block, const Stmt&) override {
    for (std::size_t i = 0; i < block.iters.size(); ++i) {
      visit(block.bindings[i]);
      analyzer_.bind_value(block.iters[i].var, block.bindings[i]);
    }
    under(block.predicate, [&] {
      if (block.init.defined()) visit(block.init);
      visit(block.body);
    });
  }
  void visit_node(const Let& let, const Stmt&) override {
    visit(let.value);
    if (let.var.dtype() == index_type || let.var.dtype().is_bool()) analyzer_.bind_value(let.var, let.value);
    visit(let.body);
  }
  void visit_node(const If& s, const Stmt&) override {
    visit(s.condition);
    under(s.condition, [&] { visit(s.then_case); });
    if (s.else_case.defined()) under(Expr(new Not(s.condition)), [&] { visit(s.else_case); });
  }
  void visit_node(const Store& store, const Stmt&) override {
    visit(store.value);
    for (const Expr& i : store.indices) visit(i);
    note(store.buffer, store.indices, found_.writes);
  }

  // ---- expressions
  void visit_node(const Select& s, const Expr&) override {
    visit(s.condition);
    under(s.condition, [&] { visit(s.if_true); });
    under(Expr(new Not(s.condition)), [&] { visit(s.if_false); });
  }
  void visit_node(const Binary& b, const Expr&) override {
    visit(b.a);
    if (b.dtype.is_vector() || (b.op != BinaryOp::And && b.op != BinaryOp::Or)) return visit(b.b);
    under(b.op == BinaryOp::And ? b.a : Expr(new Not(b.a)), [&] { visit(b.b); });
  }
  void visit_node(const Call& call, const Expr&) override {
    const Load* address = call.op == Intrinsic::Prefetch ? call.args[0].as<Load>() : nullptr;
    if (address) {  // its value is not read, only its subscripts are
      for (const Expr& i : address->indices) visit(i);
    } else {
      for (const Expr& a : call.args) visit(a);
    }
  }
  void visit_node(const Load& load, const Expr&) override {
    for (const Expr& i : load.indices) visit(i);
    note(load.buffer, load.indices, found_.reads);
  }

 private:
  template <class F>
  void under(const Expr& condition, F body) {
    if (condition.dtype().is_vector() || is_true(condition)) return body();
    conditions_.push_back(condition);
    body();
    conditions_.pop_back();
  }

  void note(const Buffer& buffer, const std::vector<Expr>& indices, std::vector<Region>& list) {
    BufferRegion touched;
    touched.buffer = buffer;
    bool exact = true;
    for (const Expr& i : indices) {
      const Ramp* ramp = i.as<Ramp>();
      if (!i.dtype().is_vector()) {
        touched.ranges.push_back({i, 1});
      } else if (const Broadcast* b = i.as<Broadcast>()) {
        touched.ranges.push_back({b->value, 1});
      } else if (ramp && is_int(ramp->stride, 1)) {
        touched.ranges.push_back({ramp->base, ramp->lanes()});
      } else {
        touched.ranges.push_back({0, buffer->shape[touched.ranges.size()]});
        exact = false;
      }
    }
    Expr predicate = true_expr();
    for (const Expr& c : conditions_) predicate = conjunction(predicate, c);
    Region region = relax(touched, loops_, predicate, analyzer_);
    region.exact &= exact;
    for (const Range& r : region.region.ranges) {
      if (is_int(r.extent, 0)) return;  // never executed
    }
    for (Region& known : list) {
      if (known.region.buffer.same_as(buffer)) {
        known = unite(known, region, analyzer_);
        return;
      }
    }
    list.push_back(std::move(region));
  }

  Analyzer& analyzer_;
  std::vector<Domain> loops_;
  std::vector<Expr> conditions_;
  Accesses found_;
};

}  // namespace

Accesses accesses(const Stmt& stmt, const std::vector<Domain>& domains) {
  Analyzer analyzer;
  return accesses(stmt, domains, analyzer);
}

Accesses accesses(const Stmt& stmt, const std::vector<Domain>& domains, Analyzer& analyzer) {
  AccessFinder finder(domains, analyzer);
  static_cast<Visitor&>(finder).visit(stmt);
  return finder.take();
}

}  // namespace lathe::arith
