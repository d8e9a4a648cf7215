// Errors of handles, hints, open decisions, replay and verify.
#include "errors/schedule/fixture.h"

using namespace lathe;
using lathe::test::Bad;

TEST_CASE("handles that stand for nothing here") {
  Bad p;
  Schedule& s = p.s;
  const auto l1 = s.loops<2>(p.E);
  const LoopRef i = l1[0];
  CHECK(p.refused([&] {
    s.split(LoopRef(), {_, 4});
  }) == "split(an empty loop, {_, 4}, Tail::Guard): the loop handle is empty or belongs to another schedule\n"
        "  at handles_text_test.cpp:LINE\n"
        "  take handles from this schedule's block(), loops() and primitives  [LTH-S001]");
  CHECK(p.refused([&] { s.compute_at(BlockRef(), i); }) ==
        "compute_at(an empty block, loop \"i\"): the block handle is empty or belongs to another schedule\n"
        "  at handles_text_test.cpp:LINE\n"
        "  take handles from this schedule's block(), loops() and primitives  [LTH-S001]");
  CHECK(p.refused([&] { s.unroll(LoopRef(999)); }) ==
        "unroll(an empty loop): the loop handle is empty or belongs to another schedule\n"
        "  at handles_text_test.cpp:LINE\n"
        "  take handles from this schedule's block(), loops() and primitives  [LTH-S001]");
  CHECK(p.refused([&] { s.unroll(LoopRef(p.E.id())); }) ==
        "unroll(loop \"E\"): the handle is a block, not a loop\n"
        "  at handles_text_test.cpp:LINE  [LTH-S001]");
  CHECK(p.refused([&] { s.compute_inline(BlockRef(i.id())); }) ==
        "compute_inline(block \"i\"): the handle is a loop, not a block\n"
        "  at handles_text_test.cpp:LINE  [LTH-S001]");
}

TEST_CASE("handles that a primitive consumed") {
  Bad p;
  Schedule& s = p.s;
  const auto l2 = s.loops<2>(p.E);
  const LoopRef i = l2[0];
  s.split(i, {_, 4});
  s.compute_inline(p.D);
  CHECK(p.refused([&] { s.unroll(i); }) ==
        "unroll(loop \"i\"): loop \"i\" was consumed by split(loop \"i\", {_, 4}, Tail::Guard) at "
        "handles_text_test.cpp:LINE\n"
        "  at handles_text_test.cpp:LINE\n"
        "  use what that call returned  [LTH-S002]");
  CHECK(p.refused([&] { s.loops(p.D); }) ==
        "loops(block \"D\"): block \"D\" was consumed by compute_inline(block \"D\") at "
        "handles_text_test.cpp:LINE\n"
        "  at handles_text_test.cpp:LINE\n"
        "  use what that call returned  [LTH-S002]");
}

TEST_CASE("names and counts that do not fit") {
  Bad p;
  Schedule& s = p.s;
  CHECK(p.refused([&] { s.block("nothing"); }) ==
        "block(\"nothing\"): the program has no block of this name\n"
        "  blocks: C, D, E\n"
        "  at handles_text_test.cpp:LINE  [LTH-S006]");
  CHECK(p.refused([&] { s.block(p.a); }) ==
        "block(tensor \"A\"): no block of the program writes it\n"
        "  blocks: C, D, E\n"
        "  at handles_text_test.cpp:LINE  [LTH-S006]");
  CHECK(p.refused([&] { s.block(Tensor()); }) ==
        "block: the Tensor is empty\n"
        "  at handles_text_test.cpp:LINE  [LTH-S006]");
  s.loops(p.C);
  CHECK(p.refused([&] { s.loops<2>(p.C); }) ==
        "loops<2>(block \"C\"): the block lies in 3 loops\n"
        "  at handles_text_test.cpp:LINE  [LTH-S007]");
}

TEST_CASE("hints that do not fit") {
  Bad p;
  Schedule& s = p.s;
  CHECK(p.refused([&] { s.store_hint(p.C, true); }) ==
        "store_hint(block \"C\", 1): block \"C\" reads back what it stores\n"
        "  at handles_text_test.cpp:LINE\n"
        "  for i, j, k\n"
        "    block \"C\" reads A, B writes C    <-- here\n"
        "  …\n"
        "  give the hint to the block that stores the final value  [LTH-S064]");
  CHECK(p.refused([&] { s.assume_aligned("A", 3); }) ==
        "assume_aligned(\"A\", 3): 3 is no alignment\n"
        "  at handles_text_test.cpp:LINE\n"
        "  give a power of two up to 4096  [LTH-S065]");
  CHECK(p.refused([&] { s.assume_aligned("A", 8192); }) ==
        "assume_aligned(\"A\", 8192): 8192 is no alignment\n"
        "  at handles_text_test.cpp:LINE\n"
        "  give a power of two up to 4096  [LTH-S065]");
  CHECK(p.refused([&] { s.assume_aligned("nothing", 16); }) ==
        "assume_aligned(\"nothing\", 16): the program has no tensor parameter \"nothing\"\n"
        "  at handles_text_test.cpp:LINE  [LTH-S065]");
}

TEST_CASE("sampling with nothing to choose from") {
  Bad p;
  Schedule& s = p.s;
  const auto l3 = s.loops<2>(p.E);
  const LoopRef i = l3[0];
  CHECK(p.refused([&] { s.sample_choice({}); }) ==
        "sample_choice({}): there is nothing to choose from\n"
        "  at handles_text_test.cpp:LINE  [LTH-S032]");
  CHECK(p.refused([&] { s.sample_perfect_tile(i, 0); }) ==
        "sample_perfect_tile(loop \"i\", 0, 64): the number of factors must be 1 to 8\n"
        "  at handles_text_test.cpp:LINE  [LTH-S032]");
  CHECK(p.refused([&] { s.sample_perfect_tile(i, 9); }) ==
        "sample_perfect_tile(loop \"i\", 9, 64): the number of factors must be 1 to 8\n"
        "  at handles_text_test.cpp:LINE  [LTH-S032]");
  CHECK(p.refused([&] { s.sample_tile(i, 2, 0); }) ==
        "sample_tile(loop \"i\", 2, 0, {}): max_innermost must be positive\n"
        "  at handles_text_test.cpp:LINE  [LTH-S032]");
  CHECK(p.refused([&] { s.sample_tile(i, 2, 8, {0}); }) ==
        "sample_tile(loop \"i\", 2, 8, {0}): tile 0 is not positive\n"
        "  at handles_text_test.cpp:LINE  [LTH-S032]");
}

TEST_CASE("decisions that are no options") {
  Bad p;
  Schedule& s = p.s;
  const auto l4 = s.loops<2>(p.E);
  const LoopRef i = l4[0];
  CHECK(p.refused([&] {
    s.next_decision({3, 3});
    s.sample_perfect_tile(i, 2);
  }) == "sample_perfect_tile(loop \"i\", 2, 64): the recorded decision {3, 3} is not among the options here\n"
        "  at handles_text_test.cpp:LINE\n"
        "  sample it anew, or replay the trace on the program it was made for  [LTH-S031]");
  CHECK(p.refused([&] {
    s.next_decision({5});
    s.sample_choice({1, 2});
  }) == "sample_choice({1, 2}): the recorded decision {5} is not among the options here\n"
        "  at handles_text_test.cpp:LINE\n"
        "  sample it anew, or replay the trace on the program it was made for  [LTH-S031]");
  CHECK(p.refused([&] {
    s.next_decision({7});
    s.sample_compute_location(p.D);
  }) == "sample_compute_location(block \"D\"): the recorded decision 7 is none of the 2 legal loops\n"
        "  at handles_text_test.cpp:LINE\n"
        "  …\n"
        "  for i, j\n"
        "    block \"D\" reads C writes D    <-- here  [LTH-S031]");
}

TEST_CASE("a required condition that does not hold") {
  Bad p;
  Schedule& s = p.s;
  const Factor f = s.sample_choice({8}), g = s.sample_choice({4});
  CHECK(p.refused([&] { s.require(f * g <= 16); }) ==
        "require(f3*f4 <= 16): the condition does not hold for f3 = 8, f4 = 4\n"
        "  at handles_text_test.cpp:LINE  [LTH-S033]");
  CHECK(p.refused([&] { s.require(f * g); }) ==
        "require(f3*f4): the condition is not a Bool expression over factors\n"
        "  at handles_text_test.cpp:LINE  [LTH-S003]");
  CHECK(p.refused([&] { s.require(Var("x") < 3); }) ==
        "require(x < 3): the condition x < 3 is over more than factors\n"
        "  at handles_text_test.cpp:LINE\n"
        "  use literals and sampled factors  [LTH-S003]");
}

TEST_CASE("a trace's text that is none") {
  const auto text = [](const std::string& json) {
    return lathe::test::error_text([&] { Trace::from_json(json); });
  };
  CHECK(text("[1,2") == "trace: the text is no JSON: it breaks off or is wrong at byte 5  [LTH-F020]");
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  CHECK(text(R"({"format":"lathe-trace","version":1,"steps":)" + deep + "}") ==
        "trace: the text is nested too deeply  [LTH-F020]");
  CHECK(text("{}") == "trace: the document is no trace: \"format\" is not \"lathe-trace\"  [LTH-F020]");
}

TEST_CASE("a factor of another schedule") {
  Bad p;
  Schedule& s = p.s;
  Bad other;
  const Factor f = other.s.sample_choice({8});
  const LoopRef i = s.loops<2>(p.E)[0];
  CHECK(p.refused([&] {
    s.split(i, {_, f});
  }) == "split(loop \"i\", {_, f3}, Tail::Guard): the value f3 is not a constant\n"
        "  at handles_text_test.cpp:LINE\n"
        "  use literals and sampled factors  [LTH-S003]");
  CHECK(p.refused([&] { s.value(f); }) ==
        "value: the factor is empty or belongs to another schedule\n"
        "  at handles_text_test.cpp:LINE  [LTH-S001]");
  CHECK(p.refused([&] { s.value(Factor()); }) ==
        "value: the factor is empty or belongs to another schedule\n"
        "  at handles_text_test.cpp:LINE  [LTH-S001]");
}

TEST_CASE("a trace that does not fit: the step is named") {
  Bad p;
  Schedule& s = p.s;
  s.split(s.loops<2>(p.E)[0], {_, 4});
  const Trace good = s.trace();
  Trace unknown = good, odd = good;
  unknown.steps.back().op = "spilt";
  odd.steps.back().outputs.pop_back();
  Schedule fresh(s.original());
  CHECK(p.refused([&] { fresh.replay(unknown); }) ==
        "step 5 of 5 of the trace: spilt(loop \"i\", {_, 4}, Tail::Guard): no primitive has this name\n"
        "  at handles_text_test.cpp:LINE\n"
        "  see docs/schedule.md for the list  [LTH-S004]");
  CHECK(p.refused([&] { fresh.replay(odd); }) ==
        "step 5 of 5 of the trace: split defines 2 handles, the trace expects 1; the trace was made for "
        "another program or another version  [LTH-S005]");
}

TEST_CASE("verify: what the target does not have") {
  Bad p;
  Schedule& s = p.s;
  s.bind(s.loops<2>(p.E)[0], ThreadAxis::BlockX);
  const Target cpu = Target::parse("x86-64-v3");
  CHECK(p.refused([&] { verify(s, cpu); }) ==
        "verify(\"p\"): loop \"i\" is bound to blockIdx.x, which \"x86-64-v3\" does not have\n"
        "  …\n"
        "  for i    <-- here\n"
        "    for j\n"
        "      block \"E\" reads D writes E\n"
        "  use parallel and vectorize for a CPU  [LTH-S070]");
}

TEST_CASE("verify: memory that a CPU does not have") {
  Bad p;
  Schedule& s = p.s;
  s.set_scope(p.D, Scope::Shared);
  const Target cpu = Target::parse("x86-64-v3");
  CHECK(p.refused([&] { verify(s, cpu); }) ==
        "verify(\"p\"): \"D\" lives in shared memory, which \"x86-64-v3\" does not have\n"
        "  use Scope::Local or Scope::Global for a CPU  [LTH-S071]");
}

TEST_CASE("verify: local memory that other threads would have to see") {
  Bad p;
  Schedule& s = p.s;
  s.set_scope(p.D, Scope::Local);
  s.bind(s.loops<2>(p.E)[0], ThreadAxis::BlockX);
  const Target gpu = Target::parse("a100");
  CHECK(p.refused([&] { verify(s, gpu); }) ==
        "verify(\"p\"): \"D\" lives in local memory, of which each thread has its own, but block \"E\" uses "
        "it in loop \"i\" (blockIdx.x) and others do outside\n"
        "  …\n"
        "  for i    <-- here\n"
        "    for j\n"
        "      block \"E\" reads D writes E    <-- uses it\n"
        "  compute it inside the loop, or use a wider scope  [LTH-S074]");
}

TEST_CASE("a schedule without a program") {
  Bad p;
  const Schedule moved_to = std::move(p.s);
  CHECK(test::error_text([&] { p.s.block("C"); }) ==
        "this schedule was moved from, and holds no program any more\n"
        "  at handles_text_test.cpp:LINE  [LTH-S077]");
  for (const std::string& why :
       {test::error_text([&] { p.s.program(); }), test::error_text([&] { p.s.trace(); }),
        test::error_text([&] { p.s.fork(); }), test::error_text([&] { p.s.blocks(); }),
        test::error_text([&] { p.s.loops(p.C); }), test::error_text([&] { p.s.compute_inline(p.D); }),
        test::error_text([&] { p.s.replay(Trace()); }),
        test::error_text([&] { p.s.cache_read(p.E, p.d, Scope::Local); })}) {
    CHECK(why.find("LTH-S077") != std::string::npos);
  }
  CHECK(test::error_text([] {
          const Program none;
          Schedule s(none);
        }) == "a schedule of an empty Program  [LTH-S077]");
}

TEST_CASE("arguments that no primitive could work with") {
  Bad p;
  Schedule& s = p.s;
  const LoopRef i = s.loops<2>(p.E)[0];
  CHECK(p.refused([&] { s.require(Expr()); }) ==
        "require: argument 1 is an empty Expr\n"
        "  at handles_text_test.cpp:LINE  [LTH-S003]");
  CHECK(p.refused([&] { s.annotate(i, "\xff", 1); }) ==
        "annotate: argument 2 is not UTF-8 text\n"
        "  at handles_text_test.cpp:LINE  [LTH-S003]");
  CHECK(p.refused([&] {
    s.split(i, {_, SplitFactor(Expr(2.5f))});
  }) == "split: argument 2 is not made of integers, factors, indices and operators: 2.5f\n"
        "  at handles_text_test.cpp:LINE  [LTH-S003]");
  const Factor two = s.sample_choice({2});
  Expr e = two;
  for (int k = 0; k < 20; ++k) e = e + e;
  CHECK(p.refused([&] {
    s.split(i, {_, SplitFactor(e)});
  }) == "split: argument 2 is of more than 65536 nodes, each shared part counted at every use\n"
        "  at handles_text_test.cpp:LINE  [LTH-S003]");
  const Var x("x"), y("y");
  auto laid_out = [&](const IndexMap& map) { return p.refused([&] { s.transform_layout(p.D, -1, map); }); };
  CHECK(laid_out({{x, x}, {x, x}}) ==
        "transform_layout: argument 3 maps from \"x\" twice\n"
        "  at handles_text_test.cpp:LINE  [LTH-S003]");
  CHECK(laid_out({{x, Var()}, {x, x}}) ==
        "transform_layout: argument 3 maps from an empty Var\n"
        "  at handles_text_test.cpp:LINE  [LTH-S003]");
  CHECK(laid_out({{x, y}, {x, Expr()}}) ==
        "transform_layout: argument 3 has a result that is an empty Expr\n"
        "  at handles_text_test.cpp:LINE  [LTH-S003]");
  CHECK(laid_out({{x, y}, {x, cast(f32, y)}}) ==
        "transform_layout: argument 3 has a result that is not made of integers, factors, indices and "
        "operators: f32(y)\n"
        "  at handles_text_test.cpp:LINE  [LTH-S003]");
}

TEST_CASE("numbers that are none of an enumeration's") {
  Bad p;
  Schedule& s = p.s;
  const LoopRef i = s.loops<2>(p.E)[0];
  for (const std::string& why : {p.refused([&] {
                                   s.split(i, {_, 2}, static_cast<Tail>(9));
                                 }),
                                 p.refused([&] { s.bind(i, static_cast<ThreadAxis>(77)); }),
                                 p.refused([&] { s.set_scope(p.D, static_cast<Scope>(77)); }),
                                 p.refused([&] { s.math(p.D, static_cast<MathMode>(9)); })}) {
    CHECK(why.find("?") != std::string::npos);
    CHECK(why.find("LTH-S003") != std::string::npos);
    CHECK(why.find("CHANGED") == std::string::npos);
  }
}
