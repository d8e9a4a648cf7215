// Detection of iterator maps.

#include "arith/iter_map.h"

#include "arith/simplifier.h"

namespace lathe::arith {
namespace {

class Detector {
 public:
  Detector(const std::vector<Domain>& loops, const Expr& predicate, Analyzer& analyzer)
      : a_(analyzer), s_(analyzer.simplifier()), session_(s_), loops_(loops) {
    for (const Domain& d : loops) {
      a_.bind_extent(d.var, d.extent);
      map_.marks.push_back({d.var, a_.simplify(d.extent), {}});
    }
    for (const Expr& c : conjuncts(a_.simplify(predicate)))
      conditions_.push_back({s_.as_nonnegative(c), false});
    for (IterMark& loop : map_.marks) {
      const auto limit = limit_of(s_.sum_of(loop.value));
      if (limit && a_.can_prove(*limit <= loop.extent)) loop.extent = *limit;
    }
  }

  std::optional<IterMap> run(const std::vector<Expr>& bindings, const std::vector<Expr>& extents) {
    std::vector<Expr> totals;  // how far each binding's sum reaches, base and predicate considered
    bool onto = true;
    std::vector<bool> decodable;
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      auto sum = read(s_.sum_of(bindings[i]));
      if (!sum) return std::nullopt;
      decodable.push_back(is_decodable(*sum));
      onto &= decodable.back() && reaches(*sum, bindings[i], extents[i]);
      map_.sums.push_back(std::move(*sum));
    }
    map_.injective = covers_marks(decodable);
    // A condition that no dimension accounts for cuts points away.
    for (const Condition& c : conditions_) onto &= c.explained;
    map_.surjective = onto && independent_;
    return std::move(map_);
  }

 private:
  struct Condition {
    std::optional<Sum> nonnegative;
    bool explained;
  };

  bool equal(const Expr& x, const Expr& y) {
    const auto a = as_int(x), b = as_int(y);
    return a && b ? *a == *b : a_.can_prove_equal(x, y);
  }
  bool is_loop_dependent(const ExprNode* e) const {
    return mentions_any(Expr(e), [&](const VarNode* v) {
      for (const Domain& d : loops_) {
        if (d.var.node() == v) return true;
      }
      return false;
    });
  }

  // ---- reading -------------------------------------------------------------------------------------------

  std::optional<IterSum> read(const Sum& sum) {
    IterSum out;
    Sum base(sum.constant);
    for (const Term& t : sum.terms) {
      if (!is_loop_dependent(t.atom)) {
        base.terms.push_back(t);
        continue;
      }
      auto split = read_term(t);
      if (!split) return std::nullopt;
      out.splits.push_back(std::move(*split));
    }
    out.base = s_.to_expr(base);
    sort(out.splits);
    return out;
  }

  /// Largest |scale| first. Run-time scales come before constants, unless proved smaller.
  void sort(std::vector<IterSplit>& splits) {
    std::stable_sort(splits.begin(), splits.end(), [&](const IterSplit& x, const IterSplit& y) {
      const auto a = as_int(x.scale), b = as_int(y.scale);
      if (a && b) return magnitude(*a) > magnitude(*b);
      if (a || b) return !a;
      return degree(x.scale) > degree(y.scale);
    });
  }
  static int degree(const Expr& e) {
    const Binary* m = as_binary(e, BinaryOp::Mul);
    return m ? degree(m->a) + degree(m->b) : e.kind() != ExprKind::IntImm;
  }

  std::optional<IterSplit> read_term(const Term& t) {
    const auto* b = t.atom->kind == ExprKind::Binary ? static_cast<const Binary*>(t.atom) : nullptr;
    IterSplit split;
    split.scale = make_index(t.coefficient);
    if (b && b->op == BinaryOp::Mul) return read_product(t);
    Expr top(t.atom);
    std::optional<Expr> extent;
    if (b && b->op == BinaryOp::FloorMod) {
      if (is_loop_dependent(b->b.get()) || !positive(b->b)) return std::nullopt;
      extent = b->b;
      top = b->a;
    }
    split.lower = make_index(1);
    if (const Binary* d = as_binary(top, BinaryOp::FloorDiv)) {
      if (is_loop_dependent(d->b.get()) || !positive(d->b)) return std::nullopt;
      split.lower = d->b;
      top = d->a;
    }
    const auto mark = mark_of(top);
    if (!mark) return std::nullopt;
    split.mark = *mark;
    const Expr& total = map_.marks[*mark].extent;
    const Expr left = is_int(split.lower, 1) ? total : a_.simplify(ceil_div(total, split.lower));
    // floormod(x, 8) of an x in 0..5 is simplified away, so a remainder is a real one: its extent counts.
    split.extent = extent ? *extent : left;
    if (extent) {
      const auto e = as_int(*extent), l = as_int(left);
      if (e && l && *l < *e) split.extent = left;
    }
    return split;
  }

  bool positive(const Expr& e) { return a_.can_prove_ge(e, 1) || s_.nonzero(s_.sum_of(e)); }

  /// coefficient * factor * factor …, one of which depends on the loops.
  std::optional<IterSplit> read_product(const Term& t) {
    Expr scale = make_index(t.coefficient);
    std::optional<IterSplit> split;
    std::vector<Expr> todo{Expr(t.atom)};
    while (!todo.empty()) {
      const Expr e = todo.back();
      todo.pop_back();
      if (const Binary* m = as_binary(e, BinaryOp::Mul)) {
        todo.push_back(m->a);
        todo.push_back(m->b);
      } else if (!is_loop_dependent(e.get())) {
        scale = mul(e, scale);
      } else {
        if (split) return std::nullopt;
        const Sum atom = s_.atom(e);
        split = read_term(atom.terms[0]);
        if (!split) return std::nullopt;
      }
    }
    if (!split) return std::nullopt;
    split->scale = a_.simplify(scale);
    return split;
  }

  /// The mark with this value: a loop, a known sum, or a new sum when it runs densely from 0.
  std::optional<std::size_t> mark_of(const Expr& value) {
    for (std::size_t i = 0; i < map_.marks.size(); ++i) {
      if (same(map_.marks[i].value, value)) return i;
    }
    if (depth_ > 8) return std::nullopt;
    ++depth_;
    auto sum = read(s_.sum_of(value));
    --depth_;
    if (!sum || !is_int(sum->base, 0) || sum->splits.empty()) return std::nullopt;
    Expr total = make_index(1);
    for (std::size_t i = sum->splits.size(); i-- > 0;) {
      if (!equal(sum->splits[i].scale, total)) return std::nullopt;
      total = a_.simplify(mul(sum->splits[i].extent, total));
    }
    IterMark mark{value, total, std::move(sum->splits)};
    if (auto limit = limit_of(s_.sum_of(value))) {
      if (a_.can_prove(*limit <= total)) mark.extent = *limit;
    }
    map_.marks.push_back(std::move(mark));
    return map_.marks.size() - 1;
  }

  /// K when the predicate says value < K for an outer K, and nothing else of value.
  std::optional<Expr> limit_of(const Sum& value) {
    for (Condition& c : conditions_) {
      if (!c.nonnegative) continue;
      Sum limit = *c.nonnegative;  // K - 1 - value
      if (!s_.accumulate(limit, value, 1)) continue;
      bool outer = true;
      for (const Term& t : limit.terms) outer &= !is_loop_dependent(t.atom);
      if (!outer) continue;
      c.explained = true;
      ++limit.constant;
      return s_.to_expr(limit);
    }
    return std::nullopt;
  }

  // ---- judging -------------------------------------------------------------------------------------------

  /// Mixed radix: each scale is at least what the smaller parts reach together, so the value tells the parts.
  bool is_decodable(const IterSum& sum) {
    Expr reach = make_index(1);
    for (std::size_t i = sum.splits.size(); i-- > 0;) {
      const Expr scale = size_of(sum.splits[i].scale);
      if (!scale.defined() || !a_.can_prove(reach <= scale)) return false;
      reach = a_.simplify(mul(sub(sum.splits[i].extent, 1), scale) + reach);
    }
    return true;
  }

  /// |scale|; undefined when the sign is not known.
  Expr size_of(const Expr& scale) {
    if (const auto c = as_int(scale)) return make_index(magnitude(*c));
    if (a_.can_prove_ge(scale, 1)) return scale;
    if (a_.can_prove_lt(scale, 0)) return a_.simplify(0 - scale);
    return positive_by_extents(scale) ? scale : Expr();
  }
  /// A size that is the extent of a loop is positive wherever the loop runs.
  bool positive_by_extents(const Expr& scale) { return a_.can_prove_ge(scale, 0); }

  /// Does the sum run over exactly 0 .. extent?
  bool reaches(const IterSum& sum, const Expr& binding, const Expr& extent) {
    Expr low = sum.base, total = make_index(1);
    for (std::size_t i = sum.splits.size(); i-- > 0;) {
      const IterSplit& split = sum.splits[i];
      const Expr scale = size_of(split.scale);
      if (!scale.defined() || !equal(scale, total)) return false;
      if (!scale.same_as(split.scale) && !is_positive_literal(split.scale)) {
        low = sub(low, mul(scale, sub(split.extent, 1)));
      }
      total = a_.simplify(mul(split.extent, total));
    }
    if (!equal(low, make_index(0))) return false;
    const auto limit = limit_of(s_.sum_of(binding));
    if (limit && a_.can_prove(*limit <= total)) return equal(*limit, extent);
    return equal(total, extent);
  }
  static bool is_positive_literal(const Expr& e) {
    const auto c = as_int(e);
    return c && *c > 0;
  }

  /// Injective when the parts of every mark that the bindings (and marks above) use put it together again.
  /// On the way: are the parts independent, each used once?
  bool covers_marks(const std::vector<bool>& decodable) {
    std::vector<std::vector<const IterSplit*>> used(map_.marks.size()), known(map_.marks.size());
    for (std::size_t i = 0; i < map_.sums.size(); ++i) {
      for (const IterSplit& s : map_.sums[i].splits) {
        used[s.mark].push_back(&s);
        if (decodable[i]) known[s.mark].push_back(&s);
      }
    }
    bool all = true;
    for (std::size_t m = map_.marks.size(); m-- > 0;) {
      const bool whole = assemble(map_.marks[m], known[m], used[m]);
      all &= whole;
      for (const IterSplit& s : map_.marks[m].parts) {
        used[s.mark].push_back(&s);
        if (whole) known[s.mark].push_back(&s);
      }
    }
    return all;
  }

  bool assemble(const IterMark& mark, const std::vector<const IterSplit*>& known,
                const std::vector<const IterSplit*>& used) {
    Expr reached = make_index(1);
    std::size_t links = 0;
    while (!a_.can_prove(mark.extent <= reached)) {
      const IterSplit* next = nullptr;
      for (const IterSplit* s : known) {
        if (equal(s->lower, reached) && !is_int(s->extent, 1)) next = s;
      }
      if (!next) break;
      reached = a_.simplify(mul(next->extent, reached));
      ++links;
    }
    const bool whole = a_.can_prove(mark.extent <= reached);
    // Every combination of the parts occurs if there is but one part, or they follow each other without a
    // gap, each used once, and the uppermost one is not cut short.
    std::size_t varying = 0;
    for (const IterSplit* s : used) varying += !is_int(s->extent, 1);
    if (varying > 1) independent_ &= varying == links && a_.can_prove(reached <= mark.extent);
    return whole;
  }

  Analyzer& a_;
  Simplifier& s_;
  Simplifier::Session session_;
  const std::vector<Domain>& loops_;
  std::vector<Condition> conditions_;
  IterMap map_;
  bool independent_ = true;
  int depth_ = 0;
};

}  // namespace

std::optional<IterMap> detect_iter_map(const std::vector<Expr>& bindings, const std::vector<Expr>& extents,
                                       const std::vector<Domain>& loops, const Expr& predicate,
                                       Analyzer& analyzer) {
  internal_check(bindings.size() == extents.size(), "detect_iter_map: one extent a binding");
  return Detector(loops, predicate, analyzer).run(bindings, extents);
}

namespace {

/// Works back from the bindings' values to the marks'.
class Inverter {
 public:
  Inverter(const IterMap& map, const std::vector<Expr>& values, Analyzer& a)
      : map_(map), a_(a), parts_(map.marks.size()) {
    for (std::size_t i = 0; i < map.sums.size(); ++i) {
      // Parts that run backwards are counted from their far end, where the binding is smallest.
      Expr low = map.sums[i].base;
      for (const IterSplit& s : map.sums[i].splits) {
        if (is_negative(s.scale)) low = add(low, mul(s.scale, sub(s.extent, 1)));
      }
      take_apart(map.sums[i].splits, sub(values[i], low));
    }
  }

  std::optional<std::vector<Expr>> marks() {
    std::vector<Expr> out(map_.marks.size());
    for (std::size_t m = map_.marks.size(); m-- > 0;) {
      auto value = assemble(m);
      if (!value) return std::nullopt;
      take_apart(map_.marks[m].parts, *value);
      out[m] = std::move(*value);
    }
    return out;
  }

 private:
  struct Part {
    const IterSplit* split;
    Expr value;
  };

  bool is_negative(const Expr& e) { return a_.can_prove_lt(e, 0); }
  bool equal(const Expr& x, const Expr& y) {
    const auto p = as_int(x), q = as_int(y);
    return p && q ? *p == *q : a_.can_prove_equal(x, y);
  }

  /// `value` is counted from the smallest value that the sum takes.
  void take_apart(const std::vector<IterSplit>& splits, const Expr& value) {
    Expr rest = value;
    for (const IterSplit& s : splits) {
      const bool backwards = is_negative(s.scale);
      const Expr scale = backwards ? a_.simplify(0 - s.scale) : s.scale;
      const bool last = &s == &splits.back();
      Expr digit = is_int(scale, 1) ? rest : floordiv(rest, scale);
      if (!last) rest = floormod(rest, scale);
      if (backwards) digit = sub(sub(s.extent, 1), digit);
      parts_[s.mark].push_back({&s, digit});
    }
  }

  std::optional<Expr> assemble(std::size_t m) {
    const IterMark& mark = map_.marks[m];
    Expr reached = make_index(1), value = make_index(0);
    while (!a_.can_prove(mark.extent <= reached)) {
      const Part* next = nullptr;
      for (const Part& p : parts_[m]) {
        if (equal(p.split->lower, reached) && !is_int(p.split->extent, 1)) next = &p;
      }
      if (!next) return std::nullopt;
      value = add(mul(next->value, reached), value);
      reached = a_.simplify(mul(next->split->extent, reached));
    }
    return a_.simplify(value);
  }

  const IterMap& map_;
  Analyzer& a_;
  std::vector<std::vector<Part>> parts_;  ///< by mark
};

}  // namespace

std::optional<VarMap> inverse(const IterMap& map, const std::vector<Domain>& loops,
                              const std::vector<Expr>& values, Analyzer& analyzer) {
  if (!map.injective) return std::nullopt;
  auto marks = Inverter(map, values, analyzer).marks();
  if (!marks) return std::nullopt;
  VarMap out;
  for (std::size_t i = 0; i < loops.size(); ++i) out.emplace(loops[i].var.node(), (*marks)[i]);
  return out;
}

}  // namespace lathe::arith
