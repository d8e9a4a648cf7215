// The rules that schedule any program: right at every size round a tile, and in the form that they promise.
#include "driver/rules/register_tile.h"
#include "ir/visitor.h"
#include "lathe/prepare.h"
#include "lathe/workload.h"
#include "support/check_schedule.h"

using namespace lathe;

namespace {

std::string check(const Program& program, double tolerance = 0) {
  Schedule s(program);
  apply_rules(s, test::avx2());
  return test::disagreement(s, {}, tolerance);
}

Program product(std::int64_t m, std::int64_t n, std::int64_t k) {
  Tensor a = placeholder("A", {m, k}, f32), b = placeholder("B", {k, n}, f32);
  Axis r = reduce_axis(k, "k");
  Tensor c = compute("C", {m, n}, [&](Var i, Var j) { return sum(a(i, r) * b(r, j), {r}); });
  return program("product", {a, b}, {c});
}

int count(const Program& p, ForKind kind) {
  int found = 0;
  walk(p->body, [&](const Stmt& s) {
    const For* loop = s.as<For>();
    found += loop && loop->for_kind == kind;
    return true;
  });
  return found;
}

}  // namespace

TEST_CASE("products of all sizes round a tile") {
  for (std::int64_t m : {1, 5, 6, 7, 12, 13}) {
    for (std::int64_t n : {1, 7, 8, 9, 15, 16, 17, 33}) {
      INFO(m << " x " << n);
      CHECK(check(product(m, n, 11)) == "");
    }
  }
}

TEST_CASE("fewer columns than lanes are computed in whole vectors") {
  const Program p = product(40, 3, 70);
  CHECK(check(p) == "");
  Schedule s(p);
  apply_rules(s, test::avx2());
  walk(s.program()->body, [&](const Stmt& stmt) {
    const For* loop = stmt.as<For>();
    if (loop && loop->for_kind == ForKind::Vectorized) CHECK(as_int(loop->extent).value() % 8 == 0);
    return true;
  });
}

TEST_CASE("where columns are few, lanes run along the reduction") {
  for (std::int64_t m : {1, 2, 5, 13}) {
    for (std::int64_t n : {2, 3, 4, 5}) {
      for (std::int64_t k : {8, 16, 24, 30, 128}) {
        INFO(m << " x " << n << " x " << k);
        CHECK(check(product(m, n, k)) == "");
      }
    }
  }
  Schedule s(product(13, 3, 64));
  apply_rules(s, test::avx2());
  const auto lanes = [](const Buffer& temp) {
    return temp->scope == Scope::Local && temp->rank() == 3 && is_int(temp->shape.back(), 8);
  };
  CHECK(std::ranges::count_if(s.program()->temps, lanes) == 1);
  for (const Buffer& temp : s.program()->temps) CHECK(temp->name.find("padded") == std::string::npos);
}

TEST_CASE("a panel of columns that lie along the reduction goes through registers") {
  for (std::int64_t n : {31, 32, 48, 96}) {
    for (std::int64_t k : {15, 16, 40}) {
      const Program p =
          Workload::parse("matmul(m=30,n=" + std::to_string(n) + ",k=" + std::to_string(k) + ",tb=1)")
              .program;
      INFO(n << ", " << k);
      CHECK(check(p) == "");
      Schedule s(p);
      apply_rules(s, test::avx2());
      const auto square = [](const Buffer& temp) { return temp->name == "B_local"; };
      if (n % 32 == 0) CHECK(std::ranges::count_if(s.program()->temps, square) == (k % 8 == 0 ? 1 : 0));
    }
  }
}

TEST_CASE("operators with few columns") {
  for (const char* spec :
       {"matmul(m=9,n=3,k=32,tb=1)", "matmul(m=9,n=2,k=32,ta=1)", "matmul(m=9,n=4,k=48,cb=1):f64",
        "matmul(m=9,n=3,k=32):i32", "matmul(m=9,n=3,k=32):f16", "batch_matmul(b=3,m=7,n=2,k=16)",
        "dense(m=7,n=3,k=64)", "conv1d(l=11,ci=16,co=3,k=3,p=1)", "conv2d(h=7,w=5,ci=16,co=3,k=3,p=1)",
        "conv2d(h=7,w=5,ci=16,co=2,k=3,s=2,p=1)", "conv2d(h=5,w=7,ci=32,co=6,k=1,p=0,g=2)",
        "conv2d_bias_relu(h=6,w=9,ci=16,co=3,k=3,p=1)", "conv2d_transposed(h=3,w=5,ci=16,co=3,k=4,s=2,p=1)",
        "conv2d_transposed(h=3,w=4,ci=16,co=3,k=3,s=2,p=1)", "conv3d(depth=3,h=4,w=5,ci=16,co=2,k=3,p=1)"}) {
    INFO(spec);
    CHECK(check(Workload::parse(spec).program, 1e-5) == "");
  }
}

namespace {

/// The most that two threads share out in one loop.
std::int64_t most_shared(const Program& program) {
  Schedule s(program);
  apply_rules(s, Target::parse("zen3(cores=2)"));
  std::int64_t shared = 1;
  walk(s.program()->body, [&](const Stmt& stmt) {
    const For* loop = stmt.as<For>();
    if (loop && loop->for_kind == ForKind::Parallel) shared = std::max(shared, *as_int(loop->extent));
    return true;
  });
  return shared;
}

}  // namespace

TEST_CASE("only large results of programs that do not fit the last cache bypass it") {
  const auto streams = [](const char* spec) {
    Schedule s(Workload::parse(spec).program);
    apply_rules(s, test::avx2());
    for (BlockRef b : s.blocks()) {
      const Store* store = s.get(b).body.as<Store>();
      if (store && store->streaming) return true;
    }
    return false;
  };
  const std::int64_t lines =
      test::avx2().cpu().last_level_bytes() / 4096;  // rows of 1024 that fill the cache
  const auto softmax = [&](std::int64_t rows) { return "softmax(m=" + std::to_string(rows) + ",n=1024)"; };
  CHECK(streams(softmax(lines).c_str()));
  CHECK(streams(softmax(lines / 2).c_str()));  // with the operand
  CHECK_FALSE(streams(softmax(lines / 2 - 8).c_str()));
  CHECK_FALSE(streams(("dense(m=1,n=1024,k=" + std::to_string(2 * lines) + ",act=1)").c_str()));
}

TEST_CASE("a product of few columns is shared out among the threads") {
  for (std::int64_t n : {3, 6, 23}) CHECK(most_shared(product(512, n, 100)) >= 2);
}

TEST_CASE(
    "blocks of rows of a convolution are shared out evenly, whether its weights are known ahead or not") {
  for (const char* spec :
       {"conv2d(h=56,w=56,ci=64,co=64,k=1)", "conv2d(h=224,w=224,ci=3,co=64,k=7,s=2,p=3)"}) {
    const Program known = Workload::parse(spec).program;
    std::vector<Param> params = known->params;
    for (Param& p : params) p.role = p.role == ParamRole::Constant ? ParamRole::Input : p.role;
    for (const Program& p : {known, Program(known->name, params, known->temps, known->body)}) {
      INFO(spec);
      const std::int64_t shared = most_shared(p);
      CHECK(shared >= 2);
      CHECK(shared % 2 == 0);
    }
  }
}

TEST_CASE("rows that crowd one set of the first cache are not taken by more than it holds") {
  for (std::int64_t k : {1000, 1024}) {
    Schedule s(product(128, 8, k));
    apply_rules(s, test::avx2());
    std::int64_t rows = 1;
    walk(s.program()->body, [&](const Stmt& stmt) {
      const For* loop = stmt.as<For>();
      if (loop && loop->for_kind == ForKind::Unrolled) rows = std::max(rows, *as_int(loop->extent));
      return true;
    });
    CHECK((rows <= 8) == (k == 1024));
  }
}

namespace {

/// Depthwise, with the padding as a block of its own.
Program depthwise(std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t k, std::int64_t stride) {
  const std::int64_t p = k / 2, oh = (h + 2 * p - k) / stride + 1, ow = (w + 2 * p - k) / stride + 1;
  Tensor x = placeholder("x", {h, w, c}, f32), f = placeholder("f", {k, k, c}, f32, Constant);
  Tensor padded = compute("padded", {h + 2 * p, w + 2 * p, c}, [&](Var y, Var z, Var i) {
    return if_inside(x, {y - p, z - p, i}, 0.f);
  });
  Axis ry = reduce_axis(k, "ry"), rx = reduce_axis(k, "rx");
  Tensor sums = compute("sums", {oh, ow, c}, [&](Var y, Var z, Var i) {
    return sum(padded(y * stride + ry, z * stride + rx, i) * f(ry, rx, i), {ry, rx});
  });
  Tensor out = compute("out", {oh, ow, c}, [&](Var y, Var z, Var i) { return relu(sums(y, z, i)); });
  return program("depthwise", {x, f}, {out});
}

}  // namespace

TEST_CASE("depthwise convolutions of all sizes round a tile read no padded copy") {
  for (std::int64_t stride : {1, 2}) {
    for (auto [h, w, c, k] : std::vector<std::array<std::int64_t, 4>>{{2, 3, 8, 3},
                                                                      {7, 7, 40, 3},
                                                                      {3, 8, 17, 5},
                                                                      {4, 9, 144, 3},
                                                                      {33, 17, 16, 3},
                                                                      {40, 5, 9, 3},
                                                                      {3, 15, 137, 3}}) {
      INFO(h << " " << w << " " << c << " " << k << " " << stride);
      const Program p = depthwise(h, w, c, k, stride);
      CHECK(check(p) == "");
      Schedule s(p);
      apply_rules(s, test::avx2());
      for (const Buffer& temp : s.program()->temps) CHECK(temp->name != "padded");
    }
  }
}

TEST_CASE("a vector by a matrix, a matrix by a vector") {
  for (std::int64_t n : {1, 31, 33, 515}) {
    for (std::int64_t k : {1, 3, 4, 5, 33, 130}) {
      INFO(n << " " << k);
      CHECK(check(product(1, n, k)) == "");
      CHECK(check(product(n, 1, k)) == "");
    }
  }
}

TEST_CASE("a matrix too large for the second cache is read once for few rows") {
  const Target small = Target::parse("zen3(l2_bytes=512)");
  for (std::int64_t m : {1, 2, 3, 8, 9}) {
    for (std::int64_t n : {8, 33, 40}) {
      for (std::int64_t k : {8, 17, 64}) {
        INFO(m << " x " << n << " x " << k);
        Schedule s(product(m, n, k));
        apply_rules(s, small);
        CHECK(test::disagreement(s, {}, 1e-4) == "");
        const bool packs = std::ranges::any_of(s.program()->temps,
                                               [](const Buffer& b) { return b->name.starts_with("B_"); });
        CHECK(packs == (m > 8 && n > 8));
      }
    }
  }
}

TEST_CASE("a long reduction of a vector by a matrix is shared out among the threads") {
  for (std::int64_t n : {64, 515}) {
    for (std::int64_t k : {512, 1024, 1030}) {
      INFO(n << " " << k);
      CHECK(check(product(1, n, k), 1e-4) == "");
    }
  }
}

TEST_CASE("transpositions of all sizes round a tile go through registers") {
  for (std::int64_t m : {1, 7, 8, 16, 17, 33}) {
    for (std::int64_t n : {1, 8, 15, 16, 40}) {
      INFO(m << " " << n);
      Tensor x = placeholder("x", {m, n}, f32);
      Tensor y = compute("y", {n, m}, [&](Var i, Var j) { return x(j, i); });
      const Program p = program("transpose", {x}, {y});
      CHECK(check(p) == "");
      Schedule s(p);
      apply_rules(s, test::avx2());
      CHECK(s.program()->temps.size() == (m > 1 && n > 1 ? 1 : 0));
    }
  }
}

TEST_CASE("an epilogue is computed on the tile of sums") {
  Tensor a = placeholder("A", {7, 9}, f32), b = placeholder("B", {9, 20}, f32),
         bias = placeholder("bias", {20}, f32);
  Axis r = reduce_axis(9, "k");
  Tensor c = compute("C", {7, 20}, [&](Var i, Var j) { return sum(a(i, r) * b(r, j), {r}); });
  Tensor out = compute("out", {7, 20}, [&](Var i, Var j) { return relu(c(i, j) + bias(j)); });
  const Program p = program("fused", {a, b, bias}, {out});
  CHECK(check(p) == "");
  Schedule s(p);
  apply_rules(s, test::avx2());
  for (const Buffer& temp : s.program()->temps) {
    if (temp->name == "C") CHECK(temp->scope == Scope::Local);
  }
}

TEST_CASE("open choices are legal whatever is chosen") {
  const Program wide = product(13, 29, 40), narrow = product(13, 3, 64);
  std::uint64_t state = 1;
  for (int round = 0; round < 16; ++round) {
    Schedule s(round % 2 ? narrow : wide,
               [&](const Instruction&, const std::vector<std::vector<std::int64_t>>& options) {
                 state = state * 6364136223846793005u + 1442695040888963407u;
                 return static_cast<std::size_t>(state >> 33) % options.size();
               });
    try {
      apply_rules(s, test::avx2(), {.choices = Choices::Open});
    } catch (const ScheduleError&) {
      continue;
    }
    CHECK(test::disagreement(s) == "");
  }
}

TEST_CASE("no more loops are fused for threads than they need") {
  // Six runs of channels are three for each of two threads; the tiles of columns stay a loop of their own, whose guards lowering
  // can cut off.
  Schedule s(Workload::parse("depthwise(h=14,w=14,c=672,k=5,s=2,p=2)").program);
  apply_rules(s, Target::parse("zen3(cores=2)"));
  std::vector<std::int64_t> extents;
  walk(s.program()->body, [&](const Stmt& x) {
    const For* loop = x.as<For>();
    if (loop && loop->for_kind == ForKind::Parallel) extents.push_back(as_int(loop->extent).value());
    return true;
  });
  CHECK(extents == std::vector<std::int64_t>{6});
}

TEST_CASE("what can run in parallel and in vectors does") {
  Schedule s(product(256, 256, 256));
  apply_rules(s, test::avx2());
  CHECK(count(s.program(), ForKind::Parallel) == 1);
  CHECK(count(s.program(), ForKind::Vectorized) >= 2);
  Schedule serial(product(256, 256, 256));
  apply_rules(serial, test::avx2(), {.parallel = false});
  CHECK(count(serial.program(), ForKind::Parallel) == 0);
}

TEST_CASE("the chosen tile fits the registers and is no slower than any other that does") {
  for (std::int64_t rows : {1, 2, 7, 13, 56, 128, 1000}) {
    for (std::int64_t columns : {1, 8, 17, 29, 64, 131, 1024}) {
      for (std::int64_t registers : {16, 32}) {
        rules::TileProblem p{.rows = rows, .columns = columns, .depth = 64, .registers = registers};
        const rules::Tile best = rules::best_tile(p);
        CHECK(rules::fits(best, registers));
        for (std::int64_t r = 1; r <= std::min<std::int64_t>(rows, 14); ++r) {
          for (std::int64_t v = 1; v <= 4; ++v) {
            const rules::Tile other{1, r, v};
            if (rules::fits(other, registers))
              CHECK(rules::cycles(p, best) <= rules::cycles(p, other) * 1.01);
          }
        }
      }
    }
  }
}

// One vector of sums is as good as two while loading costs nothing: nine rows are nine additions and ten loads then, less
// than the latency. At 1.75 loads a cycle the ten take longer than the latency, and the nine of eight rows do not.
TEST_CASE("what a step loads decides between a tall tile and a wide one") {
  const auto tile = [](std::int64_t rows) {
    return rules::best_tile({.rows = rows, .columns = 16, .depth = 64});
  };
  CHECK(tile(8).rows == 8);
  CHECK(tile(8).vectors == 1);
  CHECK(tile(9).rows == 5);
  CHECK(tile(9).vectors == 2);
}

TEST_CASE("a vectorised loop behind a parallel one is no part of it to the race check") {
  Tensor a = placeholder("A", {16}, f32);
  Tensor c = compute("C", {16}, [&](Var i) { return a(i) + 1.f; });
  Tensor d = compute("D", {16}, [&](Var i) { return a(i) * 2.f; });
  Schedule s(program("two", {a}, {c, d}));
  s.parallel(s.loops<1>(s.block(c))[0]);
  s.vectorize(s.loops<1>(s.block(d))[0]);
  CHECK(test::disagreement(s) == "");
}

TEST_CASE("constant operands of contractions are laid out ahead of the calls") {
  for (const char* spec : {"matmul(m=9,n=21,k=7,cb=1)", "dense(m=5,n=8,k=3)", "conv2d(h=6,w=5,ci=3,co=9)",
                           "conv2d(h=6,w=5,ci=8,co=8,g=2)"}) {
    INFO(spec);
    const Workload w = Workload::parse(spec);
    const PreparedProgram divided = divide_prepared(w.default_schedule(test::avx2()).program());
    REQUIRE(divided.prepare.defined());
    CHECK(divided.constants.size() == 1);
  }
  const Workload plain = Workload::parse("matmul(m=9,n=21,k=7)");
  CHECK_FALSE(divide_prepared(plain.default_schedule(test::avx2()).program()).prepare.defined());
}

TEST_CASE("weights of groups that come with each call are packed and tiled, too") {
  const Program given = Workload::parse("conv2d(h=6,w=5,ci=8,co=24,g=2)").program;
  std::vector<Param> params = given->params;
  for (Param& p : params) {
    if (p.role == ParamRole::Constant) p.role = ParamRole::Input;
  }
  const Program program(given->name, params, given->temps, given->body);
  CHECK(check(program, 1e-5) == "");
  Schedule s(program);
  apply_rules(s, test::avx2());
  bool in_registers = false;
  for (const Buffer& b : s.program()->temps) in_registers |= b->scope == Scope::Local;
  CHECK(in_registers);
}
