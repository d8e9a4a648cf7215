#include <set>
#include <thread>

#include "lathe/runtime/c_api.h"
#include "tests/behaviour/codegen/build.h"

using namespace lathe;
using namespace lathe::codegen_test;

TEST_CASE("loops run as often as their extent says, also never and for run-time sizes") {
  Buffer out("out", i32, {8});
  for (const DataType type : {index_type, DataType{TypeCode::Index, 32}}) {
    Var n("n"), i("i", type);
    const Expr extent = type.bits == 32 ? cast(type, n) : Expr(n);
    const Program program(
        "count", {output(out), size(n)}, {},
        make_seq(
            {store(out, make_int(i32, 0), make_index(0)),
             loop(i, extent,
                  store(out, load(out, {make_index(0)}) + cast(i32, i) + make_int(i32, 1), make_index(0)))}));
    const LoadedCode code = compile(program, machines()[0]);
    for (const std::int64_t count : {0, 1, 2, 17, 1000}) {
      Array<std::int32_t> total(8);
      REQUIRE(run(code, {count}, total) == 0);
      CHECK(total[0] == count * (count + 1) / 2);
    }
  }
  for (const std::int64_t extent : {-3, 0, 1, 2}) {
    Var i("i");
    const Program program("fixed", {output(out)}, {},
                          loop(i, make_index(extent), store(out, make_int(i32, 5), i)));
    Array<std::int32_t> values(8);
    REQUIRE(run(compile(program, machines()[0]), {}, values) == 0);
    for (std::int64_t k = 0; k < 8; ++k) CHECK(values[static_cast<std::size_t>(k)] == (k < extent ? 5 : 0));
  }
}

TEST_CASE("select, and, or load only what decides") {
  // The subscript is far outside where the condition is false: only branches keep the program alive.
  Buffer in("in", f32, {8}), out("out", f32, {16}), flags("flags", boolean, {16});
  Var i("i");
  const Expr inside = i < 8;
  const Expr far = i * 1000000000 + 0;
  const Expr place = load(in, {select(inside, i, far)});
  const Program program(
      "lazy", {input(in), output(out), output(flags)}, {},
      loop(i, make_index(16),
           make_seq({store(out, select(inside, place, Expr(7.f)), i),
                     store(flags, (inside && place > 2.f) || !(i >= 8 || place < 0.f), i)})));
  Array<float> x(8), y(16);
  Array<std::uint8_t> f(16);
  for (std::size_t k = 0; k < 8; ++k) x[k] = static_cast<float>(k);
  for (const Machine& machine : machines()) {
    REQUIRE(run(compile(program, machine), {}, x, y, f) == 0);
    for (std::size_t k = 0; k < 16; ++k) {
      CHECK(y[k] == (k < 8 ? static_cast<float>(k) : 7.f));
      CHECK(f[k] == (k < 8));
    }
  }
}

TEST_CASE("an expression that shares its parts is emitted in proportion to its nodes") {
  Buffer in("in", i32, {1}), out("out", i32, {1});
  Expr x = load(in, {make_index(0)});
  for (int k = 0; k < 200; ++k) x = x + x;
  const Program program("shared", {input(in), output(out)}, {}, store(out, x, make_index(0)));
  CHECK(codegen::cpu::llvm_ir(program, machines()[0], {}, /*optimized=*/false).size() < 50000);
}

TEST_CASE("if, else and let") {
  Buffer out("out", i32, {10});
  Var i("i"), twice("twice");
  const Stmt body = make_stmt<Let>(
      twice, i * 2,
      make_stmt<If>(i % 3 == 0, store(out, cast(i32, twice), i), store(out, cast(i32, -twice), i)));
  const Program program("branch", {output(out)}, {}, loop(i, make_index(10), body));
  Array<std::int32_t> values(10);
  REQUIRE(run(compile(program, machines()[0]), {}, values) == 0);
  for (int k = 0; k < 10; ++k) CHECK(values[static_cast<std::size_t>(k)] == (k % 3 == 0 ? 2 * k : -2 * k));
}

namespace {

/// out[i] = in[i] + 1 through a temporary of `elements` for each of `outer` iterations.
Program through_temporary(const Expr& elements, std::vector<Param> sizes, ForKind outer) {
  Buffer in("in", f32, {64}), out("out", f32, {64}), t("t", f32, {elements}, Scope::Local);
  Var o("o"), i("i"), j("j");
  const Stmt body =
      make_stmt<Allocate>(t, make_seq({loop(i, make_index(8), store(t, load(in, {o * 8 + i}) + 1.f, i)),
                                       loop(j, make_index(8), store(out, load(t, {j}), o * 8 + j))}));
  std::vector<Param> params{input(in), output(out)};
  params.insert(params.end(), sizes.begin(), sizes.end());
  return Program("temporary", params, {}, loop(o, make_index(8), body, outer));
}

struct CountingWorkspace {
  int live = 0, calls = 0, fail_after = 1 << 30;
  std::set<void*> blocks;
  std::mutex mutex;
  lathe_workspace_backend backend{[](void* self, std::uint64_t bytes, std::uint64_t align) -> void* {
                                    auto* w = static_cast<CountingWorkspace*>(self);
                                    std::lock_guard lock(w->mutex);
                                    if (w->calls++ >= w->fail_after) return nullptr;
                                    ++w->live;
                                    return std::aligned_alloc(align, (bytes + align - 1) / align * align);
                                  },
                                  [](void* self, void* block) {
                                    auto* w = static_cast<CountingWorkspace*>(self);
                                    std::lock_guard lock(w->mutex);
                                    w->live -= block != nullptr;
                                    std::free(block);
                                  },
                                  this};
  CountingWorkspace() { lathe_set_workspace_backend(&backend); }
  ~CountingWorkspace() { lathe_set_workspace_backend(nullptr); }
};

}  // namespace

TEST_CASE("temporaries live on the stack when small, in the workspace when large or of run-time size") {
  Var n("n");
  for (const ForKind outer : {ForKind::Serial, ForKind::Parallel})
    for (const int kind : {0, 1, 2}) {
      CountingWorkspace workspace;
      const Program program = kind == 0   ? through_temporary(make_index(8), {}, outer)
                              : kind == 1 ? through_temporary(make_index(100000), {}, outer)
                                          : through_temporary(n + 8, {size(n)}, outer);
      Array<float> x(64), y(64);
      for (std::size_t k = 0; k < 64; ++k) x[k] = static_cast<float>(k);
      REQUIRE(run(compile(program, machines()[0]), {3}, x, y) == 0);
      for (std::size_t k = 0; k < 64; ++k) CHECK(y[k] == static_cast<float>(k + 1));
      CHECK(workspace.calls == (kind == 0 ? 0 : 8));
      CHECK(workspace.live == 0);
    }
}

TEST_CASE("a kernel without workspace returns the error and leaks nothing") {
  Buffer a("a", f32, {100000}, Scope::Local), b("b", f32, {200000}, Scope::Local), out("out", f32, {4});
  Var i("i");
  const Stmt inner = make_stmt<Allocate>(
      b, make_seq({store(b, Expr(1.f), make_index(0)), store(out, load(b, {make_index(0)}), i)}));
  for (const ForKind outer : {ForKind::Serial, ForKind::Parallel}) {
    const Program program("nested", {output(out)}, {},
                          make_stmt<Allocate>(a, make_seq({store(a, Expr(1.f), make_index(0)),
                                                           loop(i, make_index(4), inner, outer)})));
    const LoadedCode code = compile(program, machines()[0]);
    for (const int fail_after : {0, 1, 2, 3}) {
      CountingWorkspace workspace;
      workspace.fail_after = fail_after;
      Array<float> y(4);
      CHECK(run(code, {}, y) == LATHE_ERROR_OUT_OF_MEMORY);
      CHECK(workspace.live == 0);
    }
  }
  // A size whose bytes do not fit 64 bits must not become a small allocation.
  Var n("n");
  const Program huge = through_temporary(n, {size(n)}, ForKind::Serial);
  Array<float> x(64), y(64);
  CHECK(run(compile(huge, machines()[0]), {std::int64_t{1} << 62}, x, y) == LATHE_ERROR_OUT_OF_MEMORY);
  // Nor must one whose number of elements does not: 2^32 squared is 0, 3 * 2^31 squared and half of it are small.
  const LoadedCode square = compile(through_temporary(n * n + 8, {size(n)}, ForKind::Serial), machines()[0]),
                   half = compile(through_temporary(floordiv(n * n, 2), {size(n)}, ForKind::Serial),
                                  machines()[0]);
  for (const std::int64_t v : {std::int64_t{1} << 32, std::int64_t{3} << 31, std::int64_t{1} << 62}) {
    CHECK(run(square, {v}, x, y) == LATHE_ERROR_OUT_OF_MEMORY);
    CHECK(run(half, {v}, x, y) == LATHE_ERROR_OUT_OF_MEMORY);
  }
  CHECK(run(square, {3}, x, y) == LATHE_OK);
}

TEST_CASE("a parallel loop sees sizes, lets, buffers and temporaries of its surroundings") {
  Buffer in("in", f32, {100}), out("out", f32, {100}), scale("scale", f32, {1}, Scope::Local);
  Var n("n"), i("i"), shift("shift");
  const Stmt body =
      make_seq({store(scale, Expr(2.f), make_index(0)),
                make_stmt<Let>(shift, n - 1,
                               loop(i, n, store(out, load(in, {shift - i}) * load(scale, {make_index(0)}), i),
                                    ForKind::Parallel))});
  const Program program("reverse", {input(in), output(out), size(n)}, {}, make_stmt<Allocate>(scale, body));
  const LoadedCode code = compile(program, machines()[0]);
  for (const std::int64_t count : {0, 1, 7, 100}) {
    Array<float> x(100), y(100, -1.f);
    for (std::size_t k = 0; k < 100; ++k) x[k] = static_cast<float>(k);
    REQUIRE(run(code, {count}, x, y) == 0);
    for (std::int64_t k = 0; k < 100; ++k)
      CHECK(y[static_cast<std::size_t>(k)] == (k < count ? static_cast<float>(2 * (count - 1 - k)) : -1.f));
  }
}

TEST_CASE("one kernel runs on many threads at once") {
  Buffer in("in", f32, {4096}), out("out", f32, {4096});
  Var i("i");
  const Program program("twice", {input(in), output(out)}, {},
                        loop(i, make_index(4096), store(out, load(in, {i}) * 2.f, i), ForKind::Parallel));
  const LoadedCode code = compile(program, machines()[0]);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Array<float> x(4096, static_cast<float>(t)), y(4096);
      for (int round = 0; round < 50; ++round) {
        for (std::size_t k = 0; k < 4096; ++k) y[k] = -1;
        wrong += run(code, {}, x, y) != 0;
        for (std::size_t k = 0; k < 4096; ++k) wrong += y[k] != static_cast<float>(2 * t);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

extern "C" float lathe_codegen_test_halve(float x) { return x / 2; }

TEST_CASE("a program calls functions of its process by name; a missing one is a user's error") {
  Buffer in("in", f32, {4}), out("out", f32, {4});
  Var i("i");
  auto program = [&](const char* symbol) {
    return Program("calls", {input(in), output(out)}, {},
                   loop(i, make_index(4),
                        store(out, Expr(new Call(f32, Intrinsic::Extern, {load(in, {i})}, symbol)), i)));
  };
  Array<float> x{2, 4, 6, 8}, y(4);
  REQUIRE(run(compile(program("sqrtf"), machines()[0]), {}, x, y) == 0);
  CHECK(y[1] == 2.f);
  CHECK_THROWS_AS(compile(program("no_such_function"), machines()[0]), UserError);
}
