#include <cmath>
#include <limits>

#include "behaviour/ir/sample_programs.h"
#include "lathe/te.h"
#include "support/error_text.h"

using namespace lathe;
using lathe::test::error_text;
using lathe::test::RowSum;

namespace {

/// One program with every kind of node and every optional field.
Program everything() {
  Var n("n");
  auto* node = new BufferNode;
  node->name = "tmp";
  node->dtype = f32;
  node->shape = {n, 4};
  node->scope = Scope::Local;
  node->strides = {8, 1};
  node->alignment = 32;
  Buffer tmp(node);
  RowSum r;
  auto update = r.block();
  Label init_label = make_label("C_init");
  update->partner = init_label;
  update->predicate = r.i < 7 && !(r.k == 2);
  update->annotations = {{"text", std::string("a \"b\" \\ ü")}, {"number", std::int64_t(-5)}};
  auto init = std::make_unique<Block>();
  Var vi("vi"), i("i");
  init->label = init_label;
  init->iters = {{vi, 8, IterKind::Spatial}};
  init->bindings = {i};
  init->predicate = true_expr();
  init->writes = {{r.c, {{vi, 1}}}};
  init->body = make_stmt<Store>(r.c, 0.f, std::vector<Expr>{vi});
  init->partner = update->label;
  Stmt init_loop = make_stmt<For>(i, 8, ForKind::Parallel, Stmt(init.release()), ThreadAxis::None,
                                  Annotations{{"chunk", std::int64_t(2)}});
  Stmt update_loops = r.program(std::move(update))->body;

  Var t("t"), x("x", f32), q("q");
  Expr lanes = ramp(t * 4, 1, 4), mask = broadcast(t < 3, 4);
  Buffer flat("flat", f32, {64});
  Stmt vector_store = make_stmt<Store>(flat, Expr(new Load(flat, {lanes}, mask)) + broadcast(x, 4),
                                       std::vector<Expr>{lanes}, mask, true);
  Stmt scalar =
      make_stmt<Store>(flat, select(t < 2, exp(x), pow(x, 2)) + cast(f32, t), std::vector<Expr>{t / 3});
  Stmt effect = make_stmt<Evaluate>(Expr(new Call(f32, Intrinsic::Extern, {x, cast(i8, q)}, "my_function")));
  Stmt branch = make_stmt<If>(t < 5, vector_store, make_seq({scalar, effect}));
  Stmt let = make_stmt<Let>(x, load(flat, {t}), make_stmt<Let>(q, t + 1, branch));
  Stmt thread =
      make_stmt<For>(t, 8, ForKind::ThreadBound, make_stmt<Allocate>(flat, let), ThreadAxis::ThreadX);
  return Program("everything",
                 {{ParamRole::Size, {}, n}, {ParamRole::Constant, r.a, {}}, {ParamRole::InOut, r.c, {}}},
                 {tmp}, make_seq({init_loop, update_loops, thread, make_stmt<Seq>(std::vector<Stmt>{})}));
}

Program of_value(Expr value) {
  Buffer out("out", value.dtype(), {1});
  return Program("p", {{ParamRole::Output, out, {}}}, {}, make_stmt<Store>(out, value, std::vector<Expr>{0}));
}
Expr back(Expr value) { return program_from_json(to_json(of_value(value)))->body.as<Store>()->value; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}
std::string reading(const std::string& text) {
  return error_text([&] { program_from_json(text); });
}
/// The error of RowSum's JSON with `from` replaced.
std::string changed(const std::string& from, const std::string& to) {
  return reading(replaced(to_json(RowSum().program()), from, to));
}

}  // namespace

TEST_CASE("every node survives JSON") {
  const Program p = everything();
  REQUIRE(well_formed(p) == std::vector<std::string>{});
  const std::string text = to_json(p);
  const Program q = program_from_json(text);
  CHECK(structural_equal(p, q));
  CHECK(structural_hash(p) == structural_hash(q));
  CHECK(to_string(p) == to_string(q));
  CHECK(to_json(q) == text);
  CHECK(to_json(program_from_json(to_json(p, 2)), 2) == to_json(p, 2));
}

TEST_CASE("the JSON of a small program") {
  CHECK(
      to_json(RowSum().program()) ==
      R"({"format":"lathe-program","version":1,"name":"rowsum",)"
      R"("params":[{"role":"input","buffer":0},{"role":"output","buffer":1}],"temps":[],)"
      R"("vars":[["i","index"],["k","index"],["vi","index"],["vk","index"],["x","f32"],["y","f32"]],)"
      R"("buffers":[{"name":"A","dtype":"f32","shape":[8,5]},{"name":"C","dtype":"f32","shape":[8]}],)"
      R"("labels":["C"],)"
      R"("reducers":[{"name":"sum","a":[4],"b":[5],"result":[["+",["var",4],["var",5]]],"identity":[["f32",0.0]],)"
      R"("associative":true,"commutative":true}],)"
      R"("body":{"for":0,"extent":8,"body":{"for":1,"extent":5,"body":{"block":0,)"
      R"("iters":[{"var":2,"extent":8},{"var":3,"extent":5,"kind":"reduce"}],"bindings":[["var",0],["var",1]],)"
      R"("reads":[{"buffer":0,"ranges":[[["var",2],1],[["var",3],1]]}],)"
      R"("writes":[{"buffer":1,"ranges":[[["var",2],1]]}],"reducer":0,)"
      R"("init":{"store":1,"indices":[["var",2]],"value":["f32",0.0]},)"
      R"("body":{"store":1,"indices":[["var",2]],"value":["+",["load",1,[["var",2]]],)"
      R"(["*",["load",0,[["var",2],["var",3]]],["f32",2.0]]]}}}}})");
}

TEST_CASE("integers of every width survive JSON exactly") {
  for (const DataType t : {i8, i16, i32, i64, u8, u16, u32, u64, boolean}) {
    for (const std::int64_t value : {INT64_MIN, std::int64_t(-1), std::int64_t(0), std::int64_t(1), INT64_MAX,
                                     (std::int64_t(1) << 53) + 1}) {
      const Expr e = make_int(t, value);
      INFO(t.str() << " " << value);
      CHECK(structural_equal(back(e), e));
    }
  }
  const Expr index = cast(i64, make_index(INT64_MIN) + make_index(INT64_MAX));
  CHECK(structural_equal(back(index), index));
}

TEST_CASE("floats of every width survive JSON exactly") {
  using Limits = std::numeric_limits<double>;
  for (const DataType t : {f16, bf16, f32, f64}) {
    for (const double value :
         {0.0, -0.0, 0.1, 1.0 / 3, 1e-40, -1e30, 65504.0, Limits::max(), Limits::denorm_min(),
          Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
      const Expr e = make_float(t, value);
      INFO(t.str() << " " << value);
      CHECK(structural_equal(back(e), e));
    }
  }
}

TEST_CASE("programs of the tensor-expression language survive JSON") {
  Tensor x = placeholder("x", {4, 5}, f32);
  Axis r = reduce_axis(5, "r");
  auto [value, at] = compute("best", {4}, [&](Var i) { return argmax(x(i, r), {r}); });
  const Program p = program("p", {x}, {value, at});
  CHECK(structural_equal(program_from_json(to_json(p)), p));
}

TEST_CASE("text that is no JSON, or no program") {
  CHECK(reading("") == "this is no JSON: it breaks off or is wrong at byte 1  [LTH-F001]");
  CHECK(reading("{\"format\": ") == "this is no JSON: it breaks off or is wrong at byte 12  [LTH-F001]");
  CHECK(reading("[1]") == "program JSON, at the document: expected an object  [LTH-F003]");
  CHECK(reading("{}") ==
        "this is no program JSON: its field \"format\" is not \"lathe-program\"  [LTH-F001]");
  CHECK(reading("{\"format\": \"lathe-program\"}") ==
        "program JSON of version <missing>; this Lathe reads version 1  [LTH-F002]");
  CHECK(changed("\"version\":1", "\"version\":2") ==
        "program JSON of version 2; this Lathe reads version 1  [LTH-F002]");
  CHECK(reading("[1e999]") == "this is no JSON: a number in it is out of range  [LTH-F001]");
}

TEST_CASE("an error in JSON names the place") {
  CHECK(changed("\"role\":\"input\"", "\"role\":\"imput\"") ==
        "program JSON, at params[0].role: \"imput\" is none of input, constant, output, inout, size  "
        "[LTH-F003]");
  CHECK(changed("\"index\"", "\"f24\"") == "program JSON, at vars[0]: there is no type \"f24\"  [LTH-F003]");
  CHECK(changed("\"shape\":[8,5]", "\"shape\":[8,\"x\"]") ==
        "program JSON, at buffers[0].shape[1]: expected an expression  [LTH-F003]");
  CHECK(changed("\"shape\":[8,5]", "\"shape\":[8,-5]") ==
        "program JSON, at buffers[0]: A has the negative extent -5  [LTH-F003]");
  CHECK(changed("[[\"var\",0],[\"var\",1]]", "[[\"var\",0],[\"var\",77]]") ==
        "program JSON, at body.body.body.bindings[1]: there is no element 77 in \"vars\", which has 6  "
        "[LTH-F003]");
  CHECK(
      changed("[\"f32\",2.0]", "[\"f32\",0.1]") ==
      "program JSON, at body.body.body.body.value[2][2]: the literal 0.1 is not a value of f32  [LTH-F003]");
  CHECK(changed("[\"f32\",2.0]", "[\"i8\",200]") ==
        "program JSON, at body.body.body.body.value[2][2]: the literal 200 does not fit i8  [LTH-F003]");
  CHECK(changed("[\"f32\",2.0]", "[\"f64\",2.0]") ==
        "program JSON, at body.body.body.body.value[2]: operator * has operands of types f32 and f64  "
        "[LTH-F003]");
  CHECK(changed("[\"f32\",2.0]", "[\"frobnicate\",2.0]") ==
        "program JSON, at body.body.body.body.value[2][2]: unknown expression \"frobnicate\"  [LTH-F003]");
  CHECK(changed("\"iters\"", "\"itters\"") ==
        "program JSON, at body.body.body: unknown field \"itters\"  [LTH-F003]");
  CHECK(changed("\"bindings\":[[\"var\",0],[\"var\",1]],", "") ==
        "program JSON, at body.body.body: the field \"bindings\" is missing  [LTH-F003]");
  CHECK(changed("\"extent\":8,\"body\"", "\"extent\":18446744073709551615,\"body\"") ==
        "program JSON, at body.extent: the integer 18446744073709551615 does not fit 64 bits  [LTH-F003]");
  CHECK(changed("{\"for\":0", "{\"four\":0") ==
        "program JSON, at body: a statement of unknown kind  [LTH-F003]");
}

TEST_CASE("what is well typed but not well formed is refused too") {
  CHECK(changed("[[\"var\",0],[\"var\",1]]", "[[\"var\",0]]") ==
        "program JSON: block \"C\": there are 2 iteration variables, but 1 bindings  [LTH-F003]");
}

TEST_CASE(
    "a block that accesses more than the regions that it declares is refused, one that declares more is "
    "read") {
  const std::string whole = "[[0,8],[0,5]]", point = "[[[\"var\",2],1],[[\"var\",3],1]]";
  CHECK(changed(point, "[[[\"var\",2],1],[0,1]]") ==
        "program JSON: block \"C\" reads \"A\" outside the region that it declares  [LTH-F003]");
  CHECK(changed("\"writes\":[{\"buffer\":1,\"ranges\":[[[\"var\",2],1]]}]", "\"writes\":[]") ==
        "program JSON: block \"C\" writes \"C\" outside the region that it declares  [LTH-F003]");
  CHECK(changed(point, whole) == "no error");
}

TEST_CASE("a file cannot choose the depth of recursion") {
  const std::string many(100000, '[');
  CHECK(reading(many) == "program JSON: nested more than 1000 levels deep  [LTH-F003]");
  std::string deep;
  for (int i = 0; i < 2500; ++i) deep += "[\"!\",";
  deep += "true" + std::string(2500, ']');
  const std::string error = changed("\"value\":[\"f32\",0.0]", "\"value\":" + deep);
  CHECK(error.find("nested more than 1000 levels deep") != std::string::npos);
}

TEST_CASE("a program too deep for JSON is refused, and one just below is read back") {
  auto nested = [](int levels) {
    Expr e = 1.f;
    for (int i = 0; i < levels; ++i) e = e + 1.f;
    return of_value(e);
  };
  CHECK(structural_equal(program_from_json(to_json(nested(990))), nested(990)));
  CHECK(error_text([&] { to_json(nested(1100)); }) ==
        "the program is nested more than 1000 levels deep, which its JSON form does not allow  [LTH-F003]");
}

TEST_CASE("names and annotations that are no UTF-8 text are refused") {
  Buffer out("bad\xff", f32, {1});
  const Program p("p", {{ParamRole::Output, out, {}}}, {}, make_stmt<Store>(out, 1.f, std::vector<Expr>{0}));
  CHECK(
      error_text([&] { to_json(p); }) ==
      "a name, annotation or symbol of program \"p\" is not UTF-8 text, which JSON cannot hold  [LTH-F003]");
}
