// The structural hash: the program as a sequence of 64-bit words, mixed into 128 bits.
//
// The words come from the program alone, never from addresses, std::hash or the platform's representation, so
// the same program has the same hash everywhere and for ever. Variables, buffers and labels are numbered in
// the order in which they are met. A change to the words is a change of the format: raise kVersion, and
// records of older versions miss.

#include <bit>
#include <cmath>

#include "ir/visitor.h"
#include "support/error_codes/te.h"

namespace lathe {
namespace {

constexpr std::uint64_t kVersion = 1;

/// Steele, Lea and Flood's finaliser (splitmix64): a bijection in which every input bit moves every output
/// bit.
constexpr std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Hasher : Visitor {
 public:
  StructuralHash hash(const Program& program) {
    word(kVersion);
    word(program->params.size());
    word(program->temps.size());
    // Everything is numbered before anything is described: a shape may mention a size that is listed later.
    for (const Param& p : program->params) {
      if (p.size.defined()) number(p.size.get());
      if (p.buffer.defined()) described_.insert(number(p.buffer.get()));
    }
    for (const Buffer& b : program->temps) described_.insert(number(b.get()));
    for (const Param& p : program->params) {
      word(static_cast<std::uint64_t>(p.role));
      if (p.size.defined()) use_var(*p.size.node());
      if (p.buffer.defined()) describe(p.buffer);
    }
    for (const Buffer& b : program->temps) describe(b);
    optional(program->body);
    return {high_, low_};
  }

 private:
  void word(std::uint64_t x) {
    high_ = scramble(high_ ^ x) + 0x9e3779b97f4a7c15u;
    low_ = scramble(low_ + std::rotl(x, 32) + 0xd1b54a32d192ed03u) ^ high_;
  }
  void text(const std::string& s) {
    word(s.size());
    std::uint64_t packed = 0;
    for (std::size_t i = 0; i < s.size(); ++i) {
      packed |= static_cast<std::uint64_t>(static_cast<unsigned char>(s[i])) << (8 * (i % 8));
      if (i % 8 == 7 || i + 1 == s.size()) {
        word(packed);
        packed = 0;
      }
    }
  }
  void type(DataType t) {
    word(static_cast<std::uint64_t>(t.code) << 32 | static_cast<std::uint64_t>(t.bits) << 16 | t.lanes);
  }
  std::uint64_t number(const void* node) {
    const auto [at, is_new] = numbers_.try_emplace(node, next_);
    next_ += is_new;
    return at->second;
  }

  void use_var(const VarNode& v) {
    type(v.dtype);
    word(number(&v));
  }
  void use_label(const Label& label) {
    word(label.defined());
    if (label.defined()) word(number(label.get()));
  }
  void use_buffer(const Buffer& b) {
    const std::uint64_t n = number(b.get());
    word(n);
    // Allocate's buffers, and those of a malformed program, are described where they are first met.
    if (described_.insert(n).second) describe(b);
  }
  void describe(const Buffer& b) {
    word(number(b.get()));
    type(b->dtype);
    word(static_cast<std::uint64_t>(b->scope));
    word(static_cast<std::uint64_t>(b->alignment));
    all(b->shape);
    all(b->strides);
  }
  void notes(const Annotations& annotations) {
    word(annotations.size());
    for (const auto& [key, value] : annotations) {
      text(key);
      word(value.index());
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        word(static_cast<std::uint64_t>(*number));
      } else {
        text(std::get<std::string>(value));
      }
    }
  }

  template <class T>
  void optional(const T& node) {
    word(node.defined());
    if (node.defined()) one(node);
  }
  void one(const Expr& e) {
    word(0x100 + static_cast<std::uint64_t>(e.kind()));
    type(e.dtype());
    visit(e);
  }
  void one(const Stmt& s) {
    word(0x200 + static_cast<std::uint64_t>(s.kind()));
    visit(s);
  }
  void all(const std::vector<Expr>& exprs) {
    word(exprs.size());
    for (const Expr& e : exprs) optional(e);
  }
  void all(const std::vector<BufferRegion>& regions) {
    word(regions.size());
    for (const BufferRegion& r : regions) {
      use_buffer(r.buffer);
      word(r.ranges.size());
      for (const Range& range : r.ranges) {
        optional(range.min);
        optional(range.extent);
      }
    }
  }

  void visit_node(const IntImm& n, const Expr&) override { word(static_cast<std::uint64_t>(n.value)); }
  void visit_node(const FloatImm& n, const Expr&) override {
    // NaNs differ by platform in sign and payload, which mean nothing.
    word(std::isnan(n.value) ? 0x7ff8000000000000u : std::bit_cast<std::uint64_t>(n.value));
  }
  void visit_node(const VarNode& n, const Expr&) override { use_var(n); }
  void visit_node(const Binary& n, const Expr&) override {
    word(static_cast<std::uint64_t>(n.op));
    optional(n.a);
    optional(n.b);
  }
  void visit_node(const Not& n, const Expr&) override { optional(n.a); }
  void visit_node(const Cast& n, const Expr&) override { optional(n.a); }
  void visit_node(const Select& n, const Expr&) override {
    optional(n.condition);
    optional(n.if_true);
    optional(n.if_false);
  }
  void visit_node(const Load& n, const Expr&) override {
    use_buffer(n.buffer);
    all(n.indices);
    optional(n.mask);
  }
  void visit_node(const Call& n, const Expr&) override {
    // By name: the enumerators may be reordered.
    text(spelling(n.op));
    text(n.symbol);
    all(n.args);
  }
  void visit_node(const Ramp& n, const Expr&) override {
    optional(n.base);
    optional(n.stride);
  }
  void visit_node(const Broadcast& n, const Expr&) override { optional(n.value); }

  void visit_node(const For& n, const Stmt&) override {
    use_var(*n.var.node());
    word(static_cast<std::uint64_t>(n.for_kind));
    word(static_cast<std::uint64_t>(n.axis));
    notes(n.annotations);
    optional(n.extent);
    optional(n.body);
  }
  void visit_node(const Block& n, const Stmt&) override {
    use_label(n.label);
    use_label(n.partner);
    notes(n.annotations);
    word(n.iters.size());
    for (const IterVar& i : n.iters) {
      use_var(*i.var.node());
      word(static_cast<std::uint64_t>(i.kind));
      optional(i.extent);
    }
    all(n.bindings);
    optional(n.predicate);
    all(n.reads);
    all(n.writes);
    word(n.reducer.defined());
    if (n.reducer.defined()) reducer(*n.reducer);
    optional(n.init);
    optional(n.body);
  }
  void reducer(const ReducerNode& r) {
    word(r.associative);
    word(r.commutative);
    word(r.a.size());
    for (const Var& v : r.a) use_var(*v.node());
    word(r.b.size());
    for (const Var& v : r.b) use_var(*v.node());
    all(r.result);
    all(r.identity);
    // Programs that share a reducer between blocks equal those that do not.
    for (const std::vector<Var>* vars : {&r.a, &r.b}) {
      for (const Var& v : *vars) numbers_.erase(v.get());
    }
  }
  void visit_node(const Store& n, const Stmt&) override {
    use_buffer(n.buffer);
    word(n.streaming);
    all(n.indices);
    optional(n.value);
    optional(n.mask);
  }
  void visit_node(const Seq& n, const Stmt&) override {
    word(n.stmts.size());
    for (const Stmt& s : n.stmts) optional(s);
  }
  void visit_node(const If& n, const Stmt&) override {
    optional(n.condition);
    optional(n.then_case);
    optional(n.else_case);
  }
  void visit_node(const Let& n, const Stmt&) override {
    use_var(*n.var.node());
    optional(n.value);
    optional(n.body);
  }
  void visit_node(const Allocate& n, const Stmt&) override {
    use_buffer(n.buffer);
    optional(n.body);
  }
  void visit_node(const Evaluate& n, const Stmt&) override { optional(n.value); }

  std::uint64_t high_ = 0x6c61746865206972u, low_ = 0x0123456789abcdefu;
  std::unordered_map<const void*, std::uint64_t> numbers_;
  std::uint64_t next_ = 0;
  std::unordered_set<std::uint64_t> described_;  ///< numbers of buffers
};

}  // namespace

StructuralHash structural_hash(const Program& program) {
  if (!program.defined()) throw UserError(code::D012, "structural_hash of an empty Program");
  return Hasher().hash(program);
}

}  // namespace lathe
