// Texts of the errors of specifications.
#include "lathe/workload.h"
#include "support/error_text.h"

using namespace lathe;

namespace {

std::string parse(const std::string& spec) {
  return test::error_text([&] { Workload::parse(spec); });
}
/// What is wrong with the values: the text behind the canonical specification.
std::string unfit(const std::string& spec) {
  const std::string text = parse(spec);
  const std::size_t at = text.find(":f32: ");
  return at == std::string::npos ? text : text.substr(at + 6);
}

}  // namespace

TEST_CASE("malformed specifications point at the place") {
  CHECK(parse("matmul(m=4,q=3)") ==
        "workload: \"matmul\" has no parameter \"q\"; it has m, n, k, ta, tb, cb\n"
        "  matmul(m=4,q=3)\n"
        "             ^  [LTH-W003]");
  CHECK(parse("matmul(m=x)") == "workload: \"m\" needs an integer\n  matmul(m=x)\n           ^  [LTH-W004]");
  CHECK(parse("matmul(m=-1)") ==
        "workload: \"m\" must lie in 0..2^40\n  matmul(m=-1)\n           ^  [LTH-W004]");
  CHECK(parse("matmul(m=4") == "workload: expected ')'\n  matmul(m=4\n            ^  [LTH-W001]");
  CHECK(parse("matmul(m=4) x") ==
        "workload: nothing may follow\n  matmul(m=4) x\n              ^  [LTH-W001]");
  CHECK(parse("matmul:f99") ==
        "workload: \"f99\" is no element type; f32, f64, f16, bf16, i8 … u64\n  matmul:f99\n            ^  "
        "[LTH-W004]");
  CHECK(parse("conv2d(layout=ncwh)") ==
        "workload: \"layout\" is one of nhwc, nchw, not \"ncwh\" (did you mean \"nchw\"?)\n  "
        "conv2d(layout=ncwh)\n                ^  "
        "[LTH-W004]");
  CHECK(parse("conv2d(layout=2)") ==
        "workload: \"layout\" is one of nhwc, nchw\n  conv2d(layout=2)\n                ^  [LTH-W004]");
  CHECK(parse("matmul(m=4x4)") == "workload: expected ')'\n  matmul(m=4x4)\n            ^  [LTH-W001]");
  CHECK(parse("sofmax(m=4)").find("no workload is called \"sofmax\" (did you mean \"softmax\"?)\n") == 0);
  CHECK(parse("nothing").find("no workload is called \"nothing\"\n  workloads: add_relu_sigmoid, ") == 0);
}

TEST_CASE("values that do not fit one another are refused by name") {
  CHECK(parse("gemv(m=3,k=4):bool") ==
        "workload gemv(m=3,k=4,ta=0):bool: it computes with numbers, and bool is none  [LTH-W004]");
  CHECK(parse("softmax(m=3,n=4):i32") ==
        "workload softmax(m=3,n=4):i32: it needs a floating-point type: f32, f64, f16, bf16  [LTH-W004]");
  CHECK(unfit("conv2d(s=0)") == "the stride s is at least 1  [LTH-W004]");
  CHECK(unfit("conv2d(k=0)") == "the kernel size k is at least 1  [LTH-W004]");
  CHECK(unfit("conv2d(d=0)") == "the dilation d is at least 1  [LTH-W004]");
  CHECK(unfit("conv2d(s=2097152)") == "k, s, p and d are at most 1048576  [LTH-W004]");
  CHECK(unfit("conv2d(g=0)") == "there is at least 1 group  [LTH-W004]");
  CHECK(unfit("conv2d(ci=6,co=8,g=4)") == "4 groups do not divide the channels ci and co  [LTH-W004]");
  CHECK(unfit("conv2d(h=4,k=7,p=1)") == "the kernel spans 7, but \"h\" with its padding is 6  [LTH-W004]");
  CHECK(unfit("conv1d(l=4,k=3,d=3,p=0)") ==
        "the kernel spans 7, but \"l\" with its padding is 4  [LTH-W004]");
  CHECK(unfit("conv2d(k=1x2x3)") == "\"k\" is one number or 2 of them  [LTH-W004]");
  CHECK(unfit("conv2d_transposed(s=2,op=2)") ==
        "the output padding op is less than the stride s  [LTH-W004]");
  CHECK(unfit("conv2d_transposed(h=1,k=2,p=1)") ==
        "the padding p takes off everything: h would become 0  [LTH-W004]");
  CHECK(unfit("max_pool(k=2,p=2)") == "a padding of 2 leaves windows without a pixel  [LTH-W004]");
  CHECK(unfit("softmax_over(shape=3x4,axis=2)") ==
        "\"axis\" names axis 2 of a tensor with axes 0 to 1  [LTH-W004]");
  CHECK(unfit("reduce(shape=3x4,axes=1+1)") == "\"axes\" names axis 1 twice  [LTH-W004]");
  CHECK(unfit("permute(shape=3x4,perm=0)") == "perm has 1 axes, shape 2  [LTH-W004]");
  CHECK(unfit("permute(shape=3x4,perm=0+0)") == "\"perm\" names axis 0 twice  [LTH-W004]");
  CHECK(unfit("binary(a=3x4,b=3)") == "extents 4 and 3 do not broadcast to each other  [LTH-W004]");
  CHECK(
      parse("unary(shape=3,op=exp):i8") ==
      "workload unary(shape=3,op=exp):i8: exp needs a floating-point type: f32, f64, f16, bf16  [LTH-W004]");
}

TEST_CASE("registering is refused when it would hide something") {
  CHECK(test::error_text([] {
          register_workload({"matmul", "", {}, {}});
        }) == "a workload \"matmul\" is registered already  [LTH-W002]");
  CHECK(test::error_text([] { register_schedule("nothing", {}); }) ==
        "a schedule is registered for \"nothing\", and no workload is called that  [LTH-W003]");
}

TEST_CASE("specifications are printed in a canonical form") {
  CHECK(Workload::parse("matmul( m=4 ):f64").spec == "matmul(m=4,n=512,k=512,ta=0,tb=0,cb=0):f64");
  CHECK(Workload::parse("conv2d(k=1x7,p=0x3,layout=nchw)").spec ==
        "conv2d(n=1,h=56,w=56,ci=64,co=64,k=1x7,s=1,p=0x3,d=1,g=1,layout=nchw):f32");
  CHECK(Workload::parse("reduce(shape=2+3,axes=1,op=argmax)").spec ==
        "reduce(shape=2x3,axes=1,op=argmax):f32");
  CHECK(Workload::parse("dense(act=2)").spec == "dense(m=128,n=768,k=768,act=gelu):f32");
}
