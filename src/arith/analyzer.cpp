#include "arith/analyzer.h"

#include "arith/simplifier.h"

namespace lathe::arith {

struct Analyzer::State : Simplifier {
  std::vector<Mark> marks;  ///< of the assumptions in force
};

Analyzer::Analyzer() : state_(std::make_unique<State>()) {}
Analyzer::~Analyzer() = default;
Analyzer::Analyzer(Analyzer&&) noexcept = default;
Analyzer& Analyzer::operator=(Analyzer&&) noexcept = default;

void Analyzer::bind(const Var& var, const Range& range) { state_->bind(var, range); }
void Analyzer::bind_value(const Var& var, const Expr& value) { state_->bind_value(var, value); }
void Analyzer::bind_size(const Var& var) { state_->bind_size(var); }

Analyzer::Assumption Analyzer::assume(const Expr& condition) {
  state_->marks.push_back(state_->assume(condition));
  return Assumption(this, state_->marks.size() - 1);
}

Analyzer::Assumption::Assumption(Analyzer* owner, std::size_t size) : owner_(owner), size_(size) {}
Analyzer::Assumption::Assumption(Assumption&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), size_(other.size_) {}
Analyzer::Assumption::~Assumption() {
  if (!owner_ || owner_->state_->marks.size() <= size_) return;
  owner_->state_->retract(owner_->state_->marks[size_]);
  owner_->state_->marks.resize(size_);
}

Simplifier& Analyzer::simplifier() { return *state_; }

Expr Analyzer::simplify(const Expr& e) { return state_->simplify(e); }

ConstBound Analyzer::bound(const Expr& e) {
  Simplifier::Session session(*state_);
  if (e.dtype() == index_type) return state_->bound(state_->sum_of(e));
  const Expr simple = state_->simplify(e);
  return state_->bound_of(simple.get());
}

ModularSet Analyzer::modular(const Expr& e) {
  Simplifier::Session session(*state_);
  return e.dtype() == index_type ? state_->modular(state_->sum_of(e)) : ModularSet{};
}

bool Analyzer::can_prove(const Expr& condition) { return is_true(state_->simplify(condition)); }

bool Analyzer::can_prove_equal(const Expr& a, const Expr& b) {
  if (a.dtype() != b.dtype()) return false;
  Simplifier::Session session(*state_);
  if (a.dtype() != index_type) return same(state_->simplify(a), state_->simplify(b));
  Sum difference = state_->sum_of(a), opposite;
  if (!state_->accumulate(difference, state_->sum_of(b), -1)) return false;
  state_->cancel(difference);
  if (difference.is_constant()) return difference.constant == 0;
  return state_->accumulate(opposite, difference, -1) && state_->nonnegative(difference) &&
         state_->nonnegative(opposite);
}

bool Analyzer::can_prove_ge(const Expr& e, std::int64_t low) {
  Simplifier::Session session(*state_);
  Sum s = state_->sum_of(e);
  return state_->accumulate(s, Sum(1), 0) && checked_sub(s.constant, low, s.constant) &&
         state_->nonnegative(s);
}

bool Analyzer::can_prove_lt(const Expr& e, std::int64_t high) {
  Simplifier::Session session(*state_);
  Sum s;
  return high != INT64_MIN && state_->accumulate(s, state_->sum_of(e), -1) &&
         checked_add(s.constant, high - 1, s.constant) && state_->nonnegative(s);
}

Expr simplify(const Expr& e) { return Analyzer().simplify(e); }

}  // namespace lathe::arith
