// What the rules make of programs that the library has never seen: right, and in the form that makes them fast.
#include "ir/visitor.h"
#include "lathe/workload.h"
#include "lower/lower.h"
#include "support/check_schedule.h"
#include "support/unseen/programs.h"

using namespace lathe;

namespace {

Program built(const std::string& name, test::Scale scale) {
  for (const test::UnseenProgram& p : test::unseen_programs()) {
    if (p.name == name) return p.build(scale);
  }
  FAIL("no program " << name);
  return {};
}

Schedule scheduled(const Program& program, bool parallel = false) {
  Schedule s(program);
  apply_rules(s, Target::parse("zen3(cores=2)"), {Choices::Fixed, parallel});
  return s;
}

/// How often the lowered program has a node.
template <class T>
int count(const Program& program, const std::function<bool(const T&)>& which) {
  int found = 0;
  const auto note = [&](const auto& node) {
    const T* n = node.template as<T>();
    found += n && which(*n);
    return true;
  };
  walk(
      program->body,
      [&](const Stmt& s) {
        if constexpr (std::is_base_of_v<StmtNode, T>) return note(s);
        return true;
      },
      [&](const Expr& e) {
        if constexpr (std::is_base_of_v<ExprNode, T>) return note(e);
        return true;
      });
  return found;
}

bool is_lanes(const For& l) { return l.for_kind == ForKind::Vectorized; }
bool is_unrolled(const For& l) { return l.for_kind == ForKind::Unrolled; }

/// Sums that stay in registers: a local buffer, and rows unrolled round vectors.
bool tiles_registers(const Program& p) {
  const bool local = std::ranges::any_of(p->temps, [](const Buffer& t) { return t->scope == Scope::Local; });
  return local && count<For>(p, is_unrolled) > 0 && count<For>(p, is_lanes) > 0;
}

/// Loads under a mask that is no constant.
int masked_loads(const Program& scheduled) {
  const Program lowered = lower::lower(scheduled, test::avx2());
  return count<Load>(lowered, [](const Load& l) {
    return l.mask.defined() && !l.mask.as<Broadcast>() && !l.mask.as<Ramp>();
  });
}

}  // namespace

TEST_CASE("rules compute every unseen program as it is written") {
  for (const test::UnseenProgram& p : test::unseen_programs()) {
    for (bool parallel : {false, true}) {
      INFO(p.name << (parallel ? ", parallel" : ""));
      CHECK(test::disagreement(scheduled(p.build(test::Scale::Small), parallel), {}, 1e-5) == "");
    }
  }
}

TEST_CASE("a matrix times itself is tiled as two matrices are") {
  for (const auto& [one, two] : {std::pair("gram", "matmul(m=512,n=512,k=1024,ta=1)"),
                                 {"syrk", "matmul(m=512,n=512,k=512,tb=1)"},
                                 {"square", "matmul(m=384,n=384,k=384)"},
                                 {"self_attention_scores", "batch_matmul(b=8,m=128,n=128,k=64,tb=1)"}}) {
    INFO(one);
    const Program same = scheduled(built(one, test::Scale::Large)).program();
    const Program other = scheduled(Workload::parse(two).program).program();
    CHECK(tiles_registers(same));
    CHECK(count<For>(same, is_lanes) == count<For>(other, is_lanes));
    CHECK(count<For>(same, is_unrolled) == count<For>(other, is_unrolled));
    CHECK(same->temps.size() == other->temps.size());  // the panels are the only copy
  }
}

TEST_CASE("rows that lie scattered over the steps of the reduction are packed") {
  const auto packs = [](const char* spec) {
    const Program p = scheduled(Workload::parse(spec).program).program();
    return std::ranges::any_of(p->temps, [](const Buffer& t) { return t->name == "A_global"; });
  };
  CHECK(packs("matmul(m=512,n=512,k=1024,ta=1)"));
  CHECK_FALSE(packs("matmul(m=512,n=512,k=1024)"));
  CHECK_FALSE(packs("matmul(m=512,n=512,k=128,ta=1)"));  // its lines wait in the first cache
  for (const char* spec : {"matmul(m=50,n=70,k=259,ta=1)", "batch_matmul(b=2,m=13,n=70,k=257,ta=1)"}) {
    INFO(spec);
    CHECK(test::disagreement(scheduled(Workload::parse(spec).program)) == "");
  }
}

TEST_CASE("contractions of all kinds keep sums in registers") {
  for (const char* name :
       {"ijk_jkl_il", "bchw_bcd", "aebf_dfce_abcd", "mttkrp", "complex_matmul", "pairwise_self",
        "l1_distance", "min_plus", "boolean_matmul", "masked_matmul", "scaled_matmul", "conv_nchw",
        "conv_nchw_bn_relu", "conv_odd_groups", "patch_embedding", "product_i64_i64", "product_f64_f64"}) {
    INFO(name);
    CHECK(tiles_registers(scheduled(built(name, test::Scale::Large)).program()));
  }
}

TEST_CASE("windows along the innermost dimension run in lanes of neighbouring results") {
  for (const char* name : {"filter_16", "filter_5x5", "depthwise_nchw", "max_pool_nchw", "sum_inner_of_3"}) {
    INFO(name);
    const Program p = scheduled(built(name, test::Scale::Large)).program();
    CHECK(count<For>(p, is_lanes) > 0);
    for (const Buffer& t : p->temps) CHECK(t->name.find("_rf") == std::string::npos);
  }
}

TEST_CASE("tuples are reduced in lanes") {
  for (const char* name : {"argmax_rows", "sum_and_squares"}) {
    INFO(name);
    const Program p = scheduled(built(name, test::Scale::Large)).program();
    CHECK(std::ranges::any_of(p->temps,
                              [](const Buffer& t) { return t->name.find("_rf") != std::string::npos; }));
    CHECK(masked_loads(p) == 0);
  }
}

TEST_CASE("chains are stored where computing them again at each position would cost more") {
  // Each sweep reads five neighbours: four sweeps in one body would be 625.
  CHECK(scheduled(built("four_jacobi_sweeps", test::Scale::Large)).blocks().size() == 4);
  // Nine taps of products of gradients.
  CHECK(scheduled(built("harris", test::Scale::Large)).blocks().size() >= 5);
  // One position each: one pass.
  CHECK(scheduled(built("chain_of_30", test::Scale::Large)).blocks().size() == 1);
  // A body that reads what it takes up twice would double with each block of the chain.
  Tensor x = placeholder("x", {64}, f32), t = x;
  for (int i = 0; i < 40; ++i)
    t = compute("t" + std::to_string(i), {64}, [&](Var v) { return t(v) * sigmoid(t(v)) + max(t(v), 0.f); });
  Schedule s = scheduled(program("doubling", {x}, {t}));
  int nodes = 0;
  walk(s.program()->body, {}, [&](const Expr&) { return ++nodes < 1'000'000; });
  CHECK(nodes < 100'000);
  CHECK(test::disagreement(s, {}, 1e-5) == "");
}

TEST_CASE("rows of an image that do not fill vectors need no mask in the sums") {
  for (const char* name : {"conv_nchw", "bchw_bcd"}) {
    INFO(name);
    Schedule s = scheduled(built(name, test::Scale::Large));
    for (BlockRef b : s.blocks()) {
      if (s.get(b).is_reduction()) CHECK(to_string(s.get(b).predicate).find("< 28") == std::string::npos);
    }
  }
}

TEST_CASE("what is there in any case is loaded without a mask") {
  Tensor x = placeholder("x", {64}, f32);
  Tensor inside = compute("y", {64}, [&](Var i) { return select(i % 2 == 0, x(i), 0.f); });
  CHECK(masked_loads(scheduled(program("inside", {x}, {inside})).program()) == 0);
  Tensor outside = compute("y", {64}, [&](Var i) { return select(i >= 8 && i % 2 == 0, x(i - 8), 0.f); });
  CHECK(masked_loads(scheduled(program("outside", {x}, {outside})).program()) > 0);
}

TEST_CASE("empty and single extents") {
  for (std::int64_t n : {0, 1}) {
    for (std::int64_t k : {0, 1, 9}) {
      INFO(n << " " << k);
      Tensor x = placeholder("x", {k, n}, f32), y = placeholder("y", {k, 5}, f32);
      Axis r = reduce_axis(k, "r"), q = reduce_axis(k, "q"), a = reduce_axis(k, "a");
      Tensor gram = compute("gram", {n, n}, [&](Var i, Var j) { return sum(x(r, i) * x(r, j), {r}); });
      Tensor tall = compute("tall", {n}, [&](Var j) { return max(x(q, j), {q}); });
      auto [best, where] = compute("best", {5}, [&](Var j) { return argmax(y(a, j), {a}); });
      CHECK(test::disagreement(scheduled(program("small", {x, y}, {gram, tall, best, where}))) == "");
    }
  }
}
