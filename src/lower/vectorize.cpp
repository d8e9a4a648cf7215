// Vectorised loops become vectors of the target's native width.
//
//     for j in 0..20 vectorized:        for c in 0..2 unrolled:  C[ramp(c*8, 1, 8)] = …
//       C[j] = A[j] + b           =>    C[ramp(16, 1, 4)] = A[ramp(16, 1, 4)] + broadcast(b, 4)
//
// A remainder that is no power of two runs as the next wider vector with the surplus lanes masked off. A condition that
// differs between lanes becomes a mask on the loads and stores under it; the side of a select that is not taken, and the
// right side of && and || that does not decide, likewise load under a mask, unless the element is there in any case. A buffer that lives inside the loop gets a
// lane dimension. What has no vector form (a loop whose extent differs between lanes, an external call) makes the loop
// serial; `vectorize` of the schedule refuses what it can know of that.

#include <algorithm>
#include <bit>

#include "arith/analyzer.h"
#include "lower/bounded_mutator.h"
#include "lower/passes.h"
#include "lower/renew.h"

namespace lathe::lower {
namespace {

constexpr std::int64_t kMaxUnrolledChunks = 16;
/// Vectors side by side where functions are computed: a polynomial is a chain of dependent operations, of which a core's
/// schedulers hold too few to overlap two that follow one another.
constexpr std::int64_t kChainsSideBySide = 2;

struct NoVectorForm {};

/// What is known of a statement's place.
struct Surroundings {
  const Program& program;
  arith::Analyzer& analyzer;  ///< of the loops round the statement, and those in it
  bool given(const Buffer& buffer) const {
    return std::ranges::any_of(program->params, [&](const Param& p) {
      return p.role != ParamRole::Output && p.buffer.same_as(buffer);
    });
  }
};

/// Rewrites a statement for the lanes base, base + 1, … of a loop variable.
class LaneRewriter : public Mutator {
 public:
  LaneRewriter(const Var& loop, Expr base, int lanes, Expr mask, const Surroundings& around)
      : loop_(loop),
        base_(std::move(base)),
        lanes_(lanes),
        mask_(std::move(mask)),
        tail_(mask_),
        around_(around) {}

  /// The statement for all lanes. What it stores whatever happens may be read, too.
  Stmt all_lanes(const Stmt& body) {
    note_stores(body);
    return mutate(body);
  }

 private:
  /// What `f` gives under the outer mask and the condition.
  template <class F>
  auto under(const Expr& condition, F&& f) {
    Expr outer = mask_;
    mask_ = mask_.defined() ? Expr(new Binary(BinaryOp::And, mask_, condition)) : condition;
    auto result = apart(f);
    mask_ = outer;
    return result;
  }
  /// What `f` gives; what it reads may not be read in other lanes, or not at all.
  template <class F>
  auto apart(F&& f) {
    const std::size_t before = read_.size();
    auto result = f();
    read_.resize(before);
    return result;
  }

 protected:
  using Mutator::mutate_node;

  // ---- expressions: a result is scalar when all lanes agree ----

  Expr mutate_node(const VarNode& n, const Expr& self) override {
    if (&n == loop_.node()) return ramp(base_, 1, lanes_);
    auto it = vector_lets_.find(&n);
    return it == vector_lets_.end() ? self : it->second;
  }
  Expr mutate_node(const Binary& n, const Expr& self) override {
    if (n.op == BinaryOp::And || n.op == BinaryOp::Or) return logical(n, self);
    if (auto r = as_ramp(self)) return *r;
    Expr a = mutate(n.a), b = mutate(n.b);
    if (a.same_as(n.a) && b.same_as(n.b)) return self;
    level(a, b);
    return Expr(new Binary(n.op, a, b));
  }
  Expr mutate_node(const Select& n, const Expr& self) override {
    Expr c = mutate(n.condition);
    if (!c.dtype().is_vector()) {
      Expr t = apart([&] { return mutate(n.if_true); }), f = apart([&] { return mutate(n.if_false); });
      if (c.same_as(n.condition) && t.same_as(n.if_true) && f.same_as(n.if_false)) return self;
      level(t, f);
      // A scalar condition over vectors: one branch for all lanes; only loads must not happen on the side not taken.
      if (!t.dtype().is_vector() || !(has_load(t) || has_load(f)))
        return Expr(new Select(spread_to(c, t), t, f));
      c = broadcast(c, lanes_);
    }
    Expr t = under(c, [&] { return vector(mutate(n.if_true)); });
    Expr f = under(Expr(new Not(c)), [&] { return vector(mutate(n.if_false)); });
    return Expr(new Select(c, t, f));
  }
  Expr mutate_node(const Load& n, const Expr& self) override {
    std::optional<Expr> index = subscript(n.buffer, n.indices[0]);
    // An element that is read (or stored) anyway needs no mask of its own: a masked load keeps a buffer out of registers.
    const auto known = std::ranges::find_if(read_, [&](const Access& a) {
      return a.buffer.same_as(n.buffer) && structural_equal(a.index, n.indices[0]);
    });
    Expr mask = mask_;
    if (known != read_.end())
      mask = known->mask;
    else if (mask.defined() && lies_inside(n))
      mask = tail_;
    else
      note(n.buffer, n.indices[0]);
    if (!index) {
      // The same element for all lanes. Under a mask it may be read only if some lane is on.
      if (!mask.defined()) return Mutator::mutate_node(n, self);
      index = broadcast(mutate(n.indices[0]), lanes_);
    }
    return Expr(new Load(buffer_for(n.buffer), {*index}, mask));
  }
  Expr mutate_node(const Call& n, const Expr& self) override {
    bool changed = false;
    std::vector<Expr> args = mutate_all(n.args, changed);
    if (!changed) return self;
    if (!is_pure(n.op) || (n.op >= Intrinsic::VectorSum && n.op <= Intrinsic::VectorMax))
      throw NoVectorForm();
    for (Expr& a : args) a = vector(a);
    return Expr(new Call(n.dtype.with_lanes(lanes_), n.op, std::move(args), n.symbol));
  }

  // ---- statements ----

  Stmt mutate_node(const Store& n, const Stmt&) override {
    const Expr value = vector(mutate(n.value));
    std::optional<Expr> index = subscript(n.buffer, n.indices[0]);
    if (!index) throw NoVectorForm();  // lanes would meet in one element
    return make_stmt<Store>(buffer_for(n.buffer), value, std::vector<Expr>{*index}, mask_, n.streaming);
  }
  Stmt mutate_node(const If& n, const Stmt&) override {
    if (!n.else_case.defined()) {
      if (const auto [uniform, rest] = by_lanes(n.condition); !is_true(uniform) && !is_true(rest))
        return make_stmt<If>(uniform, mutate(make_stmt<If>(rest, n.then_case, Stmt())), Stmt());
    }
    const Expr c = mutate(n.condition);
    if (!c.dtype().is_vector()) {
      const Stmt then_case = apart([&] { return mutate(n.then_case); });
      return make_stmt<If>(c, then_case,
                           n.else_case.defined() ? apart([&] { return mutate(n.else_case); }) : Stmt());
    }
    std::vector<Stmt> both{under(c, [&] { return mutate(n.then_case); })};
    if (n.else_case.defined()) both.push_back(under(Expr(new Not(c)), [&] { return mutate(n.else_case); }));
    return make_seq(std::move(both));
  }
  Stmt mutate_node(const Let& n, const Stmt& self) override {
    const Expr value = mutate(n.value);
    if (!value.dtype().is_vector())
      return value.same_as(n.value) ? Mutator::mutate_node(n, self)
                                    : make_stmt<Let>(n.var, value, mutate(n.body));
    const Var v(n.var.name(), value.dtype());
    vector_lets_[n.var.node()] = v;
    return make_stmt<Let>(v, value, mutate(n.body));
  }
  Stmt mutate_node(const For& n, const Stmt& self) override {
    if (mutate(n.extent).dtype().is_vector() || n.for_kind == ForKind::Parallel ||
        n.for_kind == ForKind::ThreadBound)
      throw NoVectorForm();
    return with_body(self, apart([&] { return mutate(n.body); }));
  }
  Stmt mutate_node(const Allocate& n, const Stmt&) override {
    // One element a lane, lanes next to one another.
    per_lane_.emplace(n.buffer.get(),
                      reshaped(n.buffer, {arith::mul(n.buffer->shape[0], make_index(lanes_))}));
    Stmt body = mutate(n.body);
    return make_stmt<Allocate>(per_lane_.at(n.buffer.get()), body);
  }
  Stmt mutate_node(const Evaluate& n, const Stmt& self) override {
    const Expr value = mutate(n.value);
    if (value.same_as(n.value)) return self;
    const Call* c = n.value.as<Call>();
    if (!c || c->op != Intrinsic::Prefetch) throw NoVectorForm();
    return make_stmt<Evaluate>(substitute(n.value, loop_, base_));  // one line for all lanes
  }

 private:
  /// The subscript as a vector; nothing when it is the same for all lanes.
  std::optional<Expr> subscript(const Buffer& buffer, const Expr& index) {
    auto it = per_lane_.find(buffer.get());
    Expr i = mutate(index);
    if (it != per_lane_.end()) {
      if (!i.dtype().is_vector()) return ramp(arith::mul(i, make_index(lanes_)), 1, lanes_);
      return Expr(new Binary(BinaryOp::Add,
                             Expr(new Binary(BinaryOp::Mul, i, broadcast(make_index(lanes_), lanes_))),
                             ramp(0, 1, lanes_)));
    }
    if (!i.dtype().is_vector()) return std::nullopt;
    if (auto r = as_ramp(index)) return *r;
    return i;
  }

  /// An expression affine in the loop variable as base + stride * lane.
  std::optional<Expr> as_ramp(const Expr& e) {
    if (!e.dtype().is_index() || !mentions(e, loop_)) return std::nullopt;
    if (mentions_any(e, [&](const VarNode* v) { return vector_lets_.count(v) > 0; })) return std::nullopt;
    std::optional<arith::Affine> form = arith::affine(e, {loop_});
    if (!form || has_load(form->rest)) return std::nullopt;
    const std::int64_t k = form->coefficients[0];
    if (k == 0) return std::nullopt;
    return ramp(arith::simplify(arith::add(form->rest, arith::mul(make_index(k), base_))), make_index(k),
                lanes_);
  }

  /// What of the condition is the same for all lanes and reads nothing, and the rest.
  std::pair<Expr, Expr> by_lanes(const Expr& condition) {
    Expr uniform = true_expr(), rest = true_expr();
    for (const Expr& c : arith::conjuncts(condition)) {
      Expr& part = has_load(c) || mutate(c).dtype().is_vector() ? rest : uniform;
      part = arith::conjunction(part, c);
    }
    return {uniform, rest};
  }

  Expr logical(const Binary& n, const Expr& self) {
    Expr a = mutate(n.a);
    if (!a.dtype().is_vector()) {
      Expr b = apart([&] { return mutate(n.b); });
      if (a.same_as(n.a) && b.same_as(n.b)) return self;
      if (b.dtype().is_vector() && has_load(b)) {
        a = broadcast(a, lanes_);
        b = under(n.op == BinaryOp::And ? a : Expr(new Not(a)), [&] { return mutate(n.b); });
      }
      level(a, b);
      return Expr(new Binary(n.op, a, b));
    }
    Expr b = under(n.op == BinaryOp::And ? a : Expr(new Not(a)), [&] { return vector(mutate(n.b)); });
    return Expr(new Binary(n.op, a, b));
  }

  static bool has_load(const Expr& e) {
    bool found = false;
    walk(e, [&](const Expr& x) {
      found |= x.as<Load>() != nullptr;
      return !found;
    });
    return found;
  }
  Expr vector(const Expr& e) const { return e.dtype().is_vector() ? e : broadcast(e, lanes_); }
  void level(Expr& a, Expr& b) const {
    if (a.dtype().is_vector() || b.dtype().is_vector()) {
      a = vector(a);
      b = vector(b);
    }
  }
  Expr spread_to(const Expr& c, const Expr& like) const { return like.dtype().is_vector() ? vector(c) : c; }
  Buffer buffer_for(const Buffer& b) const {
    auto it = per_lane_.find(b.get());
    return it == per_lane_.end() ? b : it->second;
  }

  /// Is the element there whatever a condition says? Then reading it does no harm where it is not wanted. (Of a temporary it may not
  /// have been written.)
  bool lies_inside(const Load& n) {
    const std::optional<std::int64_t> size = as_int(n.buffer->shape[0]);
    if (!size || !around_.given(n.buffer)) return false;
    const arith::ConstBound at = around_.analyzer.bound(n.indices[0]);
    return at.bounded() && at.min >= 0 && at.max < *size;
  }
  /// The element is accessed in all lanes that are on.
  void note(const Buffer& buffer, const Expr& index) {
    if (!has_load(index)) read_.push_back({buffer, index, mask_});
  }
  void note_stores(const Stmt& s) {
    if (const Store* store = s.as<Store>()) note(store->buffer, store->indices[0]);
    if (const Let* let = s.as<Let>()) note_stores(let->body);
    if (const Seq* seq = s.as<Seq>()) {
      for (const Stmt& each : seq->stmts) note_stores(each);
    }
  }

  const Var& loop_;
  Expr base_;
  int lanes_;
  Expr mask_;
  const Expr tail_;  ///< the mask of lanes beyond the loop's end
  const Surroundings& around_;
  /// Elements, by their subscripts of one lane, that are accessed in all lanes of `mask`.
  struct Access {
    Buffer buffer;
    Expr index, mask;
  };
  std::vector<Access> read_;
  VarMap vector_lets_;
  BufferMap per_lane_;
};

/// Bits of the widest element that the statement computes with.
int widest(const Stmt& s) {
  int bits = 8;
  auto note = [&](DataType t) {
    if (t.is_bool() || t.is_index()) return;
    bits = std::max<int>(bits, t.is_float() && t.bits == 16 ? 32 : t.bits);  // 16-bit floats compute in f32
  };
  walk(
      s,
      [&](const Stmt& x) {
        if (const Store* st = x.as<Store>()) note(st->value.dtype());
        return true;
      },
      [&](const Expr& e) {
        if (e.as<Load>() || e.as<Cast>() || e.as<Call>()) note(e.dtype());
        return true;
      });
  return bits;
}

/// Does the statement call a function that becomes a polynomial?
bool computes_functions(const Stmt& s) {
  bool found = false;
  walk(s, {}, [&](const Expr& e) {
    const Call* c = e.as<Call>();
    found |= c && c->op < Intrinsic::Sqrt;
    return !found;
  });
  return found;
}

class Vectorization : public BoundedMutator {
 public:
  Vectorization(const Program& program, int vector_bits)
      : BoundedMutator(program), vector_bits_(vector_bits), around_{program, analyzer_} {}

 protected:
  using BoundedMutator::mutate_node;
  Stmt mutate_node(const For& n, const Stmt& self) override {
    analyzer_.bind_extent(n.var, n.extent);
    Stmt body = mutate(n.body);
    if (n.for_kind != ForKind::Vectorized) return with_body(self, body);
    try {
      return vectors(n, body);
    } catch (const NoVectorForm&) {
      return make_stmt<For>(n.var, n.extent, ForKind::Serial, body, ThreadAxis::None, n.annotations);
    }
  }

 private:
  Stmt vectors(const For& n, const Stmt& body) {
    const std::optional<std::int64_t> extent = as_int(n.extent);
    if (!extent) throw NoVectorForm();
    std::int64_t native = std::max(1, vector_bits_ / widest(body));
    if (native > 1 && *extent >= kChainsSideBySide * native && computes_functions(body))
      native *= kChainsSideBySide;
    const std::int64_t chunks = *extent / native, rest = *extent % native;
    std::vector<Stmt> out;
    if (chunks > 0 && native > 1) {
      const Var c(n.var.name() + "_v");
      const Expr base = chunks == 1 ? Expr(0) : arith::mul(c, make_index(native));
      Stmt chunk = LaneRewriter(n.var, base, static_cast<int>(native), Expr(), around_).all_lanes(body);
      if (chunks == 1)
        out.push_back(chunk);
      else
        out.push_back(make_stmt<For>(c, make_index(chunks),
                                     chunks <= kMaxUnrolledChunks ? ForKind::Unrolled : ForKind::Serial,
                                     chunk));
    } else if (native == 1) {
      throw NoVectorForm();
    }
    if (rest == 1) {
      out.push_back(renew(substitute(body, {{n.var.node(), make_index(chunks * native)}})));
    } else if (rest > 1) {
      const int lanes = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(rest)));
      const Expr lane = ramp(0, 1, lanes);
      const Expr mask =
          lanes == rest ? Expr() : Expr(new Binary(BinaryOp::Lt, lane, broadcast(make_index(rest), lanes)));
      out.push_back(
          renew(LaneRewriter(n.var, make_index(chunks * native), lanes, mask, around_).all_lanes(body)));
    }
    return make_seq(std::move(out));
  }

  int vector_bits_;
  const Surroundings around_;
};

}  // namespace

Program vectorize(const Program& program, const Target& target, const Options& options) {
  if (!options.vectorize) {
    return program.with_body(rewrite(program->body, [](const Stmt& s) -> Stmt {
      const For* loop = s.as<For>();
      if (!loop || loop->for_kind != ForKind::Vectorized) return {};
      return make_stmt<For>(loop->var, loop->extent, ForKind::Serial, loop->body, ThreadAxis::None,
                            loop->annotations);
    }));
  }
  const auto* cpu = std::get_if<CpuTarget>(&target.device);
  return program.with_body(
      Vectorization(program, cpu ? static_cast<int>(cpu->vector_bits) : 128).mutate(program->body));
}

}  // namespace lathe::lower
