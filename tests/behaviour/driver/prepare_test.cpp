#include "lathe/prepare.h"

#include "lathe/interp.h"
#include "lathe/runtime/fill.h"

using namespace lathe;

namespace {

struct MatMul {
  Tensor a, b, c;
  Program program;
};

/// C = A B with constant B.
MatMul matmul(std::int64_t m, std::int64_t n, std::int64_t k) {
  MatMul out;
  out.a = placeholder("A", {m, k}, f32);
  out.b = placeholder("B", {k, n}, f32, Constant);
  Axis r = reduce_axis(k, "k");
  out.c = compute("C", {m, n}, [&](Var i, Var j) { return sum(out.a(i, r) * out.b(r, j), {r}); });
  out.program = program("matmul", {out.a, out.b}, {out.c});
  return out;
}

/// B in panels of 16 columns, padded where 16 does not divide.
Schedule packed(const MatMul& t) {
  Schedule s(t.program);
  s.transform_layout(s.block("C"), t.b, [](const std::vector<Var>& i) {
    return std::vector<Expr>{floordiv(i[1], 16), i[0], floormod(i[1], 16)};
  });
  return s;
}

std::vector<runtime::Tensor> arguments(const Program& program) {
  std::vector<runtime::Tensor> out;
  std::uint64_t seed = 3;
  for (const Param& p : program->params) {
    std::vector<std::int64_t> shape;
    for (const Expr& e : p.buffer->shape) shape.push_back(*as_int(e));
    out.emplace_back(p.buffer->dtype, shape);
    if (p.role == ParamRole::Output)
      runtime::fill_poison(out.back());
    else
      runtime::fill_integers(out.back(), ++seed, -3, 3);
  }
  return out;
}

std::vector<runtime::Tensor*> pointers(std::vector<runtime::Tensor>& tensors) {
  std::vector<runtime::Tensor*> out;
  for (runtime::Tensor& t : tensors) out.push_back(&t);
  return out;
}

std::string text_of(const std::function<void()>& refused) {
  try {
    refused();
  } catch (const ScheduleError& e) {
    return e.what();
  }
  return "no error";
}

bool equal(const runtime::Tensor& a, const runtime::Tensor& b) {
  for (std::int64_t i = 0; i < a.size(); ++i)
    if (!(a.value(i) == b.value(i))) return false;
  return a.size() == b.size();
}

}  // namespace

TEST_CASE("a matmul with prepared weights computes what the program as written computes") {
  for (std::int64_t n : {1, 15, 16, 17, 33}) {
    CAPTURE(n);
    const MatMul t = matmul(5, n, 7);
    const Schedule s = packed(t);
    std::vector<runtime::Tensor> plain = arguments(t.program), once = arguments(t.program),
                                 often = arguments(t.program);
    compile(t.program, Target::host())(pointers(plain));
    compile(s, Target::host())(pointers(once));
    CHECK(equal(once[2], plain[2]));

    const PreparedKernel kernel = compile_prepared(s, Target::host());
    REQUIRE(kernel.prepares());
    std::vector<runtime::Tensor> weights = kernel.prepare(pointers(often));
    CHECK(weights[0].shape() == std::vector<std::int64_t>{(n + 15) / 16, 7, n < 16 ? n : 16});
    runtime::fill_poison(often[1]);  // the constant is not looked at again
    kernel(pointers(often), weights);
    CHECK(equal(often[2], plain[2]));
  }
}

TEST_CASE(
    "the divided programs are programs like others: well-formed, with the same parameters in the same "
    "places") {
  const MatMul t = matmul(5, 17, 7);
  const PreparedProgram p = divide_prepared(packed(t).program());
  CHECK(well_formed(p.prepare).empty());
  CHECK(well_formed(p.kernel).empty());
  CHECK(p.prepare->name == "matmul_prepare");
  CHECK(p.kernel->name == "matmul");
  REQUIRE(p.kernel->params.size() == 3);
  CHECK(p.kernel->params[1].role == ParamRole::Constant);
  CHECK(p.kernel->params[1].name() == "B_prepared");
  CHECK(p.constants == std::vector<std::size_t>{1});
  CHECK(structural_equal(program_from_json(to_json(p.kernel)), p.kernel));
}

TEST_CASE("what a layout pads is zero") {
  const MatMul t = matmul(1, 17, 2);
  const PreparedKernel kernel = compile_prepared(packed(t), Target::host());
  std::vector<runtime::Tensor> a = arguments(t.program);
  const std::vector<runtime::Tensor> weights = kernel.prepare(pointers(a));
  CHECK(weights[0].value(2 * 16 + 1) == 0);  // panel 1, row 0, column 1
  CHECK(weights[0].value(2 * 16) == a[1].value(16));
}

TEST_CASE("a copy made by cache_read can be prepared, scheduled and laid out") {
  const MatMul t = matmul(6, 20, 9);
  Schedule s(t.program);
  const BlockRef copy = s.cache_read(s.block("C"), t.b, Scope::Global);
  s.transform_layout(copy, -1, [] {
    Var k("k"), j("j");
    return IndexMap{{k, j}, {j, k}};
  }());
  s.prepare(copy);
  s.parallel(s.loops(copy)[0]);
  std::vector<runtime::Tensor> plain = arguments(t.program), often = arguments(t.program);
  compile(t.program, Target::host())(pointers(plain));
  const PreparedKernel kernel = compile_prepared(s, Target::host());
  std::vector<runtime::Tensor> weights = kernel.prepare(pointers(often));
  CHECK(weights[0].shape() == std::vector<std::int64_t>{20, 9});
  kernel(pointers(often), weights);
  CHECK(equal(often[2], plain[2]));
}

TEST_CASE("a schedule without the mark has nothing to prepare") {
  const MatMul t = matmul(3, 4, 5);
  const PreparedKernel kernel = compile_prepared(t.program, Target::host());
  CHECK_FALSE(kernel.prepares());
  std::vector<runtime::Tensor> a = arguments(t.program), b = arguments(t.program);
  std::vector<runtime::Tensor> none = kernel.prepare(pointers(a));
  CHECK(none.empty());
  kernel(pointers(a), none);
  compile(t.program, Target::host())(pointers(b));
  CHECK(equal(a[2], b[2]));
}

TEST_CASE("the mark survives a trace, as JSON") {
  const MatMul t = matmul(5, 17, 7);
  const Schedule s = packed(t);
  Schedule again(t.program);
  again.replay(Trace::from_json(s.trace().to_json()));
  CHECK(structural_hash(again.program()) == structural_hash(s.program()));
  CHECK(divide_prepared(again.program()).prepare.defined());
}

TEST_CASE("what depends on more than one constant, or is needed as it was, cannot be prepared") {
  const MatMul t = matmul(4, 8, 6);
  {
    Schedule s(t.program);
    const BlockRef copy = s.cache_read(s.block("C"), t.a, Scope::Global);
    CHECK(text_of([&] { s.prepare(copy); }).find("it reads \"A\", which is no constant parameter") !=
          std::string::npos);
  }
  {
    Schedule s(t.program);
    CHECK(text_of([&] { s.prepare(s.block("C")); }).find("it reads 2 buffers and writes 1") !=
          std::string::npos);
  }
  {
    Tensor w = placeholder("w", {8}, f32, Constant), x = placeholder("x", {8}, f32);
    Tensor y = compute("y", {8}, [&](Var i) { return x(i) * w(i); });
    Tensor z = compute("z", {8}, [&](Var i) { return y(i) + w(i); });
    Schedule s(program("twice", {x, w}, {y, z}));
    const BlockRef copy = s.cache_read(s.block("y"), w, Scope::Global);
    CHECK(text_of([&] { s.prepare(copy); }).find("another block reads \"w\", too") != std::string::npos);
    // transform_layout redirects all readers.
    s.transform_layout(s.block("z"), w, [](const std::vector<Var>& i) { return std::vector<Expr>{i[0]}; });
    CHECK(divide_prepared(s.program()).constants == std::vector<std::size_t>{1});
  }
}

TEST_CASE("moving a prepared block into a loop is refused before any code is made") {
  const MatMul t = matmul(4, 8, 6);
  Schedule s = packed(t);
  s.compute_at(s.block("B_prepared"), s.loops(s.block("C"))[0]);
  CHECK(text_of([&] { verify(s, Target::host()); }).find("it does not stand alone at the root") !=
        std::string::npos);
  CHECK_THROWS_AS(compile(s, Target::host()), ScheduleError);
}

TEST_CASE("an object says itself what it prepares, for a process that only links and runs it") {
  for (const bool prepares : {true, false}) {
    CAPTURE(prepares);
    const MatMul t = matmul(5, 17, 7);
    const Program scheduled = prepares ? packed(t).program() : t.program;
    const std::vector<char> object = compile_prepared_object(scheduled, Target::host());
    CHECK(object == compile_prepared_object(scheduled, Target::host()));
    PreparedCode code = link_prepared("matmul", Target::host(), object);
    std::vector<runtime::Tensor> plain = arguments(t.program), often = arguments(t.program);
    compile(t.program, Target::host())(pointers(plain));
    std::vector<void*> addresses;
    for (runtime::Tensor& x : often) addresses.push_back(x.data());
    REQUIRE(code.prepare(addresses) == LATHE_OK);
    CHECK((addresses[1] != often[1].data()) == prepares);
    CHECK(addresses[0] == often[0].data());
    REQUIRE(code.run(addresses.data()) == LATHE_OK);
    CHECK(equal(often[2], plain[2]));
  }
}
