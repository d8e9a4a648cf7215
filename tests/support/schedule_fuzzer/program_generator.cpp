#include <algorithm>
#include <cmath>

#include "lathe/te.h"
#include "support/schedule_fuzzer/random.h"
#include "support/schedule_fuzzer/subject.h"

namespace lathe::fuzz {
namespace {

/// A tensor with a bound of its absolute values: stages whose values could leave the integers that the type represents
/// are clamped, so that floats are exact in any order of summation.
struct Value {
  Tensor tensor;
  double bound;
};

double exact_limit(DataType t) {
  if (t == f16) return 1024;
  if (t == bf16) return 128;
  if (t == f32) return 1 << 22;
  return 1e15;  // f64; integers wrap, in any order alike
}

class Generator {
 public:
  Generator(std::uint64_t seed, std::vector<std::int64_t>& sizes) : random_(seed), sizes_(sizes) {}

  Program make() {
    const std::vector<std::int64_t> usual = {1, 2, 3, 4, 5, 7, 8, 9, 12},
                                    rare = {0, 1, 15, 16, 17, 23, 32, 33};
    for (int k = 0; k < 3; ++k) extents_.push_back(random_.pick(random_.chance(70) ? usual : rare));
    if (random_.chance(25)) run_time_extents();
    const DataType t = random_.pick(
        std::vector<DataType>{f32, f32, f32, f32, i32, i32, i8, u8, i16, i64, f64, f16, bf16, u32});
    for (int k = 0; k < 2; ++k) {
      const int rank = static_cast<int>(random_.between(1, 3));
      std::vector<Expr> shape;
      for (int d = 0; d < rank; ++d) shape.push_back(extent());
      Tensor x = placeholder(k == 0 ? "a" : "b", shape, t,
                             random_.chance(20) ? ParamRole::Constant : ParamRole::Input);
      inputs_.push_back(x);
      values_.push_back({x, t.is_float() ? 3.0 : 0.0});
    }
    const int stages = static_cast<int>(random_.between(1, 4));
    for (int k = 0; k < stages; ++k) stage("s" + std::to_string(k));
    return program("random", inputs_, outputs());
  }

 private:
  /// The last tensor, and now and then another.
  std::vector<Tensor> outputs() {
    std::vector<Tensor> out = {values_.back().tensor};
    for (std::size_t i = 2; i + 1 < values_.size(); ++i) {
      if (random_.chance(15)) out.push_back(values_[i].tensor);
    }
    return out;
  }

  /// Makes one to all of the extents sizes, or sums and multiples of sizes: how two of them compare is known at run time
  /// alone, also where they are equal.
  void run_time_extents() {
    const std::size_t count = 1 + random_.below(extents_.size());
    for (std::size_t k = 0; k < count; ++k) {
      const Var n = size(std::string(1, "nmk"[k]));
      std::int64_t value = as_int(extents_[k]).value();
      Expr e = n;
      switch (random_.below(8)) {
        case 0: e = n + 1; break;
        case 1: e = 2 * n; break;
        case 2:
          if (k > 0) e = n + extents_[k - 1];
          break;
        default: break;
      }
      if (value > 12 && !e.same_as(n)) value = 12;
      sizes_.push_back(value);
      inputs_.push_back(n);
      extents_[k] = e;
    }
  }

  Expr extent() { return extents_[random_.below(extents_.size())]; }

  /// Prefers what is new, so that chains become deep.
  Value source() { return random_.chance(60) ? values_.back() : values_[random_.below(values_.size())]; }

  static Expr clamped(Expr e, double limit) { return max(min(std::move(e), limit), -limit); }

  /// An element of x: at the variables where extents agree, else folded into its range in one of several ways.
  Expr read(const Tensor& x, const std::vector<Expr>& at, int depth = 0) {
    std::vector<Expr> index;
    bool guarded = false;
    for (int d = 0; d < x.rank(); ++d) {
      const Expr n = x.shape()[d];
      std::vector<Expr> fitting;
      for (std::size_t k = 0; k < at.size(); ++k) {
        if (structural_equal(extents_of_[k], n)) fitting.push_back(at[k]);
      }
      Expr i = fitting.empty() || random_.chance(10) ? at.empty() ? Expr(0) : at[random_.below(at.size())]
                                                     : random_.pick(fitting);
      if (depth < 1 && random_.chance(4)) i = position_from_data(at, depth + 1, i);
      bool inside = false;
      for (const Expr& f : fitting) inside = inside || f.same_as(i);
      switch (random_.below(inside ? 12 : 4)) {
        case 0:
          i = i + random_.between(-2, 2);
          inside = false;
          break;
        case 1: i = n - 1 - i; break;
        case 2:
          i = i * 2 + random_.between(0, 1);
          inside = false;
          break;
        case 3: i = floordiv(i, random_.between(1, 4)); break;
        case 4:
          if (!at.empty()) {
            i = i + at[random_.below(at.size())];
            inside = false;
          }
          break;
        default: break;
      }
      if (!inside && random_.chance(20)) {  // clamped: min and max in subscripts
        i = max(min(i, n - 1), 0);
        inside = as_int(n).value_or(0) > 0;  // a size may be 0
      }
      guarded = guarded || !inside;
      index.push_back(i);
    }
    if (guarded)
      return if_inside(
          x, index, make_const(x.dtype(), random_.between(-1, 2) < 0 && !x.dtype().is_unsigned() ? -1 : 0));
    return x(index);
  }

  /// An element of an integer tensor as a subscript.
  Expr position_from_data(const std::vector<Expr>& at, int depth, Expr otherwise) {
    for (const Value& v : values_) {
      const DataType t = v.tensor.dtype();
      if (!t.is_float() && t.bits <= 32) return cast(index_type, read(v.tensor, at, depth));
    }
    return otherwise;
  }

  Expr as(DataType t, Expr e) { return e.dtype() == t ? e : cast(t, e); }

  /// An expression over the variables `at`, whose bound is `bound` afterwards.
  Expr element(DataType t, const std::vector<Expr>& at, double& bound) {
    Value x = source(), y = source();
    Expr a = as(t, read(x.tensor, at)), b = as(t, read(y.tensor, at));
    // A float that comes from integers is as large as they may be.
    const bool wide = t.is_float() && (!x.tensor.dtype().is_float() || !y.tensor.dtype().is_float() ||
                                       exact_limit(x.tensor.dtype()) > exact_limit(t) ||
                                       exact_limit(y.tensor.dtype()) > exact_limit(t));
    double p = x.bound, q = y.bound;
    if (wide) {
      a = clamped(a, 8);
      b = clamped(b, 8);
      p = q = 8;
    }
    switch (random_.below(9)) {
      case 0: bound = p + q; return a + b;
      case 1: bound = p * q; return a * b;
      case 2: bound = p + q; return a - b;
      case 3: bound = std::max(p, q); return max(a, b);
      case 4: bound = std::max(p, q); return min(a, b);
      case 5:
        bound = std::max(p, q);
        if (at.empty()) return a;
        return select(at[0] * 2 < extents_of_[0] + random_.between(-1, 2), a, b);
      case 6: bound = std::max(p, q); return select(a < b, b, a);
      case 7:
        bound = p + 1;
        if (!t.is_float()) {
          const Expr d = random_.chance(50) ? b : make_int(t, random_.between(1, 3));
          return random_.chance(50) ? floordiv(a, d) : truncdiv(a, d);
        }
        return floor(a * make_float(t, 0.5)) + 1.0;
      default: bound = p; return a;
    }
  }

  Expr limited(Expr e, double& bound, double limit) {
    if (!e.dtype().is_float() || bound <= limit) return e;
    bound = limit;
    return clamped(std::move(e), limit);
  }

  void stage(const std::string& name) {
    const bool same = random_.chance(60);
    std::vector<Expr> shape = same ? source().tensor.shape() : std::vector<Expr>();
    if (!same) {
      for (std::int64_t d = random_.between(0, 3); d > 0; --d) shape.push_back(extent());
    }
    DataType t = values_.back().tensor.dtype();
    if (random_.chance(12)) t = random_.pick(std::vector<DataType>{f32, i32, i64, f64, u8, i16});
    if (!random_.chance(45)) return pointwise(name, shape, t);
    reduction(name, shape, t);
  }

  void pointwise(const std::string& name, const std::vector<Expr>& shape, DataType t) {
    const int count = random_.chance(12) ? 2 : 1;
    std::vector<double> bounds(count);
    std::vector<Tensor> made = compute(name, shape, [&](const std::vector<Var>& vars) {
      extents_of_ = shape;
      const std::vector<Expr> at(vars.begin(), vars.end());
      std::vector<Expr> out;
      for (double& bound : bounds) out.push_back(limited(element(t, at, bound), bound, exact_limit(t)));
      return out;
    });
    for (int k = 0; k < count; ++k) values_.push_back({made[k], bounds[k]});
  }

  void reduction(const std::string& name, const std::vector<Expr>& shape, DataType t) {
    std::vector<Axis> axes;
    double length = 1;
    for (std::int64_t d = random_.chance(30) ? 2 : 1; d > 0; --d) {
      Expr n = random_.chance(30) ? Expr(random_.between(1, 4)) : extent();
      length *= 33;
      axes.push_back(reduce_axis(n, "r" + std::to_string(d)));
    }
    double bound = 0;
    const std::size_t kind = random_.below(8);
    std::vector<Tensor> made =
        compute(name, shape, [&](const std::vector<Var>& vars) -> Reductions<AnyNumber> {
          std::vector<Expr> at(vars.begin(), vars.end());
          extents_of_ = shape;
          for (const Axis& a : axes) {
            at.push_back(a);
            extents_of_.push_back(a.extent());
          }
          Expr e = element(t, at, bound);
          ReduceOptions options;
          if (random_.chance(15)) options.where = at[0] != random_.between(0, 2);
          if (random_.chance(8)) options.initial = {make_const(t, 2)};
          if (kind >= 6) options.initial.clear();
          if (kind == 6) return {argmax(e, axes, options).spec};
          if (kind == 7) return {argmin(e, axes, options).spec};
          if (kind == 4) {
            e = limited(e, bound, exact_limit(t));
            return {max(e, axes, options).spec};
          }
          if (kind == 5) {
            e = limited(e, bound, exact_limit(t));
            return {min(e, axes, options).spec};
          }
          const double limit = exact_limit(t) / length - 1;
          if (t.is_float() && limit < 1) return {max(e, axes, options).spec};
          e = limited(e, bound, std::floor(limit));
          bound = bound * length + 2;
          return {sum(e, axes, options).spec};
        });
    values_.push_back({made[0], std::max(bound, 2.0)});
    if (made.size() > 1) values_.push_back({made[1], 0});
  }

  Random random_;
  std::vector<std::int64_t>& sizes_;
  std::vector<Expr> extents_;
  std::vector<ProgramInput> inputs_;
  std::vector<Value> values_;
  std::vector<Expr> extents_of_;  ///< of the variables that an element is written over
};

}  // namespace

Program random_program(std::uint64_t seed, std::vector<std::int64_t>& sizes) {
  return Generator(Random::mix(seed), sizes).make();
}

}  // namespace lathe::fuzz
