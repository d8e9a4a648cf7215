// Random programs, most of them at fault somewhere: nothing crashes, and the result depends on nothing but the program.

#include <random>

#include "behaviour/interp/programs.h"

namespace lathe::interp {
namespace {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {
    for (int k = 0; k < 3; ++k) {
      const Scope scope = k == 0 ? Scope::Global : k == 1 ? Scope::Shared : Scope::Local;
      temps_.push_back(Buffer("t" + std::to_string(k), k == 1 ? i32 : f32, shape(), scope));
    }
    for (int k = 0; k < 2; ++k) outs_.push_back(Buffer("o" + std::to_string(k), k ? i32 : f32, shape()));
    ins_ = {Buffer("a", f32, shape()), Buffer("b", i32, shape())};
  }

  Program program() {
    Stmt body = statement(5);
    std::vector<Param> params{in(ins_[0]), in(ins_[1]), out(outs_[0]), inout(outs_[1])};
    return Program("fuzz", params, temps_, body);
  }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }
  std::vector<Expr> shape() {
    std::vector<Expr> s;
    for (std::size_t d = pick(4); d > 0; --d) s.push_back(static_cast<int>(pick(6)));
    return s;
  }
  Expr index() {
    Expr e =
        vars_.empty() || pick(3) == 0 ? Expr(static_cast<int>(pick(8)) - 1) : Expr(vars_[pick(vars_.size())]);
    switch (pick(6)) {
      case 0: return e + index();
      case 1: return e * static_cast<int>(pick(4));
      case 2: return floordiv(e, static_cast<int>(pick(3)));
      case 3: return floormod(e, static_cast<int>(pick(5)));
      default: return e;
    }
  }
  std::vector<Expr> indices(const Buffer& b) {
    std::vector<Expr> at;
    for (int d = 0; d < b->rank(); ++d) at.push_back(index());
    return at;
  }
  Expr value(DataType t, int depth) {
    std::vector<Buffer> readable;
    for (const auto* group : {&temps_, &outs_, &ins_}) {
      for (const Buffer& b : *group) {
        if (b->dtype == t) readable.push_back(b);
      }
    }
    if (depth == 0 || pick(3) == 0) {
      const Buffer& b = readable[pick(readable.size())];
      return load(b, indices(b));
    }
    if (pick(4) == 0) return select(condition(), value(t, depth - 1), value(t, depth - 1));
    return value(t, depth - 1) + value(t, depth - 1);
  }
  Expr condition() { return pick(2) ? index() < index() : index() == index() || index() > index(); }
  Stmt write() {
    const auto& group = pick(2) ? temps_ : outs_;
    const Buffer& b = group[pick(group.size())];
    return store(b, indices(b), value(b->dtype, 2));
  }
  Stmt statement(int depth) {
    if (depth == 0) return write();
    switch (pick(8)) {
      case 0: {
        std::vector<Stmt> all;
        for (std::size_t n = pick(4); n > 0; --n) all.push_back(statement(depth - 1));
        return seq(all);
      }
      case 1:
        return make_stmt<If>(condition(), statement(depth - 1), pick(2) ? statement(depth - 1) : Stmt());
      case 2:
        return pick(3) ? a_block(depth)
                       : make_stmt<Evaluate>(
                             call(pick(2) ? Intrinsic::BarrierBlock : Intrinsic::BarrierWarp, {}));
      case 3: {
        Var v("l" + std::to_string(names_++));
        Expr bound_to = index();
        vars_.push_back(v);
        Stmt body = statement(depth - 1);
        vars_.pop_back();
        return make_stmt<Let>(v, bound_to, body);
      }
      default: break;
    }
    Var v("i" + std::to_string(names_++));
    Expr extent = pick(5) ? Expr(static_cast<int>(pick(5))) : index();
    vars_.push_back(v);
    Stmt body = statement(depth - 1);
    vars_.pop_back();
    const ForKind kinds[] = {ForKind::Serial,     ForKind::Serial,   ForKind::Parallel,
                             ForKind::Vectorized, ForKind::Unrolled, ForKind::ThreadBound};
    const ForKind kind = kinds[pick(6)];
    const ThreadAxis axes[] = {ThreadAxis::BlockX, ThreadAxis::BlockY, ThreadAxis::ThreadX,
                               ThreadAxis::ThreadY, ThreadAxis::VThread};
    return loop(v, extent, body, kind, kind == ForKind::ThreadBound ? axes[pick(5)] : ThreadAxis::None);
  }
  Stmt a_block(int depth) {
    std::vector<Iter> iters;
    for (std::size_t n = 1 + pick(3); n > 0; --n) {
      iters.push_back({Var("v" + std::to_string(names_++)), static_cast<int>(pick(5)), index(),
                       pick(3) ? IterKind::Spatial : IterKind::Reduce});
    }
    const std::size_t outer = vars_.size();
    Expr predicate = pick(2) ? true_expr() : condition();
    for (const Iter& i : iters) vars_.push_back(i.var);
    Stmt body = pick(3) ? write() : statement(depth - 1), init = pick(2) ? write() : Stmt();
    vars_.resize(outer);
    const std::string name = "B" + std::to_string(names_++);
    return block(name.c_str(), iters, body, init, predicate);
  }

  std::mt19937_64 random_;
  std::vector<Buffer> temps_, outs_, ins_;
  std::vector<Var> vars_;
  int names_ = 0;
};

TEST_CASE("no program crashes the interpreter, and equal runs give equal results", "[fuzz]") {
  int clean = 0, faulty = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    const Program p = Generator(seed).program();
    CAPTURE(seed, to_string(p));
    for (Order order : {Order::Forward, Order::Backward, Order::Random}) {
      for (Threads threads : {Threads::Automatic, Threads::Synchronized, Threads::Unsynchronized}) {
        Options o;
        o.order = order;
        o.seed = seed;
        o.threads = threads;
        o.step_limit = 20000;
        o.fail_fast = seed % 5 == 0;
        try {
          const Outcome first = run(p, random_inputs(p, seed), {}, o),
                        second = run(p, random_inputs(p, seed), {}, o);
          REQUIRE(first.arrays == second.arrays);
          REQUIRE(first.report.text() == second.report.text());
          REQUIRE(first.report.iterations == second.report.iterations);
          first.report.ok() ? ++clean : ++faulty;
        } catch (const UserError&) {
          ++refused;
        }
      }
    }
  }
  CAPTURE(clean, faulty, refused);
  REQUIRE(clean > 100);
  REQUIRE(faulty > 1000);
}

}  // namespace
}  // namespace lathe::interp
