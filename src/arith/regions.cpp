#include "arith/regions.h"

#include "arith/interval.h"

namespace lathe::arith {
namespace {

/// One dimension while it is being relaxed.
struct Dimension {
  Interval interval;
  bool whole = false;  ///< no ends known: the whole dimension
};

class Relaxer {
 public:
  Relaxer(const BufferRegion& region, const std::vector<Domain>& over, const Expr& predicate,
          Analyzer& analyzer)
      : region_(region), s_(analyzer.simplifier()), session_(s_) {
    for (const Domain& d : over) {
      s_.bind(d.var, {0, d.extent});
      vars_.push_back(d.var);
    }
    predicate_ = s_.simplify(predicate);
    for (const Domain& d : over) nothing_runs_ |= s_.bound(s_.sum_of(d.extent)).max <= 0;
  }

  Region run() {
    Region out;
    out.region.buffer = region_.buffer;
    if (nothing_runs_ || is_int(predicate_, 0)) return empty();
    const auto mark = s_.assume_simplified(predicate_);
    IntervalFinder finder(s_, vars_);
    std::vector<Dimension> dims;
    for (std::size_t d = 0; d < region_.ranges.size(); ++d) dims.push_back(dimension(finder, d));
    out.exact = explain_predicate(finder, dims);
    s_.retract(mark);

    std::uint64_t used = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      Interval& i = dims[d].interval;
      const Expr& size = region_.buffer->shape[d];
      if (dims[d].whole) {
        out.exact = false;
        out.region.ranges.push_back({0, size});
        continue;
      }
      if (i.width.is_constant() && i.width.constant < 0) return empty();
      if (!clip_constant(i, size)) return empty();
      out.exact &= i.exact() && (used & i.uses) == 0;
      used |= i.uses;
      Sum extent = i.width;
      ++extent.constant;
      out.region.ranges.push_back({s_.to_expr(i.low), s_.to_expr(extent)});
    }
    return out;
  }

 private:
  Region empty() const {
    Region out;
    out.region.buffer = region_.buffer;
    for (std::size_t d = 0; d < region_.ranges.size(); ++d) out.region.ranges.push_back({0, 0});
    return out;
  }

  static bool depends_on_data(const Sum& s) {
    bool loads = false;
    for (const Term& t : s.terms) {
      if (t.atom_class() == AtomClass::Var) continue;
      walk(Expr(t.atom), [&](const Expr& e) {
        const Call* call = e.as<Call>();
        loads |= e.kind() == ExprKind::Load || (call && !is_pure(call->op));
        return !loads;
      });
    }
    return loads;
  }

  Dimension dimension(IntervalFinder& finder, std::size_t d) {
    Dimension out;
    const Sum low = s_.sum_of(region_.ranges[d].min), extent = s_.sum_of(region_.ranges[d].extent);
    indices_.push_back(low);
    // Which element a data-dependent subscript means is known only when it runs: its bounds at most. Those of its type are
    // no better than a dimension of run-time extent.
    const bool data = depends_on_data(low);
    if (depends_on_data(extent) || (data && !as_int(region_.buffer->shape[d]))) return {{}, true};
    auto interval = data ? finder.by_bound(low) : finder.of(low);
    auto widest = finder.of(extent);
    if (!interval || !widest) return {{}, true};
    Interval& i = *interval;
    // The range adds its own steps: a stride that it fills is contiguous.
    Sum reach = widest->low;
    if (!s_.accumulate(reach, widest->width, 1)) return {{}, true};
    if (!checked_sub(reach.constant, 1, reach.constant) || !s_.accumulate(i.width, reach, 1))
      return {{}, true};
    if (i.gap > 1 && i.gap != Interval::kUnknownGap && extent.is_constant() && extent.constant >= i.gap) {
      i.gap = 1;
    }
    if (!widest->width.is_constant(0)) i.tight = false;
    if (!extent.is_constant(1)) {
      i.gap = std::max<std::int64_t>(i.gap, 1);
      point_ = false;
    }
    out.interval = std::move(i);
    return out;
  }

  /// Is each part of the predicate accounted for? A condition on one variable narrowed that variable's range.
  /// One on several clips a dimension whose subscript is just that sum.
  bool explain_predicate(IntervalFinder& finder, std::vector<Dimension>& dims) {
    bool all = true;
    for (const Expr& c : conjuncts(predicate_)) {
      const std::uint64_t uses = finder.uses(c.get());
      auto s = s_.as_nonnegative(c);
      if (!s || uses == 0) {
        all = false;
        continue;
      }
      if (s->terms.size() == 1 && s->terms[0].atom_class() == AtomClass::Var) continue;
      all &= clips_a_dimension(finder, *s, dims);
    }
    return all;
  }

  /// condition >= 0 is a limit U - subscript or subscript - L, L and U of outer variables: the dimension ends
  /// there. It does so exactly only where the limit is known to lie inside.
  bool clips_a_dimension(IntervalFinder& finder, const Sum& condition, std::vector<Dimension>& dims) {
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].whole || !point_) continue;
      for (const std::int64_t sign : {1, -1}) {
        Sum limit = condition;  // what is left when the subscript is taken out
        if (!s_.accumulate(limit, indices_[d], -sign)) continue;
        bool outer = true;
        for (const Term& t : limit.terms) outer &= finder.uses(t.atom) == 0;
        if (!outer) continue;
        return clip_at(dims[d].interval, limit, sign);
      }
    }
    return false;
  }

  /// sign*subscript + limit >= 0
  bool clip_at(Interval& i, const Sum& limit, std::int64_t sign) {
    Sum high = i.low;
    if (!s_.accumulate(high, i.width, 1)) return false;
    Sum spare = limit;  // at the end that is clipped: how far the limit lies beyond it
    if (!s_.accumulate(spare, sign > 0 ? i.low : high, sign)) return false;
    const bool contiguous = i.gap <= 1;
    if (spare.is_constant() && spare.constant == 0) {  // already narrowed to the limit
      i.narrowed = false;
      return contiguous;
    }
    if (s_.nonnegative(spare)) return true;
    Sum opposite;
    if (!contiguous || !s_.accumulate(opposite, spare, -1) || !s_.nonnegative(opposite)) return false;
    if (sign > 0 && !s_.accumulate(i.low, spare, -1)) return false;
    return s_.accumulate(i.width, spare, 1);
  }

  /// Clips to 0 .. size where that needs no min(); false when nothing is left.
  bool clip_constant(Interval& i, const Expr& size_expr) {
    const Sum size = s_.sum_of(size_expr);
    if (!i.width.is_constant()) return true;
    if (i.low.is_constant()) {
      std::int64_t low = i.low.constant, high = add_high(low, i.width.constant);
      low = std::max<std::int64_t>(low, 0);
      if (size.is_constant()) high = std::min(high, size.constant - 1);
      if (high < low) return false;
      i.low = Sum(low);
      i.width = Sum(high - low);
      return true;
    }
    if (size.is_constant() && i.width.constant >= size.constant) {
      i.low = Sum(0);
      i.width = Sum(size.constant - 1);
      i.tight = false;
    }
    return true;
  }

  const BufferRegion& region_;
  Simplifier& s_;
  Simplifier::Session session_;
  std::vector<Var> vars_;
  Expr predicate_;
  std::vector<Sum> indices_;
  bool nothing_runs_ = false;
  bool point_ = true;  ///< every range so far is a single element
};

}  // namespace

Region relax(const BufferRegion& region, const std::vector<Domain>& over, const Expr& predicate,
             Analyzer& analyzer) {
  return Relaxer(region, over, predicate, analyzer).run();
}

// ---- boxes
// ----------------------------------------------------------------------------------------------------

namespace {

bool is_empty(const BufferRegion& r) {
  for (const Range& d : r.ranges) {
    if (auto e = as_int(d.extent); e && *e <= 0) return true;
  }
  return false;
}

Expr end_of(const Range& r) { return add(r.min, r.extent); }

/// The range around both. Where their places differ by a bounded amount the extent stays a constant.
Range hull(const Range& a, const Range& b, Analyzer& analyzer, bool& same_range) {
  same_range = false;
  const Expr apart = analyzer.simplify(b.min - a.min);
  const Expr ends_apart = analyzer.simplify(end_of(b) - end_of(a));
  const ConstBound low = analyzer.bound(apart), high = analyzer.bound(ends_apart);
  same_range = low.min == 0 && low.max == 0 && high.min == 0 && high.max == 0;
  const bool a_first = low.min >= 0 || analyzer.can_prove_ge(apart, 0);
  const bool b_first = low.max <= 0 || analyzer.can_prove_lt(apart, 1);
  const bool b_last = high.min >= 0 || analyzer.can_prove_ge(ends_apart, 0);
  const bool a_last = high.max <= 0 || analyzer.can_prove_lt(ends_apart, 1);
  Range out;
  if (a_first || b_first) {
    out.min = a_first ? a.min : b.min;
  } else if (low.bounded()) {
    out.min = analyzer.simplify(a.min + make_index(low.min));
  } else {
    out.min = analyzer.simplify(min(a.min, b.min));
  }
  Expr end;
  if (a_last || b_last) {
    end = end_of(b_last ? b : a);
  } else if (high.bounded()) {
    end = end_of(a) + make_index(high.max);
  } else {
    end = max(end_of(a), end_of(b));
  }
  out.extent = analyzer.simplify(end - out.min);
  return out;
}

/// Do the ranges overlap or touch for sure, with ends that are one of theirs? Then the hull is the union.
bool meet(const Range& a, const Range& b, Analyzer& analyzer) {
  return analyzer.can_prove(a.min <= end_of(b)) && analyzer.can_prove(b.min <= end_of(a));
}

/// Is every end of the hull provably an end of one of the two?
bool ends_are_theirs(const BufferRegion& hull, const BufferRegion& a, const BufferRegion& b,
                     Analyzer& analyzer) {
  for (std::size_t d = 0; d < hull.ranges.size(); ++d) {
    const Range &h = hull.ranges[d], &x = a.ranges[d], &y = b.ranges[d];
    if (!analyzer.can_prove_equal(h.min, min(x.min, y.min)) ||
        !analyzer.can_prove_equal(end_of(h), max(end_of(x), end_of(y)))) {
      return false;
    }
  }
  return true;
}

}  // namespace

Region unite(const Region& a, const Region& b, Analyzer& analyzer) {
  internal_check(a.region.buffer.same_as(b.region.buffer), "unite: regions of different buffers");
  if (is_empty(a.region)) return b;
  if (is_empty(b.region)) return a;
  Region out;
  out.region.buffer = a.region.buffer;
  int differing = 0;
  bool meeting = true;
  for (std::size_t d = 0; d < a.region.ranges.size(); ++d) {
    bool equal;
    out.region.ranges.push_back(hull(a.region.ranges[d], b.region.ranges[d], analyzer, equal));
    if (equal) continue;
    ++differing;
    meeting &= meet(a.region.ranges[d], b.region.ranges[d], analyzer);
  }
  out.exact = a.exact && b.exact && (differing == 0 || (differing == 1 && meeting));
  if (out.exact && differing == 1) {
    // The hull may reach beyond both where it was kept constant.
    out.exact = covers(a.region, out.region, analyzer) || covers(b.region, out.region, analyzer) ||
                ends_are_theirs(out.region, a.region, b.region, analyzer);
  }
  if (!out.exact && a.exact)
    out.exact = covers(a.region, b.region, analyzer) && covers(a.region, out.region, analyzer);
  if (!out.exact && b.exact)
    out.exact = covers(b.region, a.region, analyzer) && covers(b.region, out.region, analyzer);
  return out;
}

BufferRegion clip(const BufferRegion& region, Analyzer& analyzer) {
  BufferRegion out;
  out.buffer = region.buffer;
  for (std::size_t d = 0; d < region.ranges.size(); ++d) {
    const Range& r = region.ranges[d];
    const Expr& size = region.buffer->shape[d];
    const Expr low = analyzer.simplify(max(r.min, make_index(0)));
    const Expr end = analyzer.simplify(min(end_of(r), size));
    out.ranges.push_back({low, analyzer.simplify(max(end - low, make_index(0)))});
  }
  return out;
}

BufferRegion whole(const Buffer& buffer) {
  BufferRegion out;
  out.buffer = buffer;
  for (const Expr& size : buffer->shape) out.ranges.push_back({0, size});
  return out;
}

bool covers(const BufferRegion& outer, const BufferRegion& inner, Analyzer& analyzer) {
  if (!outer.buffer.same_as(inner.buffer)) return false;
  if (is_empty(inner)) return true;
  for (std::size_t d = 0; d < outer.ranges.size(); ++d) {
    const Range &o = outer.ranges[d], &i = inner.ranges[d];
    const Expr& size = outer.buffer->shape[d];
    const bool from =
        is_int(o.min, 0) || analyzer.can_prove(o.min <= i.min) || analyzer.can_prove(o.min <= 0);
    if (!from) return false;
    if (!analyzer.can_prove(end_of(i) <= end_of(o)) && !analyzer.can_prove(size <= end_of(o))) return false;
  }
  return true;
}

bool disjoint(const BufferRegion& a, const BufferRegion& b, Analyzer& analyzer) {
  if (!a.buffer.same_as(b.buffer) || is_empty(a) || is_empty(b)) return true;
  for (std::size_t d = 0; d < a.ranges.size(); ++d) {
    if (analyzer.can_prove(end_of(a.ranges[d]) <= b.ranges[d].min) ||
        analyzer.can_prove(end_of(b.ranges[d]) <= a.ranges[d].min)) {
      return true;
    }
  }
  return false;
}

}  // namespace lathe::arith
