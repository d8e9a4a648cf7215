#include "lathe/compile.h"

#include <cstring>

#include "behaviour/schedule/programs.h"
#include "lathe/interp.h"
#include "lathe/runtime/fill.h"
#include "support/check_schedule.h"

using namespace lathe;

namespace {

/// "" when the compiled schedule gives the interpreter's bits, else what differs.
std::string compiled_disagreement(const Schedule& s, const std::vector<std::int64_t>& sizes = {},
                                  double tolerance = 0) {
  const std::vector<interp::Array> inputs = interp::integer_inputs(s.original(), 5, sizes);
  const interp::Outcome want = interp::run(s.original(), inputs, sizes);
  const Kernel kernel = compile(s, Target::host());
  std::vector<interp::Array> arrays = want.arrays;
  std::vector<runtime::Tensor> tensors;
  std::size_t a = 0;
  for (const Param& p : s.original()->params) {
    if (p.role == ParamRole::Size) continue;
    runtime::Tensor t(p.buffer->dtype, arrays[a].shape(), {.alignment = 64, .guard_bytes = 256});
    if (p.role == ParamRole::Output)
      runtime::fill_poison(t);
    else
      std::memcpy(t.data(), arrays[a].data(), arrays[a].bytes());
    tensors.push_back(std::move(t));
    ++a;
  }
  std::vector<runtime::Tensor*> pointers;
  for (runtime::Tensor& t : tensors) pointers.push_back(&t);
  kernel(pointers, sizes);
  a = 0;
  for (const Param& p : s.original()->params) {
    if (p.role == ParamRole::Size) continue;
    if (auto broken = tensors[a].broken_guard()) return p.name() + ": " + *broken;
    interp::Array have = arrays[a];
    std::memcpy(have.data(), tensors[a].data(), have.bytes());
    const interp::Difference d = interp::difference(have, want.arrays[a]);
    if (d.different > 0 && !(d.max_relative <= tolerance)) return p.name() + ": " + d.text;
    ++a;
  }
  return "";
}

}  // namespace

TEST_CASE("unscheduled programs compile") {
  CHECK(compiled_disagreement(Schedule(test::matmul(7, 9, 5).program)) == "");
  CHECK(compiled_disagreement(Schedule(test::matmul(4, 4, 0).program)) == "");
  CHECK(compiled_disagreement(Schedule(test::conv(5, 6, 3, 4).program)) == "");
  Var n = size("n");
  for (std::int64_t size : {0, 1, 1000})
    CHECK(compiled_disagreement(Schedule(test::chain(n, {n}).program), {size}) == "");
}

TEST_CASE("the scheduled convolution runs as compiled code, with tails") {
  for (auto [h, w, ci, co] :
       {std::array<std::int64_t, 4>{8, 12, 4, 16}, {5, 7, 3, 20}, {1, 1, 1, 1}, {4, 13, 5, 17}}) {
    INFO(h << " " << w << " " << ci << " " << co);
    test::Conv t = test::conv(h, w, ci, co);
    Schedule s(t.program);
    auto [i, y, z, o] = s.loops<4>(s.block(t.out));
    auto [zo, zi] = s.split(z, {_, 6});
    auto [oo, oi] = s.split(o, {_, 16});
    s.reorder({i, y, zo, oo, zi, oi});
    s.compute_at(s.block(t.conv), oo);
    s.compute_at(s.block(t.pad), y);
    s.vectorize(oi);
    s.parallel(s.fuse(i, y));
    std::vector<LoopRef> loops = s.loops(s.block(t.conv));
    REQUIRE(loops.size() == 10);
    s.reorder({loops[7], loops[8], loops[9], loops[5], loops[6]});
    s.vectorize(loops[6]);
    s.unroll(loops[5]);
    CHECK(compiled_disagreement(s) == "");
  }
}

TEST_CASE("a call with tensors that do not fit is refused in words") {
  const Kernel kernel = compile(Schedule(test::matmul(4, 4, 4).program), Target::host());
  runtime::Tensor a(f32, {4, 4}), b(f32, {4, 5}), c(f32, {4, 4});
  try {
    kernel({&a, &b, &c});
    FAIL("accepted");
  } catch (const UserError& e) {
    CHECK(std::string(e.what()) ==
          "kernel \"matmul\", parameter \"B\": expected f32 [4, 4], got f32 [4, 5]  [LTH-C012]");
  }
}

TEST_CASE("empty programs and damaged objects are refused in words") {
  const auto text = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const UserError& e) {
      return e.what();
    }
    return "accepted";
  };
  const Target host = Target::host();
  CHECK(text([&] { compile(Program(), host); }) == "verify: an empty Program  [LTH-S077]");
  CHECK(text([&] { lower_until(Program(), host); }) == "verify: an empty Program  [LTH-S077]");
  CHECK(text([&] { link(Program(), host, {}); }) == "link: an empty Program  [LTH-D012]");
  CHECK(text([&] { to_json(Program()); }) == "to_json of an empty Program  [LTH-D012]");
  CHECK(text([&] { structural_hash(Program()); }) == "structural_hash of an empty Program  [LTH-D012]");
  CHECK(text([&] { interp::run(Program(), std::vector<interp::Array>()); }) ==
        "an empty Program stands for nothing that could run  [LTH-I001]");
  const std::string damaged = text([&] { link(test::matmul(4, 4, 4).program, host, {'n', 'o'}); });
  CHECK(damaged.find("its object does not load: ") != std::string::npos);
  CHECK(damaged.ends_with("[LTH-C006]"));
}

TEST_CASE("a call whose output shares memory with an operand is refused, operands may share") {
  const Kernel kernel = compile(Schedule(test::matmul(4, 4, 4).program), Target::host());
  runtime::Tensor a(f32, {4, 4}), c(f32, {4, 4});
  runtime::Tensor shared = a.share();
  CHECK_NOTHROW(kernel({&a, &shared, &c}));
  try {
    kernel({&c, &a, &shared});
    FAIL("accepted");
  } catch (const UserError& e) {
    CHECK(
        std::string(e.what()) ==
        "kernel \"matmul\", parameter \"C\": shares memory with \"B\"; give the kernel an output of its own  "
        "[LTH-C012]");
  }
}
