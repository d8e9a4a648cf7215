// Every workload's default schedule computes what its program says, at small, odd and empty sizes.
#include "lathe/workload.h"
#include "support/check_schedule.h"

using namespace lathe;

namespace {

std::string check(const std::string& spec, double tolerance = 0) {
  const Workload w = Workload::parse(spec);
  return test::disagreement(w.default_schedule(test::avx2()), {}, tolerance);
}

}  // namespace

TEST_CASE("default schedules of contractions") {
  for (const char* spec : {"matmul(m=7,n=19,k=5)",
                           "matmul(m=1,n=1,k=1)",
                           "matmul(m=12,n=32,k=0)",
                           "matmul(m=0,n=4,k=3)",
                           "matmul(m=13,n=33,k=400)",
                           "matmul(m=6,n=16,k=8,ta=1)",
                           "matmul(m=6,n=17,k=8,tb=1)",
                           "batch_matmul(b=2,m=5,n=9,k=3)",
                           "gemv(m=5,k=37)",
                           "gemv(m=1,k=1)",
                           "dense(m=7,n=18,k=9,act=1)",
                           "conv2d(h=6,w=7,ci=3,co=5)",
                           "conv2d(h=7,w=7,ci=4,co=8,s=2)",
                           "conv2d(h=9,w=9,ci=4,co=8,d=2,p=2)",
                           "conv2d(h=5,w=5,ci=4,co=8,g=4)",
                           "conv2d_bias_relu(h=5,w=13,ci=3,co=17)",
                           "conv2d_bias_residual_relu(h=4,w=6,ci=4,co=16)",
                           "depthwise(h=6,w=7,c=11)",
                           "depthwise(h=6,w=7,c=16,s=2)",
                           "conv1d(l=17,ci=3,co=18)"}) {
    INFO(spec);
    CHECK(check(spec) == "");
  }
}

TEST_CASE("default schedules of row operators") {
  for (const char* spec :
       {"softmax(m=3,n=37)", "softmax(m=1,n=1)", "softmax(m=2,n=64)", "layer_norm(m=3,n=50)",
        "layer_norm(m=2,n=1)", "row_sum(m=4,n=33)", "row_sum(m=1,n=7)"}) {
    INFO(spec);
    CHECK(check(spec, 1e-5) == "");
  }
}

TEST_CASE("default schedules of elementwise and data movement operators") {
  for (const char* spec :
       {"add_relu_sigmoid(n=1)", "add_relu_sigmoid(n=1003)", "add_relu_sigmoid(n=0)", "transpose(m=9,n=17)",
        "max_pool(h=6,w=7,c=5)", "max_pool(h=5,w=5,c=16,k=3,s=1)"}) {
    INFO(spec);
    CHECK(check(spec, 1e-5) == "");
  }
}

TEST_CASE("a workload's text names what is wrong with it") {
  auto text = [](const std::string& spec) -> std::string {
    try {
      Workload::parse(spec);
      return "accepted";
    } catch (const UserError& e) {
      return e.what();
    }
  };
  CHECK(text("matmul(m=4,q=3)") ==
        "workload: \"matmul\" has no parameter \"q\"; it has m, n, k, ta, tb\n  matmul(m=4,q=3)\n            "
        "  ^  [LTH-W003]");
  CHECK(text("matmul(m=x)").find("\"m\" needs an integer") != std::string::npos);
  CHECK(text("nothing").find("no workload is called \"nothing\"") != std::string::npos);
  CHECK(text("matmul:f99").find("no element type") != std::string::npos);
  CHECK(Workload::parse("matmul( m=4 ):f64").spec == "matmul(m=4,n=512,k=512,ta=0,tb=0):f64");
}
