// Expressions as text, with as few parentheses as the precedence of operators allows.

#include <charconv>
#include <cmath>

#include "ir/printer.h"
#include "ir/visitor.h"

namespace lathe {
namespace {

/// How tightly an expression's text binds; an operand that binds less tightly needs parentheses.
enum Precedence { kOr = 1, kAnd, kCompare, kSum, kProduct, kUnary, kPrimary };

Precedence precedence(BinaryOp op) {
  switch (op) {
    case BinaryOp::Or: return kOr;
    case BinaryOp::And: return kAnd;
    case BinaryOp::Add:
    case BinaryOp::Sub: return kSum;
    case BinaryOp::Mul:
    case BinaryOp::Div:
    case BinaryOp::Mod: return kProduct;
    case BinaryOp::Min:
    case BinaryOp::Max:
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod: return kPrimary;
    default: return kCompare;
  }
}

template <class T>
std::string shortest(T value) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end.ptr);
}

std::string float_text(DataType t, double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = t == f32 ? shortest(static_cast<float>(value)) : shortest(value);
  if (text.find_first_of(".e") == std::string::npos) text += t == f32 ? "." : ".0";
  return t == f32 ? text + "f" : text;
}

std::string int_text(DataType t, std::int64_t value) {
  if (t.is_bool()) return value ? "true" : "false";
  return t == u64 ? std::to_string(static_cast<std::uint64_t>(value)) : std::to_string(value);
}

class ExprPrinter : Visitor {
 public:
  explicit ExprPrinter(Names& names) : names_(names) {}

  std::string text(const Expr& e, Precedence least = kOr) {
    if (!e.defined()) return "<undefined>";
    precedence_ = kPrimary;
    visit(e);
    std::string out = std::move(out_);
    return precedence_ < least ? "(" + out + ")" : out;
  }

  std::string list(const std::vector<Expr>& all) {
    std::string out;
    for (const Expr& e : all) out += (out.empty() ? "" : ", ") + text(e);
    return out;
  }

 private:
  void set(std::string text, Precedence p = kPrimary) {
    out_ = std::move(text);
    precedence_ = p;
  }

  void visit_node(const IntImm& n, const Expr&) override {
    set(int_text(n.dtype, n.value), n.value < 0 && n.dtype != u64 ? kUnary : kPrimary);
  }
  void visit_node(const FloatImm& n, const Expr&) override {
    set(float_text(n.dtype, n.value), std::signbit(n.value) ? kUnary : kPrimary);
  }
  void visit_node(const VarNode& n, const Expr&) override { set(names_.of(&n)); }

  void visit_node(const Binary& n, const Expr&) override {
    BinaryOp op = n.op;
    const bool index = n.a.dtype().is_index();
    // Floor division is what `/` and `%` mean for index_type.
    if (index && op == BinaryOp::FloorDiv) op = BinaryOp::Div;
    if (index && op == BinaryOp::FloorMod) op = BinaryOp::Mod;
    const Precedence p = precedence(op);
    if (p == kPrimary) {
      const std::string a = text(n.a);
      return set(std::string(spelling(op)) + "(" + a + ", " + text(n.b) + ")");
    }
    const bool compares = p == kCompare;  // (a < b) < c keeps its parentheses
    const std::string a = text(n.a, compares ? kSum : p);
    const IntImm* right = n.b.as<IntImm>();
    if (index && op == BinaryOp::Add && right && right->value < 0 && right->value != INT64_MIN) {
      return set(a + " - " + std::to_string(-right->value), p);
    }
    const std::string b = text(n.b, static_cast<Precedence>(p + 1));
    const bool tight = index && p == kProduct;
    set(a + (tight ? spelling(op) : std::string(" ") + spelling(op) + " ") + b, p);
  }

  void visit_node(const Not& n, const Expr&) override { set("!" + text(n.a, kUnary), kUnary); }
  void visit_node(const Cast& n, const Expr&) override { set(n.dtype.str() + "(" + text(n.a) + ")"); }
  void visit_node(const Select& n, const Expr&) override {
    const std::string condition = text(n.condition), if_true = text(n.if_true);
    set("select(" + condition + ", " + if_true + ", " + text(n.if_false) + ")");
  }
  void visit_node(const Load& n, const Expr&) override {
    std::string element = names_.of(n.buffer);
    element += "[" + list(n.indices) + "]";
    if (n.mask.defined()) element = "load(" + element + ", mask " + text(n.mask) + ")";
    set(std::move(element));
  }
  void visit_node(const Call& n, const Expr&) override {
    std::string name = n.op == Intrinsic::Extern ? n.symbol : spelling(n.op);
    if (n.op == Intrinsic::Reinterpret) name += "<" + n.dtype.str() + ">";
    set(name + "(" + list(n.args) + ")");
  }
  void visit_node(const Ramp& n, const Expr&) override {
    const std::string base = text(n.base);
    set("ramp(" + base + ", " + text(n.stride) + ", " + std::to_string(n.lanes()) + ")");
  }
  void visit_node(const Broadcast& n, const Expr&) override {
    set("broadcast(" + text(n.value) + ", " + std::to_string(n.lanes()) + ")");
  }

  Names& names_;
  std::string out_;
  Precedence precedence_ = kPrimary;
};

}  // namespace

std::string to_string(const Expr& expr, Names& names) { return ExprPrinter(names).text(expr); }

std::string to_string(const Expr& expr) {
  Names names;
  return to_string(expr, names);
}

std::string to_string(const BufferRegion& region, Names& names) {
  ExprPrinter printer(names);
  std::string inside;
  for (const Range& r : region.ranges) {
    if (!inside.empty()) inside += ", ";
    inside += printer.text(r.min);
    if (is_int(r.extent, 1)) continue;
    inside += is_int(r.min, 0) ? ".." + printer.text(r.extent, kUnary)
                               : " .. +" + printer.text(r.extent, kUnary);  // min .. min + extent
  }
  return names.of(region.buffer) + "[" + inside + "]";
}

}  // namespace lathe
