// Detection of iterator maps.

#include "arith/iter_map.h"

#include "arith/simplifier.h"
#include "arith/variables.h"

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
    bool onto = true;
    std::vector<bool> decodable;
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      auto sum = read(s_.sum_of(bindings[i]));
      if (!sum) return std::nullopt;
      const std::vector<Digit> digits = digits_of(*sum);
      decodable.push_back(is_decodable(digits));
      onto &= decodable.back() && reaches(sum->base, digits, extents[i]);
      Expr base = sum->base;
      map_.sums.push_back({split_list(std::move(*sum)), std::move(base)});
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
  /// A split with its value as a sum, scale apart.
  struct Part {
    IterSplit split;
    Sum value;
  };
  struct PartSum {
    std::vector<Part> parts;  ///< largest |scale| first
    Expr base;
  };
  /// A digit of a number in mixed radix: one part, or several that a condition limits together, as in
  /// o*5 + (p*2 + i) with p*2 + i < 5.
  struct Digit {
    Expr scale, extent;
    Sum value;
  };

  bool equal(const Expr& x, const Expr& y) {
    const auto a = as_int(x), b = as_int(y);
    return a && b ? *a == *b : a_.can_prove_equal(x, y);
  }
  bool is_loop_dependent(const ExprNode* e) const {
    return any_variable(e, [&](const VarNode* v) {
      for (const Domain& d : loops_) {
        if (d.var.node() == v) return true;
      }
      return false;
    });
  }

  // ---- reading -------------------------------------------------------------------------------------------

  std::optional<PartSum> read(const Sum& sum) {
    PartSum out;
    Sum base(sum.constant);
    for (const Term& t : sum.terms) {
      if (!is_loop_dependent(t.atom)) {
        base.terms.push_back(t);
        continue;
      }
      auto part = read_term(t);
      if (!part) return std::nullopt;
      out.parts.push_back(std::move(*part));
    }
    out.base = s_.to_expr(base);
    sort(out.parts);
    return out;
  }

  static std::vector<IterSplit> split_list(PartSum sum) {
    std::vector<IterSplit> splits;
    splits.reserve(sum.parts.size());
    for (Part& p : sum.parts) splits.push_back(std::move(p.split));
    return splits;
  }

  /// Largest |scale| first; run-time scales, by their number of factors, before constants.
  static void sort(std::vector<Part>& parts) {
    std::stable_sort(parts.begin(), parts.end(), [](const Part& x, const Part& y) {
      const auto a = as_int(x.split.scale), b = as_int(y.split.scale);
      if (a && b) return magnitude(*a) > magnitude(*b);
      if (a || b) return !a;
      return degree(x.split.scale) > degree(y.split.scale);
    });
  }
  static int degree(const Expr& e) {
    const Binary* m = as_binary(e, BinaryOp::Mul);
    return m ? degree(m->a) + degree(m->b) : e.kind() != ExprKind::IntImm;
  }

  std::optional<Part> read_term(const Term& t) {
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
    return Part{std::move(split), s_.term(t)};
  }

  bool positive(const Expr& e) { return a_.can_prove_ge(e, 1) || s_.nonzero(s_.read_sum(e)); }

  /// coefficient * factor * factor …, one of which depends on the loops.
  std::optional<Part> read_product(const Term& t) {
    Expr scale = make_index(t.coefficient);
    std::optional<Part> part;
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
        if (part) return std::nullopt;
        part = read_term(s_.atom(e).terms[0]);
        if (!part) return std::nullopt;
      }
    }
    if (!part) return std::nullopt;
    part->split.scale = a_.simplify(scale);
    return part;
  }

  /// The mark with this value: a loop, a known sum, or a new sum when it runs densely from 0.
  std::optional<std::size_t> mark_of(const Expr& value) {
    for (std::size_t i = 0; i < map_.marks.size(); ++i) {
      if (same(map_.marks[i].value, value)) return i;
    }
    if (depth_ > 8) return std::nullopt;
    ++depth_;
    auto sum = read(s_.read_sum(value));
    --depth_;
    if (!sum || !is_int(sum->base, 0)) return std::nullopt;
    const std::vector<Digit> digits = digits_of(*sum);
    const auto total = dense_extent(digits);
    if (!total) return std::nullopt;
    map_.marks.push_back({value, *total, split_list(std::move(*sum))});
    return map_.marks.size() - 1;
  }

  // ---- digits --------------------------------------------------------------------------------------------

  /// Smallest scale first. Neighbours that a condition limits together become one digit.
  std::vector<Digit> digits_of(const PartSum& sum) {
    std::vector<Digit> digits;
    for (std::size_t i = sum.parts.size(); i-- > 0;) {
      const Part& p = sum.parts[i];
      digits.push_back({p.split.scale, p.split.extent, p.value});
      if (conditions_.empty()) continue;
      for (std::size_t n = 1; n <= digits.size();) n = merge_last(digits, n) ? 1 : n + 1;
    }
    return digits;
  }

  bool merge_last(std::vector<Digit>& digits, std::size_t n) {
    const std::size_t first = digits.size() - n;
    Sum group, unit(1);
    Expr total = make_index(1);
    for (std::size_t i = first; i < digits.size(); ++i) {
      const Digit& d = digits[i];
      if (i > first && !equal(d.scale, mul(total, digits[first].scale))) return false;
      const auto scaled = s_.product(d.value, unit);
      auto next = s_.product(unit, s_.read_sum(d.extent));
      if (!scaled || !next || !s_.accumulate(group, *scaled, 1)) return false;
      unit = std::move(*next);
      total = a_.simplify(mul(d.extent, total));
    }
    const auto limit = limit_of(group);
    if (!limit || !a_.can_prove(*limit <= total) || (n == 1 && equal(*limit, total))) return false;
    Digit merged{digits[first].scale, *limit, std::move(group)};
    digits.resize(first);
    digits.push_back(std::move(merged));
    return true;
  }

  /// The extent of a sum that takes every value from 0 on.
  std::optional<Expr> dense_extent(const std::vector<Digit>& digits) {
    Expr total = make_index(1);
    for (const Digit& d : digits) {
      if (!equal(d.scale, total)) return std::nullopt;
      total = a_.simplify(mul(d.extent, total));
    }
    if (digits.empty()) return std::nullopt;
    return total;
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
  bool is_decodable(const std::vector<Digit>& digits) {
    Expr reach = make_index(1);
    for (const Digit& d : digits) {
      const Expr scale = size_of(d.scale);
      if (!scale.defined() || !a_.can_prove(reach <= scale)) return false;
      reach = a_.simplify(mul(sub(d.extent, 1), scale) + reach);
    }
    return true;
  }

  /// |scale|; undefined when the sign is not known.
  Expr size_of(const Expr& scale) {
    if (const auto c = as_int(scale)) return make_index(magnitude(*c));
    if (a_.can_prove_ge(scale, 1)) return scale;
    if (a_.can_prove_lt(scale, 0)) return a_.simplify(0 - scale);
    // A size that may be 0 passes: where it is, `reach <= scale` is what tells.
    return a_.can_prove_ge(scale, 0) ? scale : Expr();
  }

  /// Does the sum run over exactly 0 .. extent?
  bool reaches(const Expr& base, const std::vector<Digit>& digits, const Expr& extent) {
    Expr low = base, total = make_index(1);
    for (const Digit& d : digits) {
      const Expr scale = size_of(d.scale);
      if (!scale.defined() || !equal(scale, total)) return false;
      if (a_.can_prove_lt(d.scale, 0)) low = sub(low, mul(scale, sub(d.extent, 1)));
      total = a_.simplify(mul(d.extent, total));
    }
    return equal(low, make_index(0)) && equal(total, extent);
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
    for (std::size_t i = 0; i < map.sums.size(); ++i) read(map.sums[i], values[i]);
  }

  std::optional<std::vector<Expr>> marks() {
    std::vector<Expr> out(map_.marks.size());
    for (std::size_t m = map_.marks.size(); m-- > 0;) {
      auto value = assemble(m);
      if (!value) return std::nullopt;
      take_apart(map_.marks[m].parts, *value, {});
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

  void read(const IterSum& sum, const Expr& value) {
    std::vector<bool> backwards;
    bool all = !sum.splits.empty();
    for (const IterSplit& s : sum.splits) {
      backwards.push_back(is_negative(s.scale));
      all &= backwards.back();
    }
    if (all) return take_apart(sum.splits, sub(sum.base, value), {});
    // Parts that run backwards are counted from their far end, where the binding is smallest.
    Expr low = sum.base;
    for (std::size_t i = 0; i < sum.splits.size(); ++i) {
      const IterSplit& s = sum.splits[i];
      if (backwards[i]) low = add(low, mul(s.scale, sub(s.extent, 1)));
    }
    take_apart(sum.splits, sub(value, low), backwards);
  }

  /// `value` is the sum of the parts times their |scale|; those in `backwards` count down.
  void take_apart(const std::vector<IterSplit>& splits, const Expr& value,
                  const std::vector<bool>& backwards) {
    Expr rest = value;
    for (std::size_t i = 0; i < splits.size(); ++i) {
      const IterSplit& s = splits[i];
      const Expr scale = is_negative(s.scale) ? a_.simplify(0 - s.scale) : s.scale;
      Expr digit = is_int(scale, 1) ? rest : floordiv(rest, scale);
      if (i + 1 < splits.size()) rest = floormod(rest, scale);
      if (!backwards.empty() && backwards[i]) digit = sub(sub(s.extent, 1), digit);
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
