// Loop partition: the steady state of a guarded loop runs without its guards.
//
//     for io in 0..4:                         for io in 0..3:      for ii in 0..8: A[io*8 + ii]
//       for ii in 0..8:               =>      for io in 0..1:      for ii in 0..8: if (io+3)*8 + ii < 30: …
//         if io*8 + ii < 30: A[…]
//
// The cut is made at the outermost loop for which a range of iterations satisfies guards below it whatever the inner
// loops do, so that everything inside, vectors included, is free of masks there. Only guards of the innermost loops
// count: what a copy of the code saves elsewhere (the store behind a reduction) is not worth compiling it. A parallel loop
// is not cut (two launches cost more than a test): its body chooses between the free and the guarded form. At most eight
// copies of a statement arise, sixteen where that spares masks.
//
// A few vectors of stores whose guard would mask lanes are chosen alike where they stand, by the loops around them:
//
//     for ii in 0..8 vectorized:              if io < 3: for ii in 0..8 vectorized: A[io*8 + ii]
//       if io*8 + ii < 30: A[…]         =>    else:      for ii in 0..8 vectorized: if 24 + ii < 30: A[…]
//
// (a single iteration that is left is known, and with it the lanes of the mask). Where no iteration of a short loop leaves all
// lanes on, each is cut off by itself, for the same reason.
//
// What remains guarded is skipped where it has nothing to do: the test is repeated, for all iterations at once, before the
// loops.

#include <algorithm>
#include <ranges>

#include "arith/checked.h"
#include "lower/bounded_mutator.h"
#include "lower/passes.h"
#include "lower/renew.h"

namespace lathe::lower {
namespace {

constexpr int kMaxDepth = 3;             ///< nested cuts, one more where it spares masks: 2^3 copies
constexpr int kMaxBodyStatements = 512;  ///< larger bodies are not copied
constexpr std::int64_t kFewIterations = 4;
constexpr std::int64_t kFar = std::int64_t{1} << 60;

struct Interval {
  std::int64_t low, high;  ///< low .. high (exclusive)
  bool empty() const { return low >= high; }
};

int size_of(const Stmt& s) {
  int n = 0;
  walk(s, [&](const Stmt&) { return ++n <= kMaxBodyStatements; });
  return n;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/// Nested loops that run more than once, unrolled ones and lanes apart.
int deepest(const Stmt& s) {
  if (const For* loop = s.as<For>()) {
    const bool counts = loop->for_kind != ForKind::Unrolled && loop->for_kind != ForKind::Vectorized &&
                        !is_int(loop->extent, 1);
    return deepest(loop->body) + (counts ? 1 : 0);
  }
  if (const Seq* seq = s.as<Seq>()) {
    int most = 0;
    for (const Stmt& part : seq->stmts) most = std::max(most, deepest(part));
    return most;
  }
  if (const If* branch = s.as<If>()) {
    return std::max(deepest(branch->then_case), branch->else_case.defined() ? deepest(branch->else_case) : 0);
  }
  if (const Let* let = s.as<Let>()) return deepest(let->body);
  if (const Allocate* allocate = s.as<Allocate>()) return deepest(allocate->body);
  return 0;
}

/// Calls `loop` for each loop and `guard` for each condition of the deepest statements below `s`.
template <class OnLoop, class OnGuard>
void each_hot_guard(const Stmt& s, int below, const OnLoop& on_loop, const OnGuard& on_guard) {
  if (deepest(s) < below) return;
  if (const For* loop = s.as<For>()) {
    on_loop(*loop);
    const bool counts = deepest(s) > deepest(loop->body);
    return each_hot_guard(loop->body, counts ? below - 1 : below, on_loop, on_guard);
  }
  if (const Seq* seq = s.as<Seq>()) {
    for (const Stmt& part : seq->stmts) each_hot_guard(part, below, on_loop, on_guard);
  } else if (const If* branch = s.as<If>()) {
    on_guard(branch->condition);
    each_hot_guard(branch->then_case, below, on_loop, on_guard);
    if (branch->else_case.defined()) each_hot_guard(branch->else_case, below, on_loop, on_guard);
  } else if (const Let* let = s.as<Let>()) {
    each_hot_guard(let->body, below, on_loop, on_guard);
  } else if (const Allocate* allocate = s.as<Allocate>()) {
    each_hot_guard(allocate->body, below, on_loop, on_guard);
  } else {
    walk(s, {}, [&](const Expr& e) {
      if (const Select* select = e.as<Select>()) on_guard(select->condition);
      return true;
    });
  }
}

class Partition : public BoundedMutator {
 public:
  using BoundedMutator::BoundedMutator;

 protected:
  using BoundedMutator::mutate_node;

  Stmt mutate_node(const For& n, const Stmt& self) override {
    analyzer_.bind_extent(n.var, n.extent);
    const std::optional<std::int64_t> extent = as_int(n.extent);
    const bool cuttable = n.for_kind == ForKind::Serial || n.for_kind == ForKind::Parallel;
    if (!cuttable) {
      if (const auto split = spare_masks(self)) return *split;
    }
    // A mask costs more than a test: the loop that spares it may be cut below all others.
    if (extent && cuttable && *extent > 1 &&
        (depth_ < kMaxDepth || (depth_ == kMaxDepth && masks_lanes(n)))) {
      const Interval steady = steady_range(n, *extent);
      const bool whole = steady.low == 0 && steady.high == *extent;
      const bool small = size_of(n.body) <= kMaxBodyStatements;
      if (!steady.empty() && !whole && small) return cut(n, *extent, steady);
      if (steady.empty() && small && n.for_kind == ForKind::Serial && *extent <= kFewIterations &&
          masks_lanes(n, true))
        return cut_each(n, *extent);
    }
    return unless_idle(with_body(self, inside(n.var, n.body)));
  }

  /// Guards proved by the ranges of the loops vanish here, which is the point of the cut.
  Stmt mutate_node(const If& n, const Stmt& self) override {
    if (n.else_case.defined()) return BoundedMutator::mutate_node(n, self);
    const Expr open = unproved(n.condition);
    const Stmt inside = mutate(n.then_case);
    return is_true(open) ? inside : make_stmt<If>(open, inside, Stmt());
  }
  Expr mutate_node(const Select& n, const Expr& self) override {
    if (n.condition.dtype() == boolean && is_index_test(n.condition)) {
      if (analyzer_.can_prove(n.condition)) return mutate(n.if_true);
      if (analyzer_.can_prove(arith::simplify(!n.condition))) return mutate(n.if_false);
      if (const Expr open = unproved(n.condition); !open.same_as(n.condition))
        return mutate(Expr(new Select(open, n.if_true, n.if_false)));
    }
    return BoundedMutator::mutate_node(n, self);
  }

 private:
  /// The body of a loop.
  Stmt inside(const Var& v, const Stmt& body) {
    around_.push_back(v);
    Stmt out = mutate(body);
    around_.pop_back();
    return out;
  }

  /// Is there a guard in the innermost loops that the loop has to do with and that differs between lanes? `alone`: and are
  /// all such known where the loop's iteration is?
  bool masks_lanes(const For& loop, bool alone = false) {
    std::vector<Var> lanes, known{loop.var};
    bool found = false, others = false;
    each_hot_guard(
        loop.body, deepest(loop.body),
        [&](const For& f) {
          analyzer_.bind_extent(f.var, f.extent);
          if (f.for_kind == ForKind::Vectorized) lanes.push_back(f.var);
          if (f.for_kind == ForKind::Vectorized || f.for_kind == ForKind::Unrolled) known.push_back(f.var);
        },
        [&](const Expr& condition) {
          for (const Expr& c : arith::conjuncts(condition)) {
            if (!mentions(c, loop.var) ||
                std::ranges::none_of(lanes, [&](const Var& v) { return mentions(c, v); }))
              continue;
            found = true;
            if (!alone) continue;
            const std::optional<Expr> difference = comparison_to_zero(c);
            others |= !difference || std::ranges::any_of(free_vars(*difference), [&](const Var& v) {
              return std::ranges::none_of(known, [&](const Var& k) { return k.same_as(v); });
            });
          }
        });
    return found && !others;
  }

  /// A nest of unrolled loops and lanes around guarded stores, in two forms: one for where a loop around it leaves no lane
  /// to mask. Nothing when there is no such loop.
  std::optional<Stmt> spare_masks(const Stmt& nest) {
    std::vector<Var> lanes;
    const Stmt* at = &nest;
    while (const For* loop = at->as<For>()) {
      if (loop->for_kind != ForKind::Unrolled && loop->for_kind != ForKind::Vectorized) return std::nullopt;
      if (loop->for_kind == ForKind::Vectorized) lanes.push_back(loop->var);
      analyzer_.bind_extent(loop->var, loop->extent);
      at = &loop->body;
    }
    const If* guard = at->as<If>();
    if (!guard || guard->else_case.defined() || !is_index_test(guard->condition)) return std::nullopt;
    for (const Expr& c : arith::conjuncts(guard->condition)) {
      if (!std::ranges::any_of(lanes, [&](const Var& v) { return mentions(c, v); })) continue;
      if (analyzer_.can_prove(c)) continue;
      for (const Var& v : std::views::reverse(around_)) {
        if (!mentions(c, v)) continue;
        if (auto split = split_by(v, c, nest)) return split;
      }
    }
    return std::nullopt;
  }

  /// `nest` where `v` alone makes the condition true, and where it does not; nothing when one of the two is all there is.
  std::optional<Stmt> split_by(Var v, const Expr& condition, const Stmt& nest) {
    const arith::ConstBound range = analyzer_.bound(v);
    if (arith::is_inf(range.min) || arith::is_inf(range.max)) return std::nullopt;
    const std::optional<Interval> free = satisfied_range(condition, v, range.max + 1);
    if (!free || free->low > range.min || free->high <= range.min || free->high > range.max)
      return std::nullopt;
    auto within = [&](std::int64_t low, std::int64_t high, const Stmt& s) {
      analyzer_.bind(v, {make_index(low), make_index(high - low)});
      return mutate(s);
    };
    const Stmt all = within(range.min, free->high, nest);
    Stmt rest = renew(nest);
    if (free->high == range.max) rest = substitute(rest, {{v.node(), make_index(range.max)}});
    rest = within(free->high, range.max + 1, rest);
    analyzer_.bind(v, {make_index(range.min), make_index(range.max + 1 - range.min)});
    return make_stmt<If>(Expr(v) < make_index(free->high), all, rest);
  }

  /// A loop that does nothing unless a guard inside holds is skipped where no iteration of it can make that guard true.
  Stmt unless_idle(const Stmt& s) {
    std::vector<Var> inside;
    const Stmt* at = &s;
    while (const For* loop = at->as<For>()) {
      if (loop->for_kind != ForKind::Serial && inside.empty()) return s;
      inside.push_back(loop->var);
      at = &loop->body;
    }
    const If* guard = at->as<If>();
    if (!guard || guard->else_case.defined()) return s;
    Expr possible = true_expr();
    for (const Expr& c : arith::conjuncts(guard->condition)) {
      if (!is_index_test(c)) continue;  // what memory holds may change inside the loop
      const std::optional<Expr> difference = comparison_to_zero(c);
      const std::optional<Expr> least = difference ? least_over(*difference, inside) : std::nullopt;
      if (!least) continue;
      const Expr test = analyzer_.simplify(*least < 0);
      if (!as_int(test) && !contains(possible, test)) possible = arith::conjunction(possible, test);
    }
    return is_true(possible) ? s : make_stmt<If>(possible, s, Stmt());
  }

  /// The least value of an affine expression while `loops` run; nothing when it is unknown or leaves 64 bits.
  std::optional<Expr> least_over(const Expr& e, const std::vector<Var>& loops) {
    const std::optional<arith::Affine> form = arith::affine(e, loops);
    if (!form) return std::nullopt;
    std::int64_t least = 0;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      const std::int64_t k = form->coefficients[i];
      if (k == 0) continue;
      const arith::ConstBound range = analyzer_.bound(loops[i]);
      std::int64_t term = 0;
      if (arith::is_inf(range.min) || arith::is_inf(range.max) ||
          !arith::checked_mul(k, k > 0 ? range.min : range.max, term) ||
          !arith::checked_add(least, term, least))
        return std::nullopt;
    }
    if (least < -kFar || least > kFar) return std::nullopt;
    return form->rest + make_index(least);
  }

  static bool contains(const Expr& conjunction, const Expr& test) {
    return std::ranges::any_of(arith::conjuncts(conjunction),
                               [&](const Expr& c) { return structural_equal(c, test); });
  }

  /// The conjuncts that the ranges of the loops do not prove.
  Expr unproved(const Expr& condition) {
    const std::vector<Expr> all = arith::conjuncts(condition);
    Expr open = true_expr();
    std::size_t left = 0;
    for (const Expr& c : all) {
      if (analyzer_.can_prove(c)) continue;
      open = arith::conjunction(open, c);
      ++left;
    }
    return left == all.size() ? condition : open;
  }

  static bool is_index_test(const Expr& e) {
    bool loads = false;
    walk(e, [&](const Expr& x) {
      loads |= x.as<Load>() || x.as<Call>();
      return !loads;
    });
    return !loads;
  }

  /// The iterations of `loop` for which as many guards as possible hold whatever the inner loops do.
  Interval steady_range(const For& loop, std::int64_t extent) {
    Interval range{0, extent};
    bool guarded = false;
    auto consider = [&](const Expr& condition) {
      for (const Expr& c : arith::conjuncts(condition)) {
        if (!mentions(c, loop.var)) continue;
        if (auto r = satisfied_range(c, loop.var, extent)) {
          const Interval both{std::max(range.low, r->low), std::min(range.high, r->high)};
          if (both.empty()) continue;
          range = both;
          guarded = true;
        }
      }
    };
    const bool asked = loop.annotations.count("partition") > 0;  // the user wants all guards gone
    each_hot_guard(
        loop.body, asked ? 0 : deepest(loop.body),
        [&](const For& f) { analyzer_.bind_extent(f.var, f.extent); },
        [&](const Expr& condition) {
          if (is_index_test(condition)) consider(condition);
        });
    return guarded ? range : Interval{0, 0};
  }

  /// For which values of `v` in 0..extent does the comparison hold for all values of the other variables?
  std::optional<Interval> satisfied_range(const Expr& condition, const Var& v, std::int64_t extent) {
    std::optional<Expr> found = comparison_to_zero(condition);
    if (!found) return std::nullopt;
    const Expr difference = *found;
    if (const std::int64_t c = fused_with(difference, v); c > 1)
      return satisfied_quotients(difference, v, extent, c);
    return negative_range(difference, v, extent);
  }

  /// The expression that is negative where the comparison of integers holds (a <= b is a < b + 1).
  std::optional<Expr> comparison_to_zero(const Expr& condition) {
    const Binary* c = condition.as<Binary>();
    if (!c || !is_comparison(c->op) || !c->a.dtype().is_index()) return std::nullopt;
    switch (c->op) {
      case BinaryOp::Lt: return analyzer_.simplify(c->a - c->b);
      case BinaryOp::Le: return analyzer_.simplify(c->a - c->b - 1);
      case BinaryOp::Gt: return analyzer_.simplify(c->b - c->a);
      case BinaryOp::Ge: return analyzer_.simplify(c->b - c->a - 1);
      default: return std::nullopt;
    }
  }

  /// The largest c for which the expression mentions v div c: `v` is an outer loop fused with inner ones of c iterations.
  static std::int64_t fused_with(const Expr& e, const Var& v) {
    std::int64_t largest = 1;
    walk(e, [&](const Expr& x) {
      const Binary* division = as_binary(x, BinaryOp::FloorDiv);
      if (division && division->a.get() == v.get())
        largest = std::max(largest, as_int(division->b).value_or(1));
      return true;
    });
    return largest;
  }

  /// negative_range in terms of v div c, whatever v mod c is.
  std::optional<Interval> satisfied_quotients(const Expr& difference, const Var& v, std::int64_t extent,
                                              std::int64_t c) {
    const Var quotient(v.name() + "_outer");
    const std::int64_t quotients = (extent + c - 1) / c;
    analyzer_.bind_extent(quotient, make_index(quotients));
    std::optional<Interval> range =
        negative_range(replace_quotient(difference, v, c, quotient), quotient, quotients);
    if (!range) return std::nullopt;
    return Interval{range->low * c, std::min(range->high * c, extent)};
  }

  static Expr replace_quotient(const Expr& e, const Var& v, std::int64_t c, const Var& quotient) {
    struct Replace : Mutator {
      using Mutator::mutate_node;
      Expr mutate_node(const Binary& n, const Expr& self) override {
        if (n.op == BinaryOp::FloorDiv && n.a.get() == v.get() && as_int(n.b) == c) return quotient;
        return Mutator::mutate_node(n, self);
      }
      Replace(const Var& v, std::int64_t c, const Var& quotient) : v(v), c(c), quotient(quotient) {}
      const Var& v;
      std::int64_t c;
      const Var& quotient;
    };
    return Replace(v, c, quotient).mutate(e);
  }

  /// For which values of `v` in 0..extent is an expression k*v + rest negative, whatever the rest?
  std::optional<Interval> negative_range(const Expr& difference, const Var& v, std::int64_t extent) {
    const std::optional<arith::Affine> form = arith::affine(difference, {v});
    if (!form || form->coefficients[0] == 0) return std::nullopt;
    const std::int64_t most = analyzer_.bound(form->rest).max;
    if (most > kFar || most < -kFar) return std::nullopt;
    const std::int64_t k = form->coefficients[0];
    // k*v + most < 0
    if (k > 0) return Interval{0, std::clamp<std::int64_t>(floor_div(-most - 1, k) + 1, 0, extent)};
    return Interval{std::clamp<std::int64_t>(floor_div(most, -k) + 1, 0, extent), extent};
  }

  Stmt cut(const For& loop, std::int64_t extent, Interval steady) {
    ++depth_;
    Stmt out = loop.for_kind == ForKind::Parallel
                   ? choose(loop, extent, steady)
                   : pieces(loop, {{0, steady.low}, steady, {steady.high, extent}});
    --depth_;
    return out;
  }

  Stmt cut_each(const For& loop, std::int64_t extent) {
    std::vector<Interval> each;
    for (std::int64_t i = 0; i < extent; ++i) each.push_back({i, i + 1});
    ++depth_;
    Stmt out = pieces(loop, each);
    --depth_;
    return out;
  }

  /// One loop a range, each from 0.
  Stmt pieces(const For& loop, const std::vector<Interval>& ranges) {
    std::vector<Stmt> out;
    for (const Interval& piece : ranges) {
      if (piece.empty()) continue;
      const Var v = loop.var.renamed(loop.var.name());
      analyzer_.bind_extent(v, make_index(piece.high - piece.low));
      Stmt body =
          inside(v, renew(substitute(loop.body, {{loop.var.node(), arith::add(v, make_index(piece.low))}})));
      out.push_back(make_stmt<For>(v, make_index(piece.high - piece.low), loop.for_kind, body, loop.axis,
                                   loop.annotations));
    }
    return make_seq(std::move(out));
  }

  Stmt choose(const For& loop, std::int64_t extent, Interval steady) {
    analyzer_.bind(loop.var, {make_index(steady.low), make_index(steady.high - steady.low)});
    const Stmt free = inside(loop.var, loop.body);
    if (steady.low == 0)
      analyzer_.bind(loop.var, {make_index(steady.high), make_index(extent - steady.high)});
    else
      analyzer_.bind_extent(loop.var, make_index(extent));
    const Stmt guarded = inside(loop.var, renew(loop.body));
    analyzer_.bind_extent(loop.var, make_index(extent));
    Expr here = steady.low > 0 ? Expr(loop.var) >= make_index(steady.low) : true_expr();
    if (steady.high < extent) here = arith::conjunction(here, Expr(loop.var) < make_index(steady.high));
    return make_stmt<For>(loop.var, loop.extent, loop.for_kind, make_stmt<If>(here, free, guarded), loop.axis,
                          loop.annotations);
  }

  std::vector<Var> around_;  ///< the loops around, outermost first
  int depth_ = 0;
};

}  // namespace

Program partition(const Program& program, const Target&, const Options& options) {
  if (!options.partition) return program;
  return program.with_body(Partition(program).mutate(program->body));
}

}  // namespace lathe::lower
