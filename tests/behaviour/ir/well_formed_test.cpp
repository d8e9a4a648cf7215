#include "behaviour/ir/sample_programs.h"

using namespace lathe;
using lathe::test::RowSum;

namespace {

std::string first_problem(const Program& p) {
  const std::vector<std::string> problems = well_formed(p);
  return problems.empty() ? "none" : problems[0];
}
std::string block_problem(const std::function<void(const RowSum&, Block&)>& change) {
  RowSum r;
  auto b = r.block();
  change(r, *b);
  return first_problem(r.program(std::move(b)));
}
std::string body_problem(const Buffer& out, Stmt body) {
  return first_problem(Program("p", {{ParamRole::Output, out, {}}}, {}, std::move(body)));
}

const Stmt nothing = make_stmt<Seq>(std::vector<Stmt>{});

}  // namespace

TEST_CASE("a sound program has no problems") { CHECK(first_problem(RowSum().program()) == "none"); }

TEST_CASE("undefined parts are reported, not followed") {
  CHECK(well_formed(Program()).size() == 1);
  CHECK(first_problem(Program("p", {}, {}, Stmt())) == "a part of the program is undefined");
  CHECK(block_problem([](const RowSum&, Block& b) { b.predicate = Expr(); }) ==
        "a part of the program is undefined");
  CHECK(block_problem([](const RowSum&, Block& b) { b.body = Stmt(); }) ==
        "a part of the program is undefined");
  CHECK(block_problem([](const RowSum&, Block& b) { b.label = Label(); }) ==
        "a part of the program is undefined");
  CHECK(first_problem(Program("p", {{ParamRole::Input, {}, {}}}, {}, nothing)) ==
        "a part of the program is undefined");
}

TEST_CASE("problems of blocks") {
  CHECK(block_problem([](const RowSum&, Block& b) { b.bindings.pop_back(); }) ==
        "block \"C\": there are 2 iteration variables, but 1 bindings");
  CHECK(block_problem([](const RowSum&, Block& b) { b.bindings[0] = 1.f; }) ==
        "block \"C\": a binding has type f32, not index");
  CHECK(block_problem([](const RowSum& r, Block& b) { b.bindings[0] = r.vi; }) ==
        "block \"C\": a binding uses variable \"vi\" where it is not defined");
  CHECK(block_problem([](const RowSum& r, Block& b) { b.predicate = r.vi < 3; }) ==
        "block \"C\": the predicate uses variable \"vi\" where it is not defined");
  CHECK(block_problem([](const RowSum& r, Block& b) { b.predicate = r.i; }) ==
        "block \"C\": the predicate has type index, not bool");
  CHECK(block_problem([](const RowSum&, Block& b) { b.iters[0].extent = -1; }) ==
        "block \"C\": an iteration variable has the negative extent -1");
  CHECK(block_problem([](const RowSum&, Block& b) { b.iters[1].var = b.iters[0].var; }) ==
        "block \"C\": variable \"vi\" of the block is defined twice");
  CHECK(block_problem([](const RowSum&, Block& b) { b.reducer = Reducer(); }) ==
        "block \"C\": it has an init, but no reducer");
  CHECK(block_problem([](const RowSum&, Block& b) { b.partner = make_label("gone"); }) ==
        "the partner gone of a block is no block of the program");
  CHECK(block_problem([](const RowSum&, Block& b) { b.reads[0].ranges.pop_back(); }) ==
        "block \"C\": the read region of \"A\" has 1 ranges for 2 dimensions");
  CHECK(block_problem([](const RowSum& r, Block& b) { b.writes[0].ranges[0].min = r.i; }) ==
        "block \"C\": the write region's minimum uses variable \"i\" where it is not defined");
  CHECK(block_problem([](const RowSum&, Block& b) {
          b.reads[0].buffer = Buffer("D", f32, {8, 5});
        }) == "block \"C\": the read region uses buffer \"D\", which is not declared there");
}

TEST_CASE("a block's body sees its own variables alone") {
  CHECK(block_problem([](const RowSum& r, Block& b) {
          b.body = make_stmt<Store>(r.c, 1.f, std::vector<Expr>{r.i});
        }) == "block \"C\": a store to \"C\" uses variable \"i\" where it is not defined");
  CHECK(block_problem([](const RowSum& r, Block& b) {
          b.init = make_stmt<Store>(r.c, 1.f, std::vector<Expr>{r.vk});
        }) == "block \"C\": init: a store to \"C\" uses variable \"vk\" where it is not defined");
}

TEST_CASE("labels and block names stand once") {
  RowSum r, s;
  s.label = make_label("C");
  const Stmt one = r.program()->body, two = s.program()->body;
  auto both = [&](Stmt x, Stmt y) {
    return first_problem(Program("p", {{ParamRole::Input, r.a, {}}, {ParamRole::Output, r.c, {}}}, {s.a, s.c},
                                 make_stmt<Seq>(std::vector<Stmt>{x, y})));
  };
  CHECK(both(one, two) == "block \"C_1\": another block is called \"C\", too");
  CHECK(both(one, one) == "variable \"i\" of a loop is defined twice");
}

TEST_CASE("problems of reducers") {
  auto changed = [](const std::function<void(ReducerNode&)>& change) {
    return block_problem([&](const RowSum& r, Block& b) {
      auto* node = new ReducerNode;
      const Reducer old = r.reducer();
      node->name = "sum";
      node->a = old->a;
      node->b = old->b;
      node->result = old->result;
      node->identity = old->identity;
      change(*node);
      b.reducer = Reducer(node);
    });
  };
  CHECK(changed([](ReducerNode& r) { r.identity.clear(); }) ==
        "block \"C\": reducer sum has 1 and 1 operands, 1 results and 0 identities");
  CHECK(changed([](ReducerNode& r) { r.identity[0] = 0.0; }) ==
        "block \"C\": reducer sum: the types of value 0 differ");
  CHECK(changed([](ReducerNode& r) { r.identity[0] = r.a[0]; }) ==
        "block \"C\": reducer sum mentions a variable that is not its own");
}

TEST_CASE("problems of loops") {
  Buffer out("out", f32, {8});
  Var i("i"), j("j");
  auto loop = [&](Var v, Expr extent, ForKind kind, ThreadAxis axis, Stmt body) {
    return make_stmt<For>(v, extent, kind, body, axis);
  };
  auto serial = [&](Var v, Expr extent, Stmt body) {
    return loop(v, extent, ForKind::Serial, ThreadAxis::None, body);
  };
  CHECK(body_problem(out, serial(i, -2, nothing)) == "loop \"i\" has the negative extent -2");
  CHECK(body_problem(out, serial(i, j, nothing)) ==
        "the extent of loop \"i\" uses variable \"j\" where it is not defined");
  CHECK(body_problem(out, serial(i, i, nothing)) ==
        "the extent of loop \"i\" uses variable \"i\" where it is not defined");
  CHECK(body_problem(out, serial(i, make_int(i32, 3), nothing)) ==
        "loop \"i\" has type index and an extent of type i32");
  CHECK(body_problem(out, serial(Var("i", i32), make_int(i32, 3), nothing)) == "none");
  CHECK(body_problem(out, serial(i, 2, serial(i, 3, nothing))) ==
        "variable \"i\" of a loop is defined twice");
  CHECK(body_problem(out, make_seq({serial(i, 2, nothing), serial(i, 3, nothing)})) ==
        "variable \"i\" of a loop is defined twice");
  CHECK(body_problem(out, loop(i, 2, ForKind::ThreadBound, ThreadAxis::None, nothing)) ==
        "loop \"i\" is bound to a thread axis in kind or in axis alone");
  CHECK(body_problem(out, loop(i, 2, ForKind::Parallel, ThreadAxis::ThreadX, nothing)) ==
        "loop \"i\" is bound to a thread axis in kind or in axis alone");
  Stmt use = make_stmt<Store>(out, 1.f, std::vector<Expr>{i});
  CHECK(body_problem(out, make_seq({serial(i, 2, nothing), use})) ==
        "a store to \"out\" uses variable \"i\" where it is not defined");
}

TEST_CASE("problems of stores and expressions") {
  Buffer out("out", f32, {8}), other("other", f32, {8}), in("in", f32, {8});
  auto store = [&](Expr value, std::vector<Expr> index) {
    return body_problem(out, make_stmt<Store>(out, value, index));
  };
  CHECK(store(1.f, {0}) == "none");
  CHECK(store(1.f, {}) == "out has 1 dimensions, but 0 subscripts");
  CHECK(store(1.f, {1.f}) == "a subscript of out has type f32");
  CHECK(store(1.0, {0}) == "a value of type f64 is stored to out, where f32 fits");
  CHECK(store(1.f, {ramp(0, 1, 4)}) == "a value of type f32 is stored to out, where f32x4 fits");
  CHECK(store(broadcast(1.f, 4), {ramp(0, 1, 4)}) == "none");
  CHECK(store(load(other, {0}), {0}) ==
        "a store to \"out\" uses buffer \"other\", which is not declared there");
  CHECK(store(Expr(new Binary(BinaryOp::Add, 1.f, 1)), {0}) ==
        "a store to \"out\": operator + has operands of types f32 and index");
  CHECK(store(Expr(new Binary(BinaryOp::Mod, 1.f, 1.f)), {0}) ==
        "a store to \"out\": operator % is not defined for f32");
  CHECK(store(1.f, {Expr(new Binary(BinaryOp::Div, 1, 1))}) ==
        "a store to \"out\": operator / is not defined for index");
  CHECK(store(Expr(new Select(1, 1.f, 1.f)), {0}) ==
        "a store to \"out\": the condition of a select of type f32 has type index");
  CHECK(store(Expr(new Select(true, 1.f, 1.0)), {0}) ==
        "a store to \"out\": the sides of a select have types f32 and f64");
  CHECK(store(Expr(new Call(f32, Intrinsic::Exp, {})), {0}) ==
        "a store to \"out\": exp takes 1 arguments, not 0");
  CHECK(store(Expr(new Call(f32, Intrinsic::Exp, {1.0})), {0}) ==
        "a store to \"out\": exp of f64 has type f32");
  CHECK(store(Expr(new Call(f32, Intrinsic::Popcount, {1.f})), {0}) ==
        "a store to \"out\": popcount is not defined for f32");
  CHECK(store(Expr(new FloatImm(f32, 0.1)), {0}) == "a store to \"out\": a literal is not rounded to f32");
  CHECK(store(cast(f32, Expr(new IntImm(i8, 200))), {0}) ==
        "a store to \"out\": the literal 200 does not fit i8");
  CHECK(store(Expr(new Cast(DataType{TypeCode::Float, 24}, 1)), {0}) ==
        "a store to \"out\": a type that does not exist");
  CHECK(first_problem(Program("p", {{ParamRole::Input, in, {}}}, {},
                              make_stmt<Store>(in, 1.f, std::vector<Expr>{0}))) ==
        "a store to \"in\", which is an input");
  CHECK(body_problem(out, make_stmt<Store>(out, 1.f, std::vector<Expr>{0}, Expr(1))) ==
        "the mask of an access to out has type index");
  CHECK(body_problem(out, make_stmt<If>(Expr(1), nothing)) ==
        "the condition of an if has type index, not bool");
  CHECK(body_problem(out, make_stmt<Let>(Var("x", f32), Expr(1.0), nothing)) ==
        "let \"x\" has type f32 and a value of type f64");
  CHECK(body_problem(out, make_stmt<Evaluate>(Expr(1))) == "an evaluated expression is no call");
}

TEST_CASE("problems of buffers and parameters") {
  auto with = [](const std::function<void(BufferNode&)>& change) {
    auto* node = new BufferNode;
    node->name.assign(1, 'b');
    node->dtype = f32;
    node->shape = {4};
    change(*node);
    return first_problem(Program("p", {{ParamRole::Input, Buffer(node), {}}}, {}, nothing));
  };
  CHECK(with([](BufferNode&) {}) == "none");
  CHECK(with([](BufferNode& b) { b.dtype = index_type; }) == "b has elements of type index");
  CHECK(with([](BufferNode& b) { b.shape = {-4}; }) == "b has the negative extent -4");
  CHECK(with([](BufferNode& b) { b.shape = {4.f}; }) == "b has extents of type f32");
  CHECK(with([](BufferNode& b) { b.shape = {make_index(std::int64_t{1} << 61)}; }) ==
        "buffer \"b\" has 2^63 bytes or more");
  CHECK(with([](BufferNode& b) { b.shape = {Var("n")}; }) ==
        "an extent of a buffer uses variable \"n\" where it is not defined");
  CHECK(with([](BufferNode& b) { b.strides = {1, 1}; }) == "b has 1 dimensions, but 2 strides");
  CHECK(with([](BufferNode& b) { b.alignment = 48; }) == "b has the alignment 48, which is no power of two");
  Buffer b("b", f32, {4}), c("b", f32, {4});
  Var n("n"), m("m", i32);
  CHECK(first_problem(Program("p", {{ParamRole::Input, b, {}}, {ParamRole::Input, b, {}}}, {}, nothing)) ==
        "two parameters are called \"b\"");
  CHECK(first_problem(Program("p", {{ParamRole::Input, b, {}}}, {b}, nothing)) ==
        "buffer \"b\" is declared twice");
  CHECK(first_problem(Program("p", {{ParamRole::Size, b, {}}}, {}, nothing)) ==
        "a parameter of role size has a buffer, or lacks its own part");
  CHECK(first_problem(Program("p", {{ParamRole::Input, b, n}}, {}, nothing)) ==
        "a parameter of role input has a size, or lacks its own part");
  CHECK(first_problem(Program("p", {{ParamRole::Size, {}, m}}, {}, nothing)) ==
        "the size \"m\" is not of index_type");
  CHECK(body_problem(b, make_stmt<Allocate>(b, nothing)) == "buffer \"b\" is declared twice");
  Stmt use = make_stmt<Store>(c, 1.f, std::vector<Expr>{0});
  CHECK(body_problem(b, make_stmt<Allocate>(c, use)) == "none");
  CHECK(body_problem(b, make_seq({make_stmt<Allocate>(c, nothing), use})) ==
        "a store to \"b_1\" uses buffer \"b_1\", which is not declared there");
}
