#include "arith/block_check.h"

#include "brute.h"

using namespace lathe;
using namespace lathe::arith;

namespace {

/// C[i] += A[i, k] as a reduction block in loops i, k.
struct Sum {
  Var i{"i"}, k{"k"}, vi{"vi"}, vk{"vk"};
  Buffer a{"A", f32, {4, 8}}, c{"C", f32, {4}};
  std::unique_ptr<Block> block = std::make_unique<Block>();
  Sum() {
    block->label = make_label("sum");
    block->iters = {{vi, 4, IterKind::Spatial}, {vk, 8, IterKind::Reduce}};
    block->bindings = {i, k};
    block->predicate = true_expr();
    block->reads = {{a, {{vi, 1}, {vk, 1}}}};
    block->writes = {{c, {{vi, 1}}}};
    block->init = make_stmt<Store>(c, Expr(0.f), std::vector<Expr>{vi});
    block->body = make_stmt<Store>(c, load(c, {vi}) + load(a, {vi, vk}), std::vector<Expr>{vi});
    auto* reducer = new ReducerNode;
    reducer->name = "sum";
    block->reducer = Reducer(reducer);
  }
  Stmt nest() {
    Stmt inner(block.release());
    return make_stmt<For>(i, 4, ForKind::Serial, make_stmt<For>(k, 8, ForKind::Serial, inner));
  }
};
Stmt copy_block(const Buffer& from, const Buffer& to, const std::string& name) {
  Var i("i"), vi("vi");
  auto block = std::make_unique<Block>();
  block->label = make_label(name);
  block->iters = {{vi, 4, IterKind::Spatial}};
  block->bindings = {i};
  block->predicate = true_expr();
  block->reads = {{from, {{vi, 1}}}};
  block->writes = {{to, {{vi, 1}}}};
  block->body = make_stmt<Store>(to, load(from, {vi}), std::vector<Expr>{vi});
  return make_stmt<For>(i, 4, ForKind::Serial, Stmt(block.release()));
}
Program program(const Stmt& body) { return Program("p", {}, {}, body); }

}  // namespace

TEST_CASE("a reduction is a reduction and no complete block") {
  Sum s;
  const Stmt nest = s.nest();
  const BlockIndex index(nest);
  REQUIRE(index.blocks().size() == 1);
  CHECK(is_reduction(*index.blocks()[0], index));
  CHECK(why_not_complete(*index.blocks()[0], index) ==
        std::string("its variable \"vk\" is a reduce variable"));
  CHECK(check_blocks(program(nest)).empty());
}

TEST_CASE("a copy is complete until another block writes its output") {
  const Buffer a("A", f32, {4}), b("B", f32, {4});
  const Stmt one = copy_block(a, b, "one");
  const BlockIndex alone(one);
  CHECK(is_complete(*alone.blocks()[0], alone));
  CHECK(why_not_reduction(*alone.blocks()[0], alone) == std::string("it has no reducer"));
  const Stmt both = make_seq({one, copy_block(a, b, "two")});
  const BlockIndex index(both);
  CHECK(why_not_complete(*index.blocks()[0], index) == std::string("block \"two\" writes \"B\" too"));
  CHECK(index.writers(b).size() == 2);
  CHECK(index.readers(a).size() == 2);
  const Stmt self = copy_block(a, a, "self");
  const BlockIndex own(self);
  CHECK(why_not_complete(*own.blocks()[0], own) == std::string("it reads \"A\", which it writes"));
}

TEST_CASE("a reduce variable that indexes the output is no reduction") {
  Sum s;
  s.block->writes[0].ranges[0].min = s.vi + s.vk * 0;
  const Stmt nest = s.nest();
  const BlockIndex index(nest);
  CHECK(why_not_reduction(*index.blocks()[0], index) ==
        std::string("its reduce variable \"vk\" indexes its output \"C\""));
}

TEST_CASE("the halves of a decomposed reduction count as one writer") {
  Sum s;
  const Label init = make_label("sum_init"), update = s.block->label;
  s.block->init = nullptr;
  s.block->partner = init;
  auto half = std::make_unique<Block>();
  half->label = init;
  half->partner = update;
  half->iters = {{Var("v"), 4, IterKind::Spatial}};
  half->bindings = {s.i};
  half->predicate = true_expr();
  half->writes = {{s.c, {{half->iters[0].var, 1}}}};
  half->body = make_stmt<Store>(s.c, Expr(0.f), std::vector<Expr>{half->iters[0].var});
  const Stmt body = make_seq({Stmt(half.release()), s.nest()});
  const BlockIndex index(body);
  CHECK(is_init_half(*index.blocks()[0]));
  CHECK(is_reduction(*index.blocks()[1], index));
  CHECK_FALSE(is_complete(*index.blocks()[0], index));
}

TEST_CASE("an access outside the declared regions is reported") {
  Sum s;
  s.block->reads[0].ranges[1] = {s.vk, 0};
  CHECK(check_blocks(program(s.nest())) ==
        std::vector<std::string>{"block \"sum\" reads A[vi, vk], beyond the region that it declares"});
  Sum t;
  t.block->reads.clear();
  CHECK(check_blocks(program(t.nest())) ==
        std::vector<std::string>{"block \"sum\" reads A[vi, vk], which it does not declare"});
  Sum u;
  u.block->writes[0].ranges[0] = {u.vi + 1, 1};
  CHECK(check_blocks(program(u.nest())) ==
        std::vector<std::string>{"block \"sum\" writes C[vi], beyond the region that it declares"});
}

TEST_CASE("a declared region may be the whole of what padding reads a part of") {
  Var i("i"), vi("vi");
  const Buffer x("x", f32, {8}), pad("pad", f32, {12});
  auto block = std::make_unique<Block>();
  block->label = make_label("pad");
  block->iters = {{vi, 12, IterKind::Spatial}};
  block->bindings = {i};
  block->predicate = true_expr();
  block->reads = {{x, {{0, 8}}}};
  block->writes = {{pad, {{vi, 1}}}};
  block->body =
      make_stmt<Store>(pad, select(0 <= vi - 2 && vi - 2 < 8, load(x, {vi - 2}), 0.f), std::vector<Expr>{vi});
  CHECK(check_blocks(program(make_stmt<For>(i, 12, ForKind::Serial, Stmt(block.release())))).empty());
}

TEST_CASE("bindings are judged against the loops round the block") {
  Sum s;
  Analyzer a;
  const std::vector<Domain> loops{{s.i, 4}, {s.k, 8}};
  BindingCheck c = check_bindings(*s.block, loops, a);
  CHECK((c.quasi_affine && c.injective && c.covers && c.in_domain));
  s.block->bindings = {s.i, s.k / 2};
  c = check_bindings(*s.block, loops, a);
  CHECK((c.quasi_affine && !c.injective && !c.covers && c.in_domain));
  s.block->bindings = {s.i, s.k + 1};
  c = check_bindings(*s.block, loops, a);
  CHECK((c.injective && !c.covers && !c.in_domain));
  s.block->predicate = s.k < 7;
  CHECK(check_bindings(*s.block, loops, a).in_domain);
  s.block->bindings = {s.i, s.i * s.k};
  CHECK_FALSE(check_bindings(*s.block, loops, a).quasi_affine);
}
