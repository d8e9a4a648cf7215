// Groups whose schedules are their own: they keep large intermediates from ever existing.
#include <cmath>

#include "behaviour/schedules/check_operator.h"
#include "behaviour/schedules/plain_convolution.h"
#include "support/error_codes/schedule.h"

using namespace lathe;
using namespace lathe::test;

namespace {

/// Peak bytes of intermediates when the lowered program runs.
std::uint64_t peak_bytes(const Program& block_form) {
  const Program program = lower::lower(block_form, avx2());
  return interp::run(program, interp::integer_inputs(program, 1)).report.peak_bytes;
}

void plain_attention(const Arrays& in, bool causal, interp::Array& out) {
  const std::vector<std::int64_t>& shape = out.shape();
  const std::int64_t seq = shape[2], dim = shape[3];
  each_position({shape[0], shape[1], seq}, [&](const std::vector<std::int64_t>& at) {
    const std::int64_t visible = causal ? at[2] + 1 : seq;
    double total = 0;
    std::vector<double> mixed(std::size_t(dim), 0);
    for (std::int64_t j = 0; j < visible; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < dim; ++d)
        score += in[0].get({at[0], at[1], at[2], d}) * in[1].get({at[0], at[1], j, d});
      const double weight = std::exp(score / std::sqrt(double(dim)));
      total += weight;
      for (std::int64_t d = 0; d < dim; ++d)
        mixed[std::size_t(d)] += weight * in[2].get({at[0], at[1], j, d});
    }
    for (std::int64_t d = 0; d < dim; ++d) out.set({at[0], at[1], at[2], d}, mixed[std::size_t(d)] / total);
  });
}

}  // namespace

TEST_CASE("attention in row tiles") {
  for (const char* args : {"b=1,heads=1,seq=1,dim=1", "b=2,heads=2,seq=7,dim=5", "b=1,heads=3,seq=13,dim=17",
                           "b=1,heads=1,seq=37,dim=16", "b=0,heads=2,seq=3,dim=4"}) {
    for (bool causal : {false, true}) {
      for (const char* dtype : {"f32", "f64", "f16"}) {
        const std::string spec =
            std::string("attention(") + args + ",causal=" + (causal ? "1):" : "0):") + dtype;
        CHECK(check_operator(
                  spec, [&](const Arrays& in, Arrays& out) { plain_attention(in, causal, out[0]); },
                  Data::Reals, dtype[1] == '1' ? 2e-3 : 2e-6) == "");
      }
    }
  }
}

TEST_CASE("attention never holds the matrix of scores") {
  const Workload w = Workload::parse("attention(heads=1,seq=96,dim=4)");
  const std::uint64_t whole = 96 * 96 * 4;
  CHECK(peak_bytes(w.program) >= 2 * whole);
  // Panels of k, and twice six rows.
  CHECK(peak_bytes(w.default_schedule(avx2()).program()) < whole / 2);
}

TEST_CASE("a convolution pooled in registers") {
  Dice dice(10);
  for (int i = 0; i < 12; ++i) {
    PlainConvolution c = PlainConvolution::random(dice, 2);
    c.channels_first = false;
    const std::int64_t pool = dice.of({1, 2, 2, 3}), h = c.out(0) / pool, w = c.out(1) / pool;
    if (h < 1 || w < 1) continue;
    std::string spec = c.spec("conv2d_max_pool");
    spec = spec.substr(0, spec.find(",layout=")) + ",pool=" + str(pool) + "):" +
           (i % 5 == 4   ? "f16"
            : i % 5 == 3 ? "i8"
                         : "f32");
    CHECK(check_operator(spec, [&](const Arrays& in, Arrays& out) {
            interp::Array conv(f64, {c.n, c.out(0), c.out(1), c.co});
            c.run(in[0], in[1], conv);
            each_position({c.n, h, w, c.co}, [&](const auto& at) {
              double best = -INFINITY;
              each_position({pool, pool}, [&](const auto& p) {
                best = std::max(best, conv.get({at[0], at[1] * pool + p[0], at[2] * pool + p[1], at[3]}));
              });
              out[0].set(at, best);
            });
          }) == "");
  }
}

TEST_CASE("the pooled convolution keeps its result in registers") {
  const Workload w = Workload::parse("conv2d_max_pool(h=12,w=12,ci=4,co=32)");
  const std::uint64_t conv = 12 * 12 * 32 * 4;
  CHECK(peak_bytes(w.program) >= conv);
  CHECK(peak_bytes(w.default_schedule(avx2()).program()) < conv / 4);
}

TEST_CASE("templates of own schedules replay with every decision that they allow") {
  for (const char* spec : {"attention(b=1,heads=2,seq=19,dim=9)", "conv2d_max_pool(h=9,w=11,ci=3,co=20)"}) {
    const Workload w = Workload::parse(spec);
    int allowed = 0;
    for (std::size_t pick = 0; pick < 4; ++pick) {
      std::size_t asked = 0;
      Schedule s(w.program, [&](const Instruction&, const std::vector<std::vector<std::int64_t>>& options) {
        return (asked++ == 0 ? pick : pick / 2) % options.size();
      });
      try {
        w.apply_schedule(s, avx2(), Choices::Open);
      } catch (const ScheduleError& e) {
        CHECK(e.code() == code::S033);  // tiles that the registers do not hold
        continue;
      }
      ++allowed;
      CHECK(!s.trace().decisions().empty());
      CHECK(disagreement(s, {}, 1e-5) == "");
    }
    CHECK(allowed >= 2);
  }
}
