#include "schedule/arguments.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ir/expr_limits.h"
#include "ir/visitor.h"

namespace lathe::schedule {
namespace {

bool is_utf8(const std::string& text) {
  try {
    nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

/// Expressions of a trace are over factors and indices of maps: integers, variables, operators.
bool is_arithmetic(const Expr& e) {
  bool only = true;
  walk(e, [&](const Expr& x) {
    const bool kind = x.as<IntImm>() || x.as<VarNode>() || x.as<Binary>() || x.as<Not>() || x.as<Select>();
    only = only && kind && (x.dtype() == index_type || x.dtype() == boolean);
    return only;
  });
  return only;
}

std::string unusable(const Expr& e) {
  if (!e.defined()) return "is an empty Expr";
  if (const ExprExcess much = excess(e)) return "is " + much.what;
  if (!is_arithmetic(e)) return "is not made of integers, factors, indices and operators: " + to_string(e);
  return "";
}

std::string unusable(const Arg& arg) {
  if (const Expr* e = arg.get<Expr>()) return unusable(*e);
  if (const std::string* text = arg.get<std::string>(); text && !is_utf8(*text)) return "is not UTF-8 text";
  if (const ArgList* list = arg.get<ArgList>()) {
    for (const Arg& a : *list) {
      if (std::string why = unusable(a); !why.empty()) return why;
    }
  }
  const IndexMap* map = arg.get<IndexMap>();
  if (!map) return "";
  for (std::size_t i = 0; i < map->from.size(); ++i) {
    const Var& v = map->from[i];
    if (!v.defined()) return "maps from an empty Var";
    if (v.dtype() != index_type) return "maps from \"" + v.name() + "\", which is no index";
    const auto before = map->from.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(map->from.begin(), before, [&](const Var& w) { return w.same_as(v); }))
      return "maps from \"" + v.name() + "\" twice";
  }
  for (const Expr& e : map->to) {
    if (std::string why = unusable(e); !why.empty()) return "has a result that " + why;
  }
  return "";
}

}  // namespace

std::string unusable_argument(const Instruction& step) {
  for (std::size_t i = 0; i < step.args.size(); ++i) {
    if (std::string why = unusable(step.args[i]); !why.empty())
      return step.op + ": argument " + std::to_string(i + 1) + " " + why;
  }
  return "";
}

}  // namespace lathe::schedule
