#include "tuner/features/index_form.h"

#include <algorithm>
#include <numeric>

namespace lathe::tuner {
namespace {

using Part = IndexForm::Part;

void add(IndexForm& to, const IndexForm& more, std::int64_t scale) {
  for (std::size_t i = 0; i < MaxLoops; ++i) to.step[i] += scale * more.step[i];
  for (Part part : more.parts) {
    part.scale *= scale;
    to.parts.push_back(std::move(part));
  }
}

IndexForm unknown(std::int64_t values) {
  IndexForm form;
  form.parts.push_back({Part::Kind::Unknown, 1, std::max<std::int64_t>(values, 1), nullptr});
  return form;
}

class Reader {
 public:
  Reader(const Bindings& bindings, std::span<const std::int64_t> extents, std::int64_t unknown_values)
      : bindings_(bindings), extents_(extents), unknown_values_(unknown_values) {}

  IndexForm read(const Expr& e) const {
    switch (e.kind()) {
      case ExprKind::IntImm: return {};
      case ExprKind::Var: return variable(static_cast<const VarNode*>(e.get()));
      case ExprKind::Cast: return read(e.as<Cast>()->a);
      case ExprKind::Select: return wider(read(e.as<Select>()->if_true), read(e.as<Select>()->if_false));
      case ExprKind::Binary: return binary(*e.as<Binary>());
      default: return unknown(unknown_values_);
    }
  }

 private:
  IndexForm variable(const VarNode* var) const {
    const Bindings::Entry* entry = bindings_.find(var);
    if (!entry) return {};  // a loop too far out, or a size: constant here
    if (entry->value.defined()) return read(entry->value);
    IndexForm form;
    form.step[entry->loop] = 1;
    return form;
  }

  IndexForm binary(const Binary& b) const {
    switch (b.op) {
      case BinaryOp::Add:
      case BinaryOp::Sub: {
        IndexForm form = read(b.a);
        add(form, read(b.b), b.op == BinaryOp::Add ? 1 : -1);
        return form;
      }
      case BinaryOp::Mul:
        if (auto c = as_int(b.b)) return scaled(read(b.a), *c);
        if (auto c = as_int(b.a)) return scaled(read(b.b), *c);
        return unknown(unknown_values_);
      case BinaryOp::FloorDiv:
      case BinaryOp::FloorMod: {
        auto c = as_int(b.b);
        if (!c || *c <= 0) return unknown(unknown_values_);
        return b.op == BinaryOp::FloorDiv ? quotient(read(b.a), *c) : remainder(read(b.a), *c);
      }
      case BinaryOp::Min:
      case BinaryOp::Max: return wider(read(b.a), read(b.b));
      default: return unknown(unknown_values_);
    }
  }

  static IndexForm scaled(const IndexForm& form, std::int64_t by) {
    IndexForm result;
    add(result, form, by);
    return result;
  }

  /// The side of a clamp or choice that moves.
  IndexForm wider(IndexForm a, IndexForm b) const {
    return a.reach(0, extents_) >= b.reach(0, extents_) ? std::move(a) : std::move(b);
  }

  /// Terms that `by` divides leave the division: floor((by*x + y) / by) = x + floor(y / by).
  static void separate(const IndexForm& form, std::int64_t by, IndexForm& multiple, IndexForm& rest) {
    for (std::size_t i = 0; i < MaxLoops; ++i) {
      (form.step[i] % by == 0 ? multiple : rest).step[i] = form.step[i];
    }
    for (const Part& part : form.parts) (part.scale % by == 0 ? multiple : rest).parts.push_back(part);
  }

  IndexForm quotient(const IndexForm& form, std::int64_t by) const {
    IndexForm multiple, rest;
    separate(form, by, multiple, rest);
    for (std::int64_t& s : multiple.step) s /= by;
    for (Part& part : multiple.parts) part.scale /= by;
    if (rest.reach(0, extents_) >= by) {
      multiple.parts.push_back({Part::Kind::Quotient, 1, by, std::make_shared<IndexForm>(std::move(rest))});
    }
    return multiple;
  }

  IndexForm remainder(const IndexForm& form, std::int64_t by) const {
    IndexForm multiple, rest;
    separate(form, by, multiple, rest);
    if (rest.reach(0, extents_) < by) return rest;
    IndexForm result;
    result.parts.push_back({Part::Kind::Remainder, 1, by, std::make_shared<IndexForm>(std::move(rest))});
    return result;
  }

  const Bindings& bindings_;
  std::span<const std::int64_t> extents_;
  std::int64_t unknown_values_;
};

std::int64_t reach_of(const Part& part, std::size_t level, std::span<const std::int64_t> extents) {
  switch (part.kind) {
    case Part::Kind::Quotient: return (part.inner->reach(level, extents) + part.by - 1) / part.by;
    case Part::Kind::Remainder: return std::min(part.inner->reach(level, extents), part.by - 1);
    case Part::Kind::Unknown: return level < extents.size() ? part.by - 1 : 0;
  }
  return 0;
}

}  // namespace

std::int64_t IndexForm::reach(std::size_t level, std::span<const std::int64_t> extents) const {
  std::int64_t sum = 0;
  for (std::size_t i = level; i < extents.size(); ++i) {
    sum += std::abs(step[i]) * std::max<std::int64_t>(extents[i] - 1, 0);
  }
  for (const Part& part : parts) sum += std::abs(part.scale) * reach_of(part, level, extents);
  return sum;
}

// At most one value each combination of the moving loops, and at most one each common divisor of the steps.
double IndexForm::values(std::size_t level, std::span<const std::int64_t> extents) const {
  std::int64_t divisor = 0;
  double combinations = 1;
  for (std::size_t i = level; i < extents.size(); ++i) {
    if (step[i] == 0 || extents[i] <= 1) continue;
    divisor = std::gcd(divisor, step[i]);
    combinations *= static_cast<double>(extents[i]);
  }
  for (const Part& part : parts) {
    const std::int64_t reach = reach_of(part, level, extents);
    if (reach == 0) continue;
    divisor = std::gcd(divisor, part.scale);
    combinations *= static_cast<double>(reach + 1);
  }
  if (divisor == 0) return 1;
  return std::min(combinations, static_cast<double>(reach(level, extents) / divisor + 1));
}

std::int64_t IndexForm::stride(std::size_t level) const {
  std::int64_t sum = step[level];
  for (const Part& part : parts) {
    if (part.kind == Part::Kind::Quotient) sum += part.scale * (part.inner->stride(level) / part.by);
    if (part.kind == Part::Kind::Remainder) sum += part.scale * (part.inner->stride(level) % part.by);
    if (part.kind == Part::Kind::Unknown) sum += part.scale * (part.by > 1 ? part.by / 2 : 0);
  }
  return sum;
}

const Bindings::Entry* Bindings::find(const VarNode* var) const {
  for (auto it = entries_.rbegin(); it != entries_.rend(); ++it) {
    if (it->var == var) return &*it;
  }
  return nullptr;
}

IndexForm index_form(const Expr& index, const Bindings& bindings, std::span<const std::int64_t> extents,
                     std::int64_t unknown_values) {
  return Reader(bindings, extents, unknown_values).read(index);
}

}  // namespace lathe::tuner
