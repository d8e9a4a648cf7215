// Equality up to names.
//
// Walks both sides in step and pairs what they define: a variable of one stands for the variable of the other
// that was defined at the same place. What neither defines must be the same node on both sides.

#include <bit>
#include <cmath>

#include "ir/visitor.h"

namespace lathe {
namespace {

bool same_float(double x, double y) {
  // NaNs differ by platform in sign and payload, which mean nothing; zeros differ in meaning.
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
}

class Comparison {
 public:
  bool equal(const Program& a, const Program& b) {
    if (a->params.size() != b->params.size() || a->temps.size() != b->temps.size()) return false;
    // Everything is paired before anything is compared: a shape may mention a size that is listed later.
    for (std::size_t i = 0; i < a->params.size(); ++i) {
      const Param &p = a->params[i], &q = b->params[i];
      if (p.role != q.role || p.buffer.defined() != q.buffer.defined() ||
          p.size.defined() != q.size.defined())
        return false;
      if (p.size.defined() && !define(p.size, q.size)) return false;
      if (p.buffer.defined() && !pair(p.buffer.get(), q.buffer.get())) return false;
    }
    for (std::size_t i = 0; i < a->temps.size(); ++i) {
      if (!pair(a->temps[i].get(), b->temps[i].get())) return false;
    }
    for (std::size_t i = 0; i < a->params.size(); ++i) {
      if (a->params[i].buffer.defined() && !same_declaration(a->params[i].buffer, b->params[i].buffer))
        return false;
    }
    for (std::size_t i = 0; i < a->temps.size(); ++i) {
      if (!same_declaration(a->temps[i], b->temps[i])) return false;
    }
    return equal(a->body, b->body);
  }

  bool equal(const Stmt& a, const Stmt& b) {
    if (!a.defined() || !b.defined()) return a.defined() == b.defined();
    if (a.same_as(b) && all_same_) return true;
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
#define X(name) \
  case StmtKind::name: return equal_nodes(*a.as<name>(), *b.as<name>());
      LATHE_STMT_KINDS(X)
#undef X
    }
    return false;
  }

  bool equal(const Expr& a, const Expr& b) {
    if (!a.defined() || !b.defined()) return a.defined() == b.defined();
    if (a.same_as(b) && all_same_) return true;
    if (a.kind() != b.kind() || a.dtype() != b.dtype()) return false;
    switch (a.kind()) {
#define X(name) \
  case name::Kind: return equal_nodes(*a.as<name>(), *b.as<name>());
      LATHE_EXPR_NODES(X)
#undef X
    }
    return false;
  }

 private:
  bool pair(const void* a, const void* b) {
    const auto forward = there_.emplace(a, b), backward = back_.emplace(b, a);
    if (forward.first->second != b || backward.first->second != a) return false;
    all_same_ &= a == b;
    return true;
  }
  bool paired(const void* a, const void* b) const {
    const auto forward = there_.find(a);
    if (forward != there_.end()) return forward->second == b;
    return a == b && !back_.count(b);
  }
  bool define(const Var& a, const Var& b) { return a.dtype() == b.dtype() && pair(a.get(), b.get()); }
  /// Labels are paired where they are first mentioned: a partner may stand before its block.
  bool same_label(const Label& a, const Label& b) {
    if (!a.defined() || !b.defined()) return a.defined() == b.defined();
    return pair(a.get(), b.get());
  }

  template <class T>
  bool equal(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!equal(a[i], b[i])) return false;
    }
    return true;
  }
  bool equal(const Buffer& a, const Buffer& b) const { return paired(a.get(), b.get()); }
  bool equal(const Range& a, const Range& b) { return equal(a.min, b.min) && equal(a.extent, b.extent); }
  bool equal(const BufferRegion& a, const BufferRegion& b) {
    return equal(a.buffer, b.buffer) && equal(a.ranges, b.ranges);
  }
  bool same_declaration(const Buffer& a, const Buffer& b) {
    return a->dtype == b->dtype && a->scope == b->scope && a->alignment == b->alignment &&
           equal(a->shape, b->shape) && equal(a->strides, b->strides);
  }
  bool define(const std::vector<Var>& a, const std::vector<Var>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!define(a[i], b[i])) return false;
    }
    return true;
  }
  bool equal(const Reducer& a, const Reducer& b) {
    if (!a.defined() || !b.defined()) return a.defined() == b.defined();
    if (a.same_as(b)) return true;
    const bool same = a->associative == b->associative && a->commutative == b->commutative &&
                      define(a->a, b->a) && define(a->b, b->b) && equal(a->result, b->result) &&
                      equal(a->identity, b->identity);
    // Programs that share a reducer between blocks equal those that do not.
    for (const std::vector<Var>* vars : {&a->a, &a->b}) {
      for (const Var& v : *vars) there_.erase(v.get());
    }
    for (const std::vector<Var>* vars : {&b->a, &b->b}) {
      for (const Var& v : *vars) back_.erase(v.get());
    }
    return same;
  }

  bool equal_nodes(const IntImm& a, const IntImm& b) { return a.value == b.value; }
  bool equal_nodes(const FloatImm& a, const FloatImm& b) { return same_float(a.value, b.value); }
  bool equal_nodes(const VarNode& a, const VarNode& b) { return paired(&a, &b); }
  bool equal_nodes(const Binary& a, const Binary& b) {
    return a.op == b.op && equal(a.a, b.a) && equal(a.b, b.b);
  }
  bool equal_nodes(const Not& a, const Not& b) { return equal(a.a, b.a); }
  bool equal_nodes(const Cast& a, const Cast& b) { return equal(a.a, b.a); }
  bool equal_nodes(const Select& a, const Select& b) {
    return equal(a.condition, b.condition) && equal(a.if_true, b.if_true) && equal(a.if_false, b.if_false);
  }
  bool equal_nodes(const Load& a, const Load& b) {
    return equal(a.buffer, b.buffer) && equal(a.indices, b.indices) && equal(a.mask, b.mask);
  }
  bool equal_nodes(const Call& a, const Call& b) {
    return a.op == b.op && a.symbol == b.symbol && equal(a.args, b.args);
  }
  bool equal_nodes(const Ramp& a, const Ramp& b) {
    return equal(a.base, b.base) && equal(a.stride, b.stride);
  }
  bool equal_nodes(const Broadcast& a, const Broadcast& b) { return equal(a.value, b.value); }

  bool equal_nodes(const For& a, const For& b) {
    return a.for_kind == b.for_kind && a.axis == b.axis && a.annotations == b.annotations &&
           equal(a.extent, b.extent) && define(a.var, b.var) && equal(a.body, b.body);
  }
  bool equal_nodes(const Block& a, const Block& b) {
    if (!same_label(a.label, b.label) || !same_label(a.partner, b.partner)) return false;
    if (a.annotations != b.annotations || a.iters.size() != b.iters.size()) return false;
    if (!equal(a.bindings, b.bindings) || !equal(a.predicate, b.predicate)) return false;
    for (std::size_t i = 0; i < a.iters.size(); ++i) {
      const IterVar &x = a.iters[i], &y = b.iters[i];
      if (x.kind != y.kind || !equal(x.extent, y.extent) || !define(x.var, y.var)) return false;
    }
    return equal(a.reads, b.reads) && equal(a.writes, b.writes) && equal(a.reducer, b.reducer) &&
           equal(a.init, b.init) && equal(a.body, b.body);
  }
  bool equal_nodes(const Store& a, const Store& b) {
    return a.streaming == b.streaming && equal(a.buffer, b.buffer) && equal(a.indices, b.indices) &&
           equal(a.value, b.value) && equal(a.mask, b.mask);
  }
  bool equal_nodes(const Seq& a, const Seq& b) { return equal(a.stmts, b.stmts); }
  bool equal_nodes(const If& a, const If& b) {
    return equal(a.condition, b.condition) && equal(a.then_case, b.then_case) &&
           equal(a.else_case, b.else_case);
  }
  bool equal_nodes(const Let& a, const Let& b) {
    return equal(a.value, b.value) && define(a.var, b.var) && equal(a.body, b.body);
  }
  bool equal_nodes(const Allocate& a, const Allocate& b) {
    return pair(a.buffer.get(), b.buffer.get()) && same_declaration(a.buffer, b.buffer) &&
           equal(a.body, b.body);
  }
  bool equal_nodes(const Evaluate& a, const Evaluate& b) { return equal(a.value, b.value); }

  std::unordered_map<const void*, const void*> there_, back_;
  bool all_same_ = true;  ///< every pair so far is of one node with itself: equal nodes need no walk
};

}  // namespace

bool structural_equal(const Program& a, const Program& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return Comparison().equal(a, b);
}
bool structural_equal(const Stmt& a, const Stmt& b) { return Comparison().equal(a, b); }
bool structural_equal(const Expr& a, const Expr& b) { return Comparison().equal(a, b); }

}  // namespace lathe
