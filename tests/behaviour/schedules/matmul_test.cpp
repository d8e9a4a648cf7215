// Matrix products of the library against plain loops.
#include "behaviour/schedules/check_operator.h"

using namespace lathe;
using namespace lathe::test;

namespace {

std::string check_matmul(std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb,
                         const std::string& dtype) {
  const std::string spec = "matmul(m=" + str(m) + ",n=" + str(n) + ",k=" + str(k) + ",ta=" + str(ta) +
                           ",tb=" + str(tb) + "):" + dtype;
  return check_operator(spec, [&](const Arrays& in, Arrays& out) {
    each_position({m, n}, [&](const auto& at) {
      double total = 0;
      for (std::int64_t r = 0; r < k; ++r)
        total += in[0].get(ta ? std::vector{r, at[0]} : std::vector{at[0], r}) *
                 in[1].get(tb ? std::vector{at[1], r} : std::vector{r, at[1]});
      out[0].set(at, total);
    });
  });
}

}  // namespace

TEST_CASE("matmul in all transposes, at sizes round a tile") {
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                        {5, 15, 7},
                                                                        {6, 16, 8},
                                                                        {7, 17, 9},
                                                                        {13, 31, 1},
                                                                        {1, 33, 5},
                                                                        {11, 1, 3},
                                                                        {3, 2, 0},
                                                                        {0, 4, 2}}) {
    for (int t = 0; t < 4; ++t) CHECK(check_matmul(m, n, k, (t & 1) != 0, (t & 2) != 0, "f32") == "");
  }
  CHECK(check_matmul(13, 33, 401, false, false, "f32") == "");
}

TEST_CASE("matmul of every number type accumulates in its wide type") {
  for (const char* dtype : {"f64", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"})
    CHECK(check_matmul(5, 19, 7, false, true, dtype) == "");
  CHECK(Workload::parse("matmul(m=2,n=2,k=2):f16").program->params[2].buffer->dtype == f16);
  CHECK(Workload::parse("matmul(m=2,n=2,k=2):i8").program->params[2].buffer->dtype == i32);
}

TEST_CASE("a half product is rounded once, at its end") {
  // 2048 + 1 is no f16: summed in f16 the ones would be lost one by one.
  const Workload w = Workload::parse("gemv(m=1,k=2049):f16");
  Arrays in = {interp::Array::full(f16, {1, 2049}, 1), interp::Array::full(f16, {2049}, 1)};
  in[0].set(0, 2048);
  const Arrays out = run_compiled(w.program, compile(w.default_schedule(Target::host()), Target::host()), in);
  CHECK(out[0].get(0) == 4096);
}

TEST_CASE("batch matmul") {
  for (const auto& [b, m, n, k] :
       std::vector<std::array<std::int64_t, 4>>{{1, 1, 1, 1}, {3, 5, 17, 7}, {2, 7, 9, 16}, {0, 3, 3, 3}}) {
    for (int t = 0; t < 4; ++t) {
      const bool ta = (t & 1) != 0, tb = (t & 2) != 0;
      const std::string spec = "batch_matmul(b=" + str(b) + ",m=" + str(m) + ",n=" + str(n) + ",k=" + str(k) +
                               ",ta=" + str(ta) + ",tb=" + str(tb) + ")";
      CHECK(check_operator(spec, [&, k = k](const Arrays& in, Arrays& out) {
              each_position(out[0].shape(), [&](const auto& at) {
                double total = 0;
                for (std::int64_t r = 0; r < k; ++r)
                  total += in[0].get(ta ? std::vector{at[0], r, at[1]} : std::vector{at[0], at[1], r}) *
                           in[1].get(tb ? std::vector{at[0], at[2], r} : std::vector{at[0], r, at[2]});
                out[0].set(at, total);
              });
            }) == "");
    }
  }
}

TEST_CASE("gemv") {
  for (const char* dtype : {"f32", "bf16", "i8"}) {
    for (const auto& [m, k] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {7, 37}, {33, 8}, {1, 100}, {9, 0}}) {
      for (bool ta : {false, true}) {
        const std::string spec = "gemv(m=" + str(m) + ",k=" + str(k) + ",ta=" + str(ta) + "):" + dtype;
        CHECK(check_operator(spec, [&, m = m, k = k](const Arrays& in, Arrays& out) {
                for (std::int64_t i = 0; i < m; ++i) {
                  double total = 0;
                  for (std::int64_t r = 0; r < k; ++r)
                    total += in[0].get(ta ? std::vector{r, i} : std::vector{i, r}) * in[1].get(r);
                  out[0].set(i, total);
                }
              }) == "");
      }
    }
  }
}
