// Minimum and maximum.
//
//   min(x, y) = x where x <= y is proved
//   min(c + x, c + y) = c + min(x, y)   for common terms and a common constant
//   min(g*x, g*y) = g*min(x, y),  min(-g*x, -g*y) = -g*max(x, y)   for g > 0: the sign turns the operator
//   min(min(x, y), z): operands that another one is proved to undercut are dropped; sorted

#include "arith/simplifier.h"

namespace lathe::arith {
namespace {

constexpr std::size_t kMaxOperands = 8;  // longer chains stay as they are written

BinaryOp opposite(BinaryOp op) { return op == BinaryOp::Min ? BinaryOp::Max : BinaryOp::Min; }

}  // namespace

/// Proved that `x` is chosen over `y`?
bool Simplifier::wins(BinaryOp op, const Sum& x, const Sum& y) {
  Sum gap = op == BinaryOp::Min ? y : x;
  return accumulate(gap, op == BinaryOp::Min ? x : y, -1) && nonnegative(gap);
}

/// The operands of a chain, also through common parts that were taken out of an inner one: r + c*min(x, y)
/// for c > 0, and r + c*max(x, y) for c < 0, are min(r + c*x, r + c*y).
void Simplifier::collect_operands(BinaryOp op, const Sum& s, std::vector<Sum>& out) {
  if (out.size() > kMaxOperands) return;
  const Term* inner = nullptr;
  for (const Term& t : s.terms) {
    const AtomClass cls = t.atom_class();
    if (cls != AtomClass::Min && cls != AtomClass::Max) continue;
    if ((cls == AtomClass::Min) != ((op == BinaryOp::Min) == (t.coefficient > 0))) continue;
    if (inner) {  // two: which to open would be arbitrary
      inner = nullptr;
      break;
    }
    inner = &t;
  }
  if (inner) {
    const auto* b = static_cast<const Binary*>(inner->atom);
    Sum rest = s;
    bool fits = accumulate(rest, atom_with_key(inner->atom, inner->key), -inner->coefficient);
    Sum x = rest, y = rest;
    fits = fits && accumulate(x, read_sum(b->a), inner->coefficient) &&
           accumulate(y, read_sum(b->b), inner->coefficient);
    if (fits) {
      collect_operands(op, x, out);
      collect_operands(op, y, out);
      return;
    }
  }
  for (const Sum& other : out) {
    if (wins(op, other, s)) return;
  }
  std::erase_if(out, [&](const Sum& other) { return wins(op, s, other); });
  out.push_back(s);
}

Sum Simplifier::extremum(BinaryOp op, const Sum& a, const Sum& b, const Expr& hint) {
  std::vector<Sum> operands;
  operands.reserve(2);
  collect_operands(op, a, operands);
  collect_operands(op, b, operands);
  if (operands.size() == 1) return operands[0];
  if (operands.size() > kMaxOperands) return binary_atom(op, a, b, hint);

  // What all have in common goes outside.
  Sum common;
  for (const Term& t : operands[0].terms) {
    bool everywhere = true;
    for (std::size_t i = 1; i < operands.size() && everywhere; ++i) {
      bool here = false;
      for (const Term& u : operands[i].terms) {
        here |= u.key == t.key && u.coefficient == t.coefficient && same(u.atom, t.atom);
      }
      everywhere = here;
    }
    if (everywhere) common.terms.push_back(t);
  }
  common.constant = operands[0].constant;
  for (const Sum& s : operands) {
    if (s.constant != common.constant) common.constant = 0;
  }
  std::int64_t content = 0;
  bool turn = false;
  for (Sum& s : operands) {
    if (!accumulate(s, common, -1)) return binary_atom(op, a, b, hint);
    content = gcd(gcd(content, s.content()), s.constant);
  }
  if (content == 0) content = 1;
  // Turned only when no term is positive: else turning would not settle.
  for (const Sum& s : operands) turn |= !s.terms.empty();
  for (const Sum& s : operands) {
    turn &= s.constant != INT64_MIN;
    for (const Term& t : s.terms) turn &= t.coefficient < 0;
  }
  const std::int64_t factor = turn ? -content : content;
  for (Sum& s : operands) {
    for (Term& t : s.terms) t.coefficient /= factor;
    s.constant /= factor;
  }
  if (turn) op = opposite(op);
  std::sort(operands.begin(), operands.end(), [&](const Sum& x, const Sum& y) { return compare(x, y) < 0; });
  // A constant is written last: max(x, 0).
  std::stable_partition(operands.begin(), operands.end(), [](const Sum& s) { return !s.is_constant(); });
  Sum chain = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const bool last = i + 1 == operands.size();
    chain = binary_atom(op, chain, operands[i], last ? hint : Expr());
  }
  Sum out = common;
  if (!accumulate(out, chain, factor)) return binary_atom(turn ? opposite(op) : op, a, b, hint);
  return out;
}

}  // namespace lathe::arith
