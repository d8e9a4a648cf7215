// The exact texts of violations and errors.

#include "behaviour/interp/programs.h"

namespace lathe::interp {
namespace {

/// The text of the first violation.
std::string first(const Program& p, std::vector<Array> inputs = {}, const Options& options = {}) {
  const Report r = run(p, std::move(inputs), {}, options).report;
  REQUIRE_FALSE(r.violations.empty());
  return r.violations[0].text;
}
template <class F>
std::string error(const char* id, F f) {
  try {
    f();
  } catch (const UserError& e) {
    REQUIRE(describe(e.code()).id == id);
    const std::string text = e.what(), suffix = std::string("  [") + id + "]";
    REQUIRE(text.size() > suffix.size());
    REQUIRE(text.substr(text.size() - suffix.size()) == suffix);
    return text.substr(0, text.size() - suffix.size());
  }
  return "no error";
}

struct Simple {
  Buffer a{"a", i32, {2, 3}}, c{"c", i32, {4}};
  Var i{"i"}, j{"j"}, v{"v"};
  Array x = Array::iota(i32, {2, 3});
  Program program(Stmt body) { return Program("simple", {in(a), out(c)}, {}, body); }
};

TEST_CASE("text: out of bounds", "[interp]") {
  Simple s;
  REQUIRE(first(s.program(loop(s.i, 4, loop(s.j, 1, store(s.c, {s.i}, load(s.a, {s.j, s.i}))))), {s.x}) ==
          "out of bounds: a[0, 3] a load outside its shape [2, 3], at i = 3, j = 0");
  REQUIRE(first(s.program(loop(s.i, 5, store(s.c, {s.i - 1}, make_int(i32, 0)))), {s.x}) ==
          "out of bounds: c[-1] a store outside its shape [4], at i = 0");
}

TEST_CASE("text: uninitialized and never written", "[interp]") {
  Simple s;
  const Program p = s.program(make_stmt<If>(load(s.c, {2}) == 0, store(s.c, {0}, make_int(i32, 1))));
  const Report r = run(p, {s.x}).report;
  REQUIRE(r.text() ==
          "uninitialized: c[2] read before anything is written there\n"
          "not written: c[0] is never written, as are 4 of the 4 elements of this output");
}

TEST_CASE("text: rewritten", "[interp]") {
  Simple s;
  Stmt b = block("c", {{s.v, 8, s.i}}, store(s.c, {floordiv(s.v, 2)}, cast(i32, s.v)));
  REQUIRE(first(s.program(loop(s.i, 8, b)), {s.x}) ==
          "rewritten: c[0] written again by a complete block, with 1 after 0, at i = 1");
}

TEST_CASE("text: write to an input", "[interp]") {
  Simple s;
  REQUIRE(first(s.program(store(s.a, {1, 2}, make_int(i32, 0))), {s.x}) ==
          "write to input: a[1, 2] a store to an input of the program");
}

TEST_CASE("text: index overflow", "[interp]") {
  Simple s;
  REQUIRE(first(s.program(loop(s.i, 2, store(s.c, {(s.i + INT64_MAX) - INT64_MAX}, make_int(i32, 0)))),
                {s.x}) == "index overflow: 1 + 9223372036854775807 leaves 64 bits, at i = 1");
}

TEST_CASE("text: a block variable outside its domain", "[interp]") {
  Simple s;
  Stmt b = block("c", {{s.v, 4, s.i * 2}}, store(s.c, {min(s.v, 3)}, make_int(i32, 7)));
  REQUIRE(first(s.program(loop(s.i, 4, b)), {s.x}) ==
          "outside domain: block variable v = 4 is outside its domain 0..4, at i = 2, v = 4");
}

TEST_CASE("text: negative extent", "[interp]") {
  Simple s;
  REQUIRE(first(s.program(loop(s.i, 2, loop(s.j, s.i - 1, store(s.c, {s.j}, make_int(i32, 7))))), {s.x}) ==
          "negative extent: a loop of extent -1, at i = 0, j = 0");
}

TEST_CASE("text: race", "[interp]") {
  Simple s;
  REQUIRE(first(s.program(parallel(s.i, 4, store(s.c, {0}, cast(i32, s.i)))), {s.x}) ==
          "race: c[0] is written by both of two threads, iterations or lanes that nothing orders, at i = 1");
  REQUIRE(first(s.program(parallel(s.i, 3, store(s.c, {s.i + 1}, load(s.c, {s.i})))), {s.x}) ==
          "uninitialized: c[0] read before anything is written there, at i = 0");
  Buffer d("d", i32, {4});
  REQUIRE(first(Program("p", {inout(d)}, {}, parallel(s.i, 3, store(d, {s.i}, load(d, {s.i + 1})))),
                {Array(i32, {4})}) ==
          "race: d[1] is read by one and written by the other of two threads, iterations or lanes that "
          "nothing orders, "
          "at i = 1");
}

TEST_CASE("text: barrier divergence", "[interp]") {
  Simple s;
  Stmt some = make_stmt<If>(s.i < 2, barrier());
  REQUIRE(first(s.program(bound(s.i, 4, ThreadAxis::ThreadX, some)), {s.x}) ==
          "barrier divergence: thread 0 waits at a barrier that other threads of its block ended without, at "
          "i = 0");
  Stmt two = make_stmt<If>(s.i < 2, barrier(), barrier());
  REQUIRE(first(s.program(bound(s.i, 4, ThreadAxis::ThreadX, two)), {s.x}) ==
          "barrier divergence: threads 0 and 3 of a block wait at different barriers, at i = 0");
}

TEST_CASE("violations beyond the limit are counted, and fail-fast stops at the first", "[interp]") {
  Simple s;
  const Program p = s.program(loop(s.i, 40, store(s.c, {s.i + 4}, make_int(i32, 1))));
  Options few;
  few.max_violations = 2;
  const Report r = run(p, {s.x}, {}, few).report;
  REQUIRE(r.violations.size() == 2);
  REQUIRE(r.violation_count == 41);
  REQUIRE(r.completed);
  REQUIRE(r.text() ==
          "out of bounds: c[4] a store outside its shape [4], at i = 0\n"
          "out of bounds: c[5] a store outside its shape [4], at i = 1\n… and 39 more");
  Options fast = few;
  fast.fail_fast = true;
  const Report f = run(p, {s.x}, {}, fast).report;
  REQUIRE(f.violation_count == 1);
  REQUIRE_FALSE(f.completed);
}

TEST_CASE("LTH-I001: number of arrays and sizes", "[interp]") {
  Simple s;
  const Program p = s.program(store(s.c, {0}, make_int(i32, 1)));
  REQUIRE(error("LTH-I001", [&] { run(p, {}); }) ==
          "program \"simple\" has 1 inputs, but 0 arrays were given");
  REQUIRE(error("LTH-I001", [&] { execute(p, {s.x.view()}); }) ==
          "program \"simple\" has 2 buffer parameters, but 1 arrays were given");
  REQUIRE(error("LTH-I001", [&] { run(p, {s.x}, {3}); }) ==
          "program \"simple\" has 0 size parameters, but 1 sizes were given");
  Var n("n");
  const Program sized("sized", {out(s.c), size(n)}, {}, store(s.c, {0}, make_int(i32, 1)));
  REQUIRE(error("LTH-I001", [&] { run(sized, {}, {-1}); }) ==
          "size \"n\" of program \"sized\" is negative: -1");
}

TEST_CASE("LTH-I002: an array that does not fit", "[interp]") {
  Simple s;
  const Program p = s.program(store(s.c, {0}, make_int(i32, 1)));
  REQUIRE(
      error("LTH-I002",
            [&] {
              run(p, {Array(i32, {3, 2})});
            }) ==
      "input parameter \"a\" of program \"simple\" is i32 [2, 3], but the array given for it is i32 [3, 2]");
  REQUIRE(
      error("LTH-I002",
            [&] {
              run(p, {Array(f32, {2, 3})});
            }) ==
      "input parameter \"a\" of program \"simple\" is i32 [2, 3], but the array given for it is f32 [2, 3]");
  REQUIRE(error("LTH-I002", [&] {
            execute(p, {{nullptr, i32, {2, 3}}, s.x.view()});
          }) == "the array given for input parameter \"a\" of program \"simple\" has no memory");
  Array whole(i32, {10});
  auto* data = static_cast<std::int32_t*>(whole.data());
  REQUIRE(error("LTH-I002",
                [&] {
                  execute(p, {{data, i32, {2, 3}}, {data + 5, i32, {4}}});
                }) ==
          "the arrays given for input parameter \"a\" and output parameter \"c\" of program \"simple\" "
          "overlap, and the "
          "program writes one of them");
  REQUIRE(execute(p, {{data, i32, {2, 3}}, {data + 6, i32, {4}}}).completed);
}

TEST_CASE("LTH-I003: memory", "[interp]") {
  Simple s;
  Var n("n");
  Buffer t("t", f32, {n, 1000});
  const Program p("big", {out(s.c), size(n)}, {}, make_stmt<Allocate>(t, store(s.c, {0}, make_int(i32, 1))));
  REQUIRE(error("LTH-I003", [&] { run(p, {}, {1000000000}); }) ==
          "buffer \"t\" of shape [1000000000, 1000]: needs 5,000,000,000,000 B, 4 B are in use, and the "
          "interpreter's limit "
          "is 4,294,967,296 B (shadows of checks included); use smaller sizes, switch checks off, or raise "
          "Options::memory_limit");
  REQUIRE(error("LTH-I003", [&] { run(p, {}, {INT64_MAX}); }).find("needs more than 2^48 elements") !=
          std::string::npos);
  REQUIRE(error("LTH-I003", [&] {
            run(s.program(bound(s.i, std::int64_t{1} << 40, ThreadAxis::ThreadX,
                                store(s.c, {0}, make_int(i32, 1)))),
                {s.x});
          }).find("the threads of a block: needs ") == 0);
}

TEST_CASE("LTH-I004: steps", "[interp]") {
  Simple s;
  Options o;
  o.step_limit = 1000;
  auto loops = [&](std::int64_t n) { return s.program(loop(s.i, n, store(s.c, {0}, make_int(i32, 1)))); };
  REQUIRE(error("LTH-I004", [&] { run(loops(std::int64_t{1} << 60), {s.x}, {}, o); }) ==
          "the program was stopped after 1000 loop iterations; raise Options::step_limit if it is meant to "
          "run that long");
  REQUIRE(run(loops(999), {s.x}, {}, o).report.completed);
}

TEST_CASE("LTH-I005: unknown function", "[interp]") {
  Simple s;
  Expr e(new Call(i32, Intrinsic::Extern, {}, "mma"));
  REQUIRE(error("LTH-I005", [&] { run(s.program(store(s.c, {0}, e)), {s.x}); }) ==
          "the program calls \"mma\", which the interpreter does not know; give it in Options::functions");
}

TEST_CASE("LTH-I006: malformed programs", "[interp]") {
  Simple s;
  const std::string start = "program \"simple\" cannot be interpreted: ";
  auto refused = [&](Stmt body) { return error("LTH-I006", [&] { run(s.program(body), {s.x}); }); };
  REQUIRE(refused(store(s.c, {s.i}, make_int(i32, 1))) ==
          start + "variable \"i\" is used where it is not defined");
  Buffer t("t", i32, {4});
  REQUIRE(refused(store(t, {0}, make_int(i32, 1))) ==
          start +
              "buffer \"t\" is accessed where it has no memory: it is neither a parameter nor an "
              "intermediate of the program, "
              "nor allocated around the access");
  REQUIRE(refused(store(s.c, {0, 0}, make_int(i32, 1))) ==
          start + "\"c\" has 1 dimensions and is accessed with 2 subscripts");
  REQUIRE(refused(store(s.c, {0}, 1.f)) == start + "a value of type f32 is stored to \"c\", of type i32");
  REQUIRE(refused(bound(s.i, 4, ThreadAxis::None, store(s.c, {0}, make_int(i32, 1)))) ==
          start + "loop \"i\" is bound to no axis");
}

}  // namespace
}  // namespace lathe::interp
