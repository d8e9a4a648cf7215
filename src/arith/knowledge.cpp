// What is known about variables, and conditions assumed.

#include "arith/simplifier.h"

namespace lathe::arith {

// ---- sessions and ranks
// ---------------------------------------------------------------------------------------

void Simplifier::open() {
  if (sessions_++ == 0) {
    depth_ = 0;
    budget_ = kSteps;
    visits_ = 0;
    impure_ = 0;
  }
}

void Simplifier::close() {
  if (--sessions_ > 0) return;
  kept_.clear();
  forget_from(permanent_);
  if (assumed_.empty() && ranges_.empty()) buffers_.clear();
}

namespace {
std::size_t slot_of(const VarNode* v, std::size_t mask) {
  auto bits = reinterpret_cast<std::uintptr_t>(v);
  return static_cast<std::size_t>((bits >> 4) * 0x9E3779B97F4A7C15ull >> 20) & mask;
}
}  // namespace

std::uint32_t Simplifier::find(const VarNode* v) const {
  if (slots_.empty()) return kNone;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = slot_of(v, mask); slots_[i]; i = (i + 1) & mask) {
    if (variables_[slots_[i] - 1].node == v) return slots_[i] - 1;
  }
  return kNone;
}

std::uint32_t Simplifier::rank(const VarNode* v) {
  const std::uint32_t known = find(v);
  if (known != kNone) return known;
  variables_.push_back({v, Var(), {}, {}, {}});
  if (2 * variables_.size() > slots_.size()) {
    rehash();
  } else {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = slot_of(v, mask);
    while (slots_[i]) i = (i + 1) & mask;
    slots_[i] = static_cast<std::uint32_t>(variables_.size());
  }
  return static_cast<std::uint32_t>(variables_.size() - 1);
}

void Simplifier::rehash() {
  std::size_t size = 32;
  while (size < 4 * variables_.size()) size *= 2;
  slots_.assign(size, 0);
  for (std::size_t r = 0; r < variables_.size(); ++r) {
    std::size_t i = slot_of(variables_[r].node, size - 1);
    while (slots_[i]) i = (i + 1) & (size - 1);
    slots_[i] = static_cast<std::uint32_t>(r + 1);
  }
}

/// Takes the youngest entries out. The youngest never lies in the middle of another's probe chain, so
/// clearing its slot is enough.
void Simplifier::forget_from(std::uint32_t first) {
  while (variables_.size() > first) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = slot_of(variables_.back().node, mask);
    while (slots_[i] != variables_.size()) i = (i + 1) & mask;
    slots_[i] = 0;
    variables_.pop_back();
  }
}

Simplifier::Variable& Simplifier::entry(const Var& v) {
  const std::uint32_t r = rank(v.node());
  variables_[r].owner = v;
  return variables_[r];
}

// ---- ranges
// ---------------------------------------------------------------------------------------------------

void Simplifier::drop_ranges(const VarNode* v) {
  std::erase_if(ranges_, [&](const Fact& f) { return f.var == v; });
  const std::uint32_t r = find(v);
  for (Undo& u : undo_) {
    if (u.rank == r) u.rank = kNone;  // what is restored later must not be the range replaced now
  }
}

void Simplifier::add_fact(Sum s, std::vector<Fact>& to, const VarNode* var) {
  Fact fact;
  fact.owned.reserve(s.terms.size());
  for (const Term& t : s.terms) fact.owned.emplace_back(t.atom);
  fact.sum = std::move(s);
  fact.var = var;
  to.push_back(std::move(fact));
}

void Simplifier::bind(const Var& var, const Range& range) {
  Session session(*this);
  const Sum low = sum_of(range.min), extent = sum_of(range.extent);
  drop_ranges(var.node());
  const std::uint32_t r = rank(var.node());
  entry(var);
  Sum high = low;
  const bool fits = accumulate(high, extent, 1) && accumulate(high, Sum(1), -1);
  ConstBound b{bound(low).min, fits ? bound(high).max : kPlusInf};
  variables_[r].modular = {};
  variables_[r].value = {};
  variables_[r].bound = b;
  if (extent.is_constant(1)) {
    if (!low.is_constant()) variables_[r].value = to_expr(low);
  } else {
    const Sum self = atom_with_key(var.get(), std::uint64_t{r} << 8);
    Sum above = self, below = high;
    if (!low.is_constant() && accumulate(above, low, -1)) add_fact(std::move(above), ranges_, var.node());
    if (fits && !high.is_constant() && accumulate(below, self, -1)) {
      add_fact(std::move(below), ranges_, var.node());
    }
  }
  permanent_ = static_cast<std::uint32_t>(variables_.size());
}

void Simplifier::bind_value(const Var& var, const Expr& value) {
  Session session(*this);
  const Expr simple = simplify(value);
  drop_ranges(var.node());
  Variable& v = entry(var);
  v.bound = {};
  v.modular = {};
  v.value = simple;
  permanent_ = static_cast<std::uint32_t>(variables_.size());
}

void Simplifier::bind_size(const Var& var) {
  Session session(*this);
  drop_ranges(var.node());
  Variable& v = entry(var);
  v.bound = {0, kPlusInf};
  v.modular = {};
  v.value = {};
  permanent_ = static_cast<std::uint32_t>(variables_.size());
}

std::optional<std::pair<Sum, Sum>> Simplifier::range_of(const VarNode* v) const {
  const std::uint32_t r = find(v);
  if (r == kNone) return std::nullopt;
  auto* self = const_cast<Simplifier*>(this);
  const Sum var = atom_with_key(v, std::uint64_t{r} << 8);
  Sum low(variables_[r].bound.min), high(variables_[r].bound.max);
  for (const Fact& fact : ranges_) {
    if (fact.var != v) continue;
    for (const Term& t : fact.sum.terms) {
      if (t.atom != v) continue;
      // A run-time end is the exact one; but one with a minimum in it gives way to its constant bound.
      Sum& end = t.coefficient > 0 ? low : high;
      const bool clipped = fact.sum.has(AtomClass::Min) || fact.sum.has(AtomClass::Max);
      if (clipped && !is_inf(end.constant)) continue;
      Sum other;  // i - min >= 0 gives min, max - i >= 0 gives max
      if (self->accumulate(other, fact.sum, t.coefficient > 0 ? -1 : 1) && self->accumulate(other, var, 1)) {
        end = other;
      }
    }
  }
  if ((low.is_constant() && is_inf(low.constant)) || (high.is_constant() && is_inf(high.constant))) {
    return std::nullopt;
  }
  Sum width = high;
  if (!self->accumulate(width, low, -1)) return std::nullopt;
  return std::pair(low, width);
}

// ---- assumptions
// ----------------------------------------------------------------------------------------------

Simplifier::Mark Simplifier::assume(const Expr& condition) {
  const Mark mark{assumed_.size(), truths_.size(), undo_.size()};
  Session session(*this);
  assume_simplified(simplify(condition));
  if (sessions_ == 1) {
    for (std::uint32_t r = permanent_; r < variables_.size(); ++r) {
      variables_[r].owner = Var(variables_[r].node);
    }
    permanent_ = static_cast<std::uint32_t>(variables_.size());
  }
  return mark;
}

/// For use inside a session: `condition` is in canonical form, and is not brought into it once more (in a
/// nest of && that would cost a doubling a level).
Simplifier::Mark Simplifier::assume_simplified(const Expr& condition) {
  const Mark mark{assumed_.size(), truths_.size(), undo_.size()};
  const Binary* b = as_binary(condition, BinaryOp::And);
  if (!b) {
    if (!is_true(condition)) note(condition);
  } else {
    assume_simplified(b->a);
    assume_simplified(b->b);
  }
  return mark;
}

void Simplifier::retract(const Mark& mark) {
  while (undo_.size() > mark.undo) {
    const Undo& u = undo_.back();
    if (u.rank != kNone) {
      variables_[u.rank].bound = u.bound;
      variables_[u.rank].modular = u.modular;
    }
    undo_.pop_back();
  }
  if (assumed_.size() > mark.facts) assumed_.resize(mark.facts);
  if (truths_.size() > mark.truths) truths_.resize(mark.truths);
}

void Simplifier::save(std::uint32_t rank) {
  undo_.push_back({rank, variables_[rank].bound, variables_[rank].modular});
}

void Simplifier::note(const Expr& conjunct) {
  const Binary* b = conjunct.as<Binary>();
  if (b && is_comparison(b->op) && b->a.dtype() == index_type) {
    if (b->op == BinaryOp::Eq || b->op == BinaryOp::Ne) {
      Sum difference = read_sum(b->a);
      if (accumulate(difference, read_sum(b->b), -1)) {
        if (b->op == BinaryOp::Eq) {
          note_equal(difference);
        } else {
          // x != k at the edge of what x can be moves the edge.
          Sum opposite;
          if (bound(difference).min == 0) {
            if (accumulate(difference, Sum(1), -1)) note_nonnegative(difference);
          } else if (bound(difference).max == 0 && accumulate(opposite, difference, -1) &&
                     accumulate(opposite, Sum(1), -1)) {
            note_nonnegative(opposite);
          }
        }
      }
    } else if (auto s = as_nonnegative(conjunct)) {
      note_nonnegative(*s);
      return;
    }
  }
  truths_.push_back(conjunct);
}

void Simplifier::note_nonnegative(const Sum& given) {
  if (given.is_constant()) return;
  Sum s = given;
  const std::int64_t g = s.content();
  if (g > 1) {
    for (Term& t : s.terms) t.coefficient /= g;
    s.constant = floor_div(s.constant, g);
  }
  if (s.terms.size() == 1 && s.terms[0].atom_class() == AtomClass::Var &&
      magnitude(s.terms[0].coefficient) == 1 && s.constant != INT64_MIN) {
    const std::uint32_t r = static_cast<std::uint32_t>(s.terms[0].key >> 8);
    save(r);
    ConstBound& b = variables_[r].bound;
    if (s.terms[0].coefficient == 1) {
      b.min = std::max(b.min, -s.constant);
    } else {
      b.max = std::min(b.max, s.constant);
    }
    return;
  }
  add_fact(std::move(s), assumed_, nullptr);
}

void Simplifier::note_equal(const Sum& s) {
  Sum opposite;
  if (accumulate(opposite, s, -1)) note_nonnegative(opposite);
  note_nonnegative(s);
  // floormod(v, c) == k is a congruence of v.
  if (s.terms.size() != 1 || s.terms[0].atom_class() != AtomClass::Mod) return;
  const auto* mod = static_cast<const Binary*>(s.terms[0].atom);
  const auto c = as_int(mod->b);
  const VarNode* v = mod->a.as<VarNode>();
  if (!v || !c || *c <= 1 || magnitude(s.terms[0].coefficient) != 1) return;
  const std::int64_t k = s.terms[0].coefficient == 1 ? -s.constant : s.constant;
  const std::uint32_t r = find(v);
  if (r == kNone || k < 0 || k >= *c) return;
  ModularSet& m = variables_[r].modular;
  if (m.coefficient == 1 || (m.coefficient > 0 && *c % m.coefficient == 0)) {
    save(r);
    m = {*c, k};
  }
}

}  // namespace lathe::arith
