// Random expressions, scalar and vector, against a walk over the tree with the arithmetic of ir/numbers.h.

#include <bit>
#include <cmath>
#include <optional>
#include <random>

#include "behaviour/interp/programs.h"
#include "ir/numbers.h"

namespace lathe::interp {
namespace {

constexpr int kElements = 16;

/// The value of an expression at lane `lane`, by definition: `i` or `f` as the type says. Throws Fault where the
/// program is at fault.
struct Value {
  std::int64_t i = 0;
  double f = 0;
};
struct Fault {};

class Walk {
 public:
  Walk(const std::map<const BufferNode*, const Array*>& arrays, const VarNode* var, std::int64_t at)
      : arrays_(arrays), var_(var), at_(at) {}

  Value eval(const Expr& e, int lane) {
    const DataType t = e.dtype().element();
    if (const IntImm* n = e.as<IntImm>()) return {n->value, 0};
    if (const FloatImm* n = e.as<FloatImm>()) return {0, n->value};
    if (e.get() == var_) return {at_, 0};
    if (const Binary* n = e.as<Binary>()) return binary(*n, lane);
    if (const Not* n = e.as<Not>()) return {!eval(n->a, lane).i, 0};
    if (const Select* n = e.as<Select>())
      return eval(eval(n->condition, lane).i ? n->if_true : n->if_false, lane);
    if (const Broadcast* n = e.as<Broadcast>()) return eval(n->value, 0);
    if (const Ramp* n = e.as<Ramp>()) {
      Value step, sum;
      if (!index_op(BinaryOp::Mul, eval(n->stride, 0).i, lane, step.i) ||
          !index_op(BinaryOp::Add, eval(n->base, 0).i, step.i, sum.i))
        throw Fault{};
      return sum;
    }
    if (const Load* n = e.as<Load>()) {
      const std::int64_t i = eval(n->indices[0], lane).i;
      if (i < 0 || i >= kElements) throw Fault{};
      const Array& a = *arrays_.at(n->buffer.get());
      return t.is_float() ? Value{0, a.get(i)} : Value{a.get_int(i), 0};
    }
    if (const Cast* n = e.as<Cast>()) {
      const DataType from = n->a.dtype().element();
      const Value v = eval(n->a, lane);
      if (from.is_float() && t.is_float()) return {0, round_to(t, v.f)};
      if (from.is_float()) return {float_to_integer(t.is_index() ? i64 : t, v.f), 0};
      if (t == f32)
        return {0, from.is_unsigned() ? static_cast<float>(static_cast<std::uint64_t>(v.i))
                                      : static_cast<float>(v.i)};
      if (t.is_float())
        return {0, round_to(t, from.is_unsigned() ? static_cast<double>(static_cast<std::uint64_t>(v.i))
                                                  : static_cast<double>(v.i))};
      return {wrap_integer(t, v.i), 0};
    }
    throw InternalError("the fuzzer made a node that it does not know");
  }

 private:
  Value binary(const Binary& n, int lane) {
    const DataType t = n.a.dtype().element();
    const Value a = eval(n.a, lane);
    if (n.op == BinaryOp::And && !a.i) return {0, 0};
    if (n.op == BinaryOp::Or && a.i) return {1, 0};
    const Value b = eval(n.b, lane);
    if (t.is_index()) {
      Value v;
      if (!index_op(n.op, a.i, b.i, v.i)) throw Fault{};
      return v;
    }
    if (!t.is_float()) return {integer_op(t, n.op, a.i, b.i), 0};
    const double v = float_op(t, n.op, a.f, b.f);
    return is_comparison(n.op) ? Value{static_cast<std::int64_t>(v), 0} : Value{0, v};
  }

  const std::map<const BufferNode*, const Array*>& arrays_;
  const VarNode* var_;
  std::int64_t at_;
};

class Generator {
 public:
  Generator(std::uint64_t seed, const std::vector<Buffer>& buffers, const Var& var, int lanes)
      : random_(seed), buffers_(buffers), var_(var), lanes_(lanes) {}

  Expr make(DataType t, int depth) {
    if (t.is_index()) return index(depth);
    if (t.is_bool()) return boolean_expr(depth);
    if (depth == 0 || pick(6) == 0) return pick(2) ? read(t, depth) : constant(t);
    switch (pick(5)) {
      case 0: return select(boolean_expr(depth - 1), make(t, depth - 1), make(t, depth - 1));
      case 1: return cast(t, make(any_type(), depth - 1));
      case 2: return read(t, depth - 1);
      default: break;
    }
    static const std::vector<BinaryOp> of_floats{BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul,
                                                 BinaryOp::Div, BinaryOp::Min, BinaryOp::Max};
    static const std::vector<BinaryOp> of_integers{BinaryOp::Add,      BinaryOp::Sub, BinaryOp::Mul,
                                                   BinaryOp::Div,      BinaryOp::Mod, BinaryOp::FloorDiv,
                                                   BinaryOp::FloorMod, BinaryOp::Min, BinaryOp::Max};
    const auto& ops = t.is_float() ? of_floats : of_integers;
    return binary(ops[pick(ops.size())], make(t, depth - 1), make(t, depth - 1));
  }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }
  DataType any_type() { return buffers_[pick(buffers_.size())]->dtype; }
  Expr wide(Expr e) { return broadcast(std::move(e), lanes_); }
  Expr constant(DataType t) {
    const std::int64_t v = static_cast<std::int64_t>(pick(9)) - 4;
    return wide(t.is_float() ? make_float(t, static_cast<double>(v) / 2) : make_int(t, v));
  }
  Expr read(DataType t, int depth) {
    std::vector<Buffer> fitting;
    for (const Buffer& b : buffers_) {
      if (b->dtype == t) fitting.push_back(b);
    }
    // Mostly inside, so that not everything is at fault.
    Expr at = index(std::max(depth - 1, 0));
    return Expr(
        new Load(fitting[pick(fitting.size())], {pick(20) ? floormod(at, wide(Expr(kElements))) : at}));
  }
  Expr index(int depth) {
    if (depth == 0 || pick(4) == 0) {
      switch (pick(3)) {
        case 0: return wide(var_);
        case 1: return lanes_ > 1 ? ramp(var_ - 2, static_cast<std::int64_t>(pick(5)) - 2, lanes_) : var_ - 2;
        default:
          return wide(make_index(pick(30) ? static_cast<std::int64_t>(pick(11)) - 5
                                          : INT64_MAX - static_cast<std::int64_t>(pick(4))));
      }
    }
    if (pick(5) == 0) return select(boolean_expr(depth - 1), index(depth - 1), index(depth - 1));
    static const std::vector<BinaryOp> ops{BinaryOp::Add,      BinaryOp::Sub,      BinaryOp::Mul,
                                           BinaryOp::FloorDiv, BinaryOp::FloorMod, BinaryOp::Min,
                                           BinaryOp::Max};
    return binary(ops[pick(ops.size())], index(depth - 1), index(depth - 1));
  }
  Expr boolean_expr(int depth) {
    if (depth > 0) {
      switch (pick(4)) {
        case 0: return boolean_expr(depth - 1) && boolean_expr(depth - 1);
        case 1: return boolean_expr(depth - 1) || boolean_expr(depth - 1);
        case 2: return !boolean_expr(depth - 1);
        default: break;
      }
    }
    const DataType t = pick(2) ? index_type : any_type();
    static const std::vector<BinaryOp> ops{BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt,
                                           BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge};
    const int below = std::max(depth - 1, 0);
    return binary(ops[pick(ops.size())], make(t, below), make(t, below));
  }

  std::mt19937_64 random_;
  const std::vector<Buffer>& buffers_;
  Var var_;
  int lanes_;
};

bool same(const Value& a, const Value& b, DataType t) {
  if (!t.is_float()) return a.i == b.i;
  return (std::isnan(a.f) && std::isnan(b.f)) || (a.f == b.f && std::signbit(a.f) == std::signbit(b.f));
}

/// Runs c[i] = e for i in 0 .. count and compares every element; a fault must be reported, and only then.
void check(std::uint64_t seed) {
  CAPTURE(seed);
  const int lanes = seed % 2 ? 1 : 4, count = 6;
  std::vector<Buffer> buffers;
  std::vector<Param> params;
  std::vector<Array> inputs;
  std::map<const BufferNode*, const Array*> arrays;
  for (DataType t : {f32, f64, bf16, f16, i8, i32, i64, u16, u64}) {
    buffers.push_back(Buffer("x_" + t.str(), t, {kElements}));
    params.push_back(in(buffers.back()));
    inputs.push_back(Array::edges(t, {kElements}, seed + buffers.size()));
  }
  for (std::size_t b = 0; b < buffers.size(); ++b) arrays[buffers[b].get()] = &inputs[b];
  Var i("i");
  std::mt19937_64 random(seed * 77);
  const DataType t = buffers[random() % buffers.size()]->dtype;
  const Expr e = Generator(seed, buffers, i, lanes).make(t, 4);
  Buffer c("c", t, {count * lanes});
  params.push_back(out(c));
  Expr at = lanes == 1 ? Expr(i) : ramp(i * lanes, 1, lanes);
  const Program p("fuzz", params, {}, loop(i, count, store(c, {at}, e)));
  CAPTURE(to_string(p));
  const Outcome checked = run(p, inputs), fast = run(p, inputs, {}, Options::fast());

  bool fault = false;
  for (int step = 0; step < count; ++step) {
    for (int lane = 0; lane < lanes; ++lane) {
      try {
        Walk walk(arrays, i.node(), step);
        const Value want = walk.eval(e, lane);
        const int at_element = step * lanes + lane;
        const Value have = t.is_float() ? Value{0, checked["c"].get(at_element)}
                                        : Value{checked["c"].get_int(at_element), 0};
        const Value quick =
            t.is_float() ? Value{0, fast["c"].get(at_element)} : Value{fast["c"].get_int(at_element), 0};
        CAPTURE(step, lane, want.i, want.f, have.i, have.f);
        REQUIRE(same(want, have, t));
        REQUIRE(same(want, quick, t));
      } catch (const Fault&) {
        fault = true;
      }
    }
  }
  CAPTURE(checked.report.text());
  REQUIRE(checked.report.ok() == !fault);
  REQUIRE(fast.report.ok() == !fault);
}

TEST_CASE("random expressions have the value that their definition gives", "[fuzz]") {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) check(seed);
}

}  // namespace
}  // namespace lathe::interp
