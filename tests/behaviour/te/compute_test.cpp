#include "ir/printer.h"
#include "ir/visitor.h"
#include "lathe/lathe.h"

using namespace lathe;

TEST_CASE("the design's example compiles and prints as a loop nest") {
  const int n = 1, h = 4, w = 5, ci = 3, co = 2;
  Tensor x = placeholder("x", {n, h, w, ci}, f32), k = placeholder("k", {3, 3, ci, co}, f32, Constant),
         b = placeholder("b", {co}, f32);
  Axis ry = reduce_axis(3, "ry"), rx = reduce_axis(3, "rx"), rc = reduce_axis(ci, "rc");
  Tensor pad = compute("pad", {n, h + 2, w + 2, ci}, [&](Var i, Var y, Var z, Var c) {
    return if_inside(x, {i, y - 1, z - 1, c}, 0.f);
  });
  Tensor conv = compute("conv", {n, h, w, co}, [&](Var i, Var y, Var z, Var o) {
    return sum(pad(i, y + ry, z + rx, rc) * k(ry, rx, rc, o), {ry, rx, rc});
  });
  Tensor out = compute("out", conv.shape(),
                       [&](Var i, Var y, Var z, Var o) { return max(conv(i, y, z, o) + b(o), 0.f); },
                       {"i", "y", "z", "o"});
  CHECK(to_string(program("conv_bias_relu", {x, k, b}, {out})) ==
        "program conv_bias_relu(x: input f32[1, 4, 5, 3], k: constant f32[3, 3, 3, 2], b: input f32[2], "
        "out: output f32[1, 4, 5, 2])\n"
        "  temp pad: f32[1, 6, 7, 3]\n"
        "  temp conv: f32[1, 4, 5, 2]\n"
        "  for i in 0..1:\n"
        "    for j in 0..6:\n"
        "      for k_1 in 0..7:\n"
        "        for l in 0..3:\n"
        "          block pad(vi: i, vj: j, vk: k_1, vl: l)\n"
        "            pad[vi, vj, vk, vl] = select(vj - 1 >= 0 && vj - 1 < 4 && vk - 1 >= 0 && vk - 1 < 5, "
        "x[vi, vj - 1, vk - 1, vl], 0.f)\n"
        "  for i_1 in 0..1:\n"
        "    for j_1 in 0..4:\n"
        "      for k_2 in 0..5:\n"
        "        for l_1 in 0..2:\n"
        "          for ry in 0..3:\n"
        "            for rx in 0..3:\n"
        "              for rc in 0..3:\n"
        "                block conv(vi_1: i_1, vj_1: j_1, vk_1: k_2, vl_1: l_1, vry: reduce ry, vrx: reduce "
        "rx, "
        "vrc: reduce rc)\n"
        "                  init:\n"
        "                    conv[vi_1, vj_1, vk_1, vl_1] = 0.f\n"
        "                  conv[vi_1, vj_1, vk_1, vl_1] = conv[vi_1, vj_1, vk_1, vl_1] + "
        "pad[vi_1, vj_1 + vry, vk_1 + vrx, vrc] * k[vry, vrx, vrc, vl_1]\n"
        "  for i_2 in 0..1:\n"
        "    for y in 0..4:\n"
        "      for z in 0..5:\n"
        "        for o in 0..2:\n"
        "          block out(vi_2: i_2, vy: y, vz: z, vo: o)\n"
        "            out[vi_2, vy, vz, vo] = max(conv[vi_2, vy, vz, vo] + b[vo], 0.f)\n");
}

namespace {

std::string body_of(const Tensor& t, std::vector<ProgramInput> inputs) {
  return to_string(program("p", inputs, {t})->body);
}

}  // namespace

TEST_CASE("a lambda takes its indices one by one or as a vector") {
  Tensor x = placeholder("x", {2, 3}, f32);
  Tensor one_by_one = compute("y", {2, 3}, [&](Var i, Var j) { return x(i, j); });
  Tensor as_vector = compute("y", {2, 3}, [&](const std::vector<Var>& at) { return x(at); });
  Tensor any = compute("y", {2, 3}, [&](auto... at) { return x(at...); });
  CHECK(structural_equal(program("a", {x}, {one_by_one}), program("b", {x}, {as_vector})));
  CHECK(structural_equal(program("a", {x}, {one_by_one}), program("b", {x}, {any})));
}

TEST_CASE("eight dimensions by arguments, nine by a vector") {
  const std::vector<Expr> eight(8, 2), nine(9, 2);
  Tensor x = placeholder("x", eight, f32), z = placeholder("z", nine, f32);
  Tensor y = compute("y", eight, [&](Var a, Var b, Var c, Var d, Var e, Var f, Var g, Var h) {
    return x(a, b, c, d, e, f, g, h);
  });
  CHECK(y.rank() == 8);
  CHECK(compute("w", nine, [&](const std::vector<Var>& at) { return z(at); }).rank() == 9);
}

TEST_CASE("a scalar is a tensor of rank 0") {
  Tensor x = placeholder("x", {}, f32);
  Tensor y = compute("y", {}, [&] { return x() * 2; });
  CHECK(body_of(y, {x}) == "block y()\n  y[] = x[] * 2.f\n");
}

TEST_CASE("several expressions make several tensors over one domain") {
  Tensor x = placeholder("x", {4}, f32);
  auto [up, down] = compute("step", {4}, [&](Var i) { return std::pair(x(i) + 1, x(i) - 1); });
  std::vector<Tensor> three = compute("t", {4}, [&](Var i) {
    return std::vector<Expr>{x(i), 1.f, cast(i32, x(i))};
  });
  std::array<Tensor, 3> tuple = compute("t", {4}, [&](Var i) { return std::tuple(x(i), Expr(1.f), 2.f); });
  CHECK(three.size() == 3);
  CHECK(three[2].dtype() == i32);
  CHECK(tuple[2].name() == "t_2");
  CHECK(to_string(program("p", {x}, {up, down})->body) ==
        "for i in 0..4:\n"
        "  block step(vi: i)\n"
        "    step_0[vi] = x[vi] + 1.f\n"
        "    step_1[vi] = x[vi] - 1.f\n");
}

TEST_CASE("a tensor of a compute that nothing needs becomes an intermediate") {
  Tensor x = placeholder("x", {4}, f32);
  auto [up, down] = compute("step", {4}, [&](Var i) { return std::pair(x(i) + 1, x(i) - 1); });
  Program p = program("p", {x}, {down});
  REQUIRE(p->temps.size() == 1);
  CHECK(p->temps[0]->name == "step_0");
  CHECK(p->params.back().buffer.same_as(down.buffer()));
}

TEST_CASE("reductions start from their identities") {
  Tensor x = placeholder("x", {4}, i8), u = placeholder("u", {4}, u16), f = placeholder("f", {4}, f32);
  Axis r = reduce_axis(4, "r");
  auto init = [&](auto reduction) {
    Tensor t = compute("t", {}, [&] { return reduction; });
    const Stmt body = program("p", {x, u, f}, {t})->body;
    return to_string(body.as<For>()->body.as<Block>()->init);
  };
  CHECK(init(sum(x(r), {r})) == "t[] = 0\n");
  CHECK(init(prod(x(r), {r})) == "t[] = 1\n");
  CHECK(init(max(x(r), {r})) == "t[] = -128\n");
  CHECK(init(min(x(r), {r})) == "t[] = 127\n");
  CHECK(init(max(u(r), {r})) == "t[] = 0\n");
  CHECK(init(min(u(r), {r})) == "t[] = 65535\n");
  CHECK(init(max(f(r), {r})) == "t[] = -inf\n");
  CHECK(init(min(f(r), {r})) == "t[] = inf\n");
  CHECK(init(sum(f(r), {r}, initial(5))) == "t[] = 5.f\n");
}

TEST_CASE("a sum accumulates in the type of its expression") {
  Tensor x = placeholder("x", {4}, f16);
  Axis r = reduce_axis(4, "r");
  CHECK(compute("t", {}, [&] { return sum(x(r), {r}); }).dtype() == f16);
  CHECK(compute("t", {}, [&] { return sum(cast(f32, x(r)), {r}); }).dtype() == f32);
}

TEST_CASE("a condition leaves elements out without evaluating them") {
  Tensor x = placeholder("x", {4}, f32);
  Axis r = reduce_axis(7, "r");
  Tensor t = compute("t", {}, [&] { return max(x(r), {r}, where(r < 4)); });
  CHECK(body_of(t, {x}) ==
        "for r in 0..7:\n"
        "  block t(vr: reduce r)\n"
        "    init:\n"
        "      t[] = -inf\n"
        "    t[] = max(t[], select(vr < 4, x[vr], -inf))\n");
}

TEST_CASE("a tuple reduction computes all its values before it stores one") {
  Tensor x = placeholder("x", {4, 5}, i32);
  Axis r = reduce_axis(4, "r"), s = reduce_axis(5, "s");
  auto [value, at] = compute("best", {}, [&] { return argmax(x(r, s), {r, s}); });
  CHECK(value.dtype() == i32);
  CHECK(at.dtype() == i64);
  CHECK(to_string(program("p", {x}, {value, at})->body) ==
        "for r in 0..4:\n"
        "  for s in 0..5:\n"
        "    block best(vr: reduce r, vs: reduce s)\n"
        "      init:\n"
        "        best_0[] = -2147483648\n"
        "        best_1[] = 9223372036854775807\n"
        "      let b = x[vr, vs]\n"
        "      let b_1 = i64(vr*5 + vs)\n"
        "      let x_1 = select(best_0[] > b || best_0[] == b && best_1[] < b_1, best_0[], b)\n"
        "      let x_2 = select(best_0[] > b || best_0[] == b && best_1[] < b_1, best_1[], b_1)\n"
        "      best_0[] = x_1\n"
        "      best_1[] = x_2\n");
}

TEST_CASE("user-defined reducers of one and of several values") {
  Tensor x = placeholder("x", {4}, i32), y = placeholder("y", {4}, f32);
  Axis r = reduce_axis(4, "r");
  Reducer bits = reducer("or", i32,
                         [](Expr a, Expr b) {
                           return call(Intrinsic::BitOr, {a, b});
                         },
                         0, {.associative = true, .commutative = true});
  Tensor any = compute("any", {}, [&] { return reduce(bits, {x(r)}, {r}); });
  CHECK(to_string(program("p", {x}, {any})->body).find("any[] = bitor(any[], x[vr])") != std::string::npos);

  Reducer mean = reducer("welford", {f32, f32},
                         [](const Values& a, const Values& b) {
                           return Values{a[0] + b[0], a[1] + b[1] * b[0]};
                         },
                         {0.f, 0.f});
  CHECK(!mean->associative);
  CHECK(!mean->commutative);
  std::array<Tensor, 2> two = compute("two", {}, [&] { return reduce(mean, {y(r), y(r) * 2}, {r}); });
  std::vector<Tensor> many = compute("many", {}, [&] {
    return reduce(mean, Values{y(r), y(r) * 2}, std::vector<Axis>{r});
  });
  CHECK(two[1].name() == "two_1");
  CHECK(many.size() == 2);
}

TEST_CASE("axes serve several reductions of one program") {
  Tensor x = placeholder("x", {4}, f32);
  Axis r = reduce_axis(4, "r");
  Tensor a = compute("a", {}, [&] { return sum(x(r), {r}); });
  Tensor b = compute("b", {}, [&] { return sum(x(r) * a(), {r}); });
  CHECK(to_string(program("p", {x}, {b})->body) ==
        "for r in 0..4:\n  block a(vr: reduce r)\n    init:\n      a[] = 0.f\n    a[] = a[] + x[vr]\n"
        "for r_1 in 0..4:\n  block b(vr_1: reduce r_1)\n    init:\n      b[] = 0.f\n"
        "    b[] = b[] + x[vr_1] * a[]\n");
}

TEST_CASE("if_inside checks what is not certainly inside") {
  Var n = size("n");
  Tensor x = placeholder("x", {n, 4}, f32);
  Tensor same = compute("y", {n, 4}, [&](Var i, Var j) { return if_inside(x, {i, j}, 0.f); });
  CHECK(body_of(same, {n, x}).find("y[vi, vj] = x[vi, vj]\n") != std::string::npos);
  Tensor larger = compute("y", {n + 1, 3}, [&](Var i, Var j) { return if_inside(x, {i, j + 1}, 0); });
  CHECK(body_of(larger, {n, x}).find("select(vi < n && vj + 1 >= 0 && vj + 1 < 4, x[vi, vj + 1], 0.f)") !=
        std::string::npos);
}

TEST_CASE("pad grows a tensor at both ends") {
  Tensor x = placeholder("x", {4, 5}, i32);
  Tensor y = pad(x, {0, 2}, {1, 0}, -1);
  CHECK(is_int(y.shape()[0], 5));
  CHECK(is_int(y.shape()[1], 7));
  CHECK(body_of(y, {x}).find(
            "padded[vi, vj] = select(vi < 4 && vj - 2 >= 0 && vj - 2 < 5, x[vi, vj - 2], -1)") !=
        std::string::npos);
}

TEST_CASE("extents: zero, one, primes, sizes and more than 2^31 elements") {
  Var n = size("n");
  Tensor x = placeholder("x", {0, 1, 104729, n, n + 2 * 3}, f32);
  CHECK(is_int(x.shape()[0], 0));
  CHECK(to_string(x.shape()[4]) == "n + 6");
  Tensor big = placeholder("big", {65536, 65537}, u8);
  Tensor y = compute("y", big.shape(), [&](Var i, Var j) { return big(i, j) + 1; });
  CHECK(y.rank() == 2);
}

TEST_CASE("a run-time size is a parameter in the listed place") {
  Var n = size("n");
  Tensor x = placeholder("x", {n}, f32);
  Tensor y = compute("y", {n}, [&](Var i) { return x(i) / cast(f32, n); });
  CHECK(to_string(program("p", {x, n}, {y})) ==
        "program p(x: input f32[n], n: size, y: output f32[n])\n"
        "  for i in 0..n:\n"
        "    block y(vi: i)\n"
        "      y[vi] = x[vi] / f32(n)\n");
}

TEST_CASE("computes stand in the order of their dependencies, once each") {
  Tensor x = placeholder("x", {4}, f32), unused = placeholder("unused", {4}, f32);
  auto twice = [](const char* name, const Tensor& t) {
    return compute(name, {4}, [&](Var i) { return t(i) + t(i); });
  };
  Tensor a = twice("a", x), b = twice("b", a), c = twice("c", a), not_needed = twice("d", a);
  Tensor out = compute("out", {4}, [&](Var i) { return c(i) + b(i); });
  Program p = program("p", {x, unused}, {out, a});
  std::string order;
  for (const Stmt& s : p->body.as<Seq>()->stmts) order += s.as<For>()->body.as<Block>()->name() + " ";
  CHECK(order == "a c b out ");
  CHECK(p->params.size() == 4);
  CHECK(p->temps.size() == 2);
}

TEST_CASE("a chain of three thousand computes is collected") {
  Tensor t = placeholder("x", {}, f32), x = t;
  for (int i = 0; i < 3000; ++i) t = compute("t", {}, [&] { return t() + 1; });
  CHECK(program("p", {x}, {t})->temps.size() == 2999);
}

TEST_CASE("names that clash are made different, and tensors still find their block and buffer") {
  Tensor x = placeholder("x", {4}, f32);
  Tensor first = compute("t", {4}, [&](Var i) { return x(i) + 1; });
  Tensor second = compute("t", {4}, [&](Var i) { return first(i) * 2; });
  Tensor third = compute("x", {4}, [&](Var i) { return second(i) * 3; });
  Program p = program("p", {x}, {third});
  CHECK(to_string(p) ==
        "program p(x: input f32[4], x_1: output f32[4])\n"
        "  temp t: f32[4]\n"
        "  temp t_1: f32[4]\n"
        "  for i in 0..4:\n    block t(vi: i)\n      t[vi] = x[vi] + 1.f\n"
        "  for i_1 in 0..4:\n    block t_1(vi_1: i_1)\n      t_1[vi_1] = t[vi_1] * 2.f\n"
        "  for i_2 in 0..4:\n    block x(vi_2: i_2)\n      x_1[vi_2] = t_1[vi_2] * 3.f\n");
  CHECK(label_of(p, first)->name == "t");
  CHECK(label_of(p, second)->name == "t_1");
  CHECK(buffer_of(p, third)->name == "x_1");
  CHECK(buffer_of(p, x).same_as(x.buffer()));
  CHECK(!label_of(p, x).defined());
  CHECK(!label_of(p, compute("other", {4}, [&](Var i) { return x(i); })).defined());
}

TEST_CASE("one tensor may be part of several programs") {
  Tensor x = placeholder("x", {4}, f32);
  Tensor a = compute("a", {4}, [&](Var i) { return x(i) + 1; });
  Tensor b = compute("b", {4}, [&](Var i) { return a(i) * 2; });
  Program whole = program("whole", {x}, {b}), part = program("part", {x}, {a});
  CHECK(label_of(whole, a).defined());
  CHECK(label_of(part, a).defined());
  CHECK(!label_of(part, b).defined());
}

TEST_CASE("sugar keeps the type of its operand") {
  Tensor x = placeholder("x", {4}, bf16);
  CHECK(to_string(relu(x(0))) == "max(x[0], 0.0)");
  CHECK(to_string(clamp(x(0), 0, 6)) == "min(max(x[0], 0.0), 6.0)");
  CHECK(relu(x(0)).dtype() == bf16);
}

TEST_CASE("a block declares what it reads: narrowed by conditions, whole where data decides") {
  Tensor x = placeholder("x", {4, 5}, f32), ids = placeholder("ids", {3}, i32);
  auto reads = [&](const Tensor& t) {
    const Program p = program("p", {x, ids}, {t});
    std::string out;
    walk(p->body, [&](const Stmt& s) {
      if (const Block* b = s.as<Block>()) {
        Names names(p);
        for (const BufferRegion& r : b->reads) out += to_string(r, names) + " ";
      }
      return true;
    });
    return out;
  };
  Axis r = reduce_axis(5, "r");
  CHECK(reads(compute("y", {4}, [&](Var i) { return sum(x(i, r), {r}); })) == "x[vi, vr] ");
  CHECK(reads(compute("y", {3, 5}, [&](Var i, Var j) { return x(ids(i), j); })) == "ids[vi] x[0..4, vj] ");
  CHECK(reads(compute("y", {3}, [&](Var i) { return x(i, 0) + x(i + 1, 0); })) == "x[vi .. +2, 0] ");
}
