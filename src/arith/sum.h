#pragma once
// Sums: the canonical form of index expressions.
//
//     sum = coefficient[0] * atom[0] + … + constant
//
// An atom is what addition and multiplication by a constant do not look into: a variable, a floor division or
// remainder in reduced form, a minimum or maximum, a product of atoms (variables times run-time sizes), a
// load, … Terms are sorted by key, no two have the same atom, no coefficient is 0. Two sums over the same
// simplifier are equal exactly when their terms are.
//
// The order of terms must not depend on addresses (it would differ from run to run) nor on names (a renamed
// program must stay structurally equal). The key is the smallest rank of the variables in the atom, then the
// class of the atom; a variable's rank is the order in which the analyzer met it. Atoms with equal keys are
// compared by structure.
//
// Atoms are raw pointers: whoever makes a sum keeps them alive (the expression being simplified and
// Simplifier::kept_ do).

#include "arith/checked.h"
#include "arith/inline_vector.h"

namespace lathe::arith {

enum class AtomClass : std::uint8_t { Var, Product, Div, Mod, Min, Max, Select, Other };

struct Term {
  const ExprNode* atom;
  std::int64_t coefficient;
  std::uint64_t key;  ///< smallest rank << 8 | class
  AtomClass atom_class() const { return static_cast<AtomClass>(key & 0xff); }
};

/// The operation that a term of the classes Div, Mod, Min or Max is.
inline const Binary& binary_of(const Term& t) { return *static_cast<const Binary*>(t.atom); }

struct Sum {
  InlineVector<Term, 6> terms;
  std::int64_t constant = 0;

  Sum() = default;
  explicit Sum(std::int64_t c) : constant(c) {}
  bool is_constant() const { return terms.empty(); }
  bool is_constant(std::int64_t value) const { return terms.empty() && constant == value; }
  /// The single atom with coefficient 1 and nothing else; else null.
  const ExprNode* single_atom() const {
    return terms.size() == 1 && constant == 0 && terms[0].coefficient == 1 ? terms[0].atom : nullptr;
  }
  bool has(AtomClass c) const {
    for (const Term& t : terms) {
      if (t.atom_class() == c) return true;
    }
    return false;
  }
  /// gcd of the coefficients; 0 for a constant.
  std::int64_t content() const {
    std::int64_t g = 0;
    for (const Term& t : terms) g = gcd(g, t.coefficient);
    return g;
  }
};

/// Same structure (variables and buffers by identity). Unlike lathe::structural_equal, x equals only x.
bool same(const ExprNode* a, const ExprNode* b);
inline bool same(const Expr& a, const Expr& b) { return same(a.get(), b.get()); }

}  // namespace lathe::arith
