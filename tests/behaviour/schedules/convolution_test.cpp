// Convolutions of the library against plain loops.
#include "behaviour/schedules/check_operator.h"
#include "behaviour/schedules/plain_convolution.h"

using namespace lathe;
using namespace lathe::test;

TEST_CASE("convolutions in one, two and three dimensions, both layouts, at random windows") {
  Dice dice(5);
  for (int i = 0; i < 42; ++i) {
    const PlainConvolution c = PlainConvolution::random(dice, 1 + i % 3);
    CHECK(check_operator(c.spec("conv" + str(1 + i % 3) + "d"),
                         [&](const Arrays& in, Arrays& out) { c.run(in[0], in[1], out[0]); }) == "");
  }
}

TEST_CASE("convolutions of every number type") {
  Dice dice(6);
  for (const char* dtype : {"f64", "f16", "bf16", "i8", "u8", "i16", "i32", "i64"}) {
    const PlainConvolution c = PlainConvolution::random(dice, 2);
    CHECK(check_operator(c.spec("conv2d") + ":" + dtype,
                         [&](const Arrays& in, Arrays& out) { c.run(in[0], in[1], out[0]); }) == "");
  }
}

TEST_CASE("depthwise convolutions") {
  Dice dice(7);
  for (int i = 0; i < 14; ++i) {
    PlainConvolution c = PlainConvolution::random(dice, 2);
    c.ci = c.co = c.groups = dice.of({1, 3, 8, 17});
    std::string spec = c.spec("depthwise");
    const std::size_t at = spec.find(",ci="), end = spec.find(",k=");
    spec = spec.substr(0, at) + ",c=" + str(c.ci) + spec.substr(end);
    spec.erase(spec.find(",g="), spec.find(",layout=") - spec.find(",g="));
    CHECK(check_operator(spec + (i % 4 == 3 ? ":f16" : ""), [&](const Arrays& in, Arrays& out) {
            // Weights [k,k,c] are [k,k,1,c], and [c,k,k] are [c,1,k,k].
            const std::vector<std::int64_t>& s = in[1].shape();
            interp::Array k(f64, c.channels_first ? std::vector{s[0], std::int64_t{1}, s[1], s[2]}
                                                  : std::vector{s[0], s[1], std::int64_t{1}, s[2]});
            for (std::int64_t e = 0; e < k.size(); ++e) k.set(e, in[1].get(e));
            c.run(in[0], k, out[0]);
          }) == "");
  }
}

TEST_CASE("transposed convolutions with every stride, padding and output padding") {
  Dice dice(8);
  for (int i = 0; i < 24; ++i) {
    const std::int64_t n = dice.of({1, 1, 2}), ci = dice.of({1, 3, 4}), co = dice.of({1, 5, 16});
    std::vector<std::int64_t> in_size, k, s, p, op, size;
    for (int d = 0; d < 2; ++d) {
      for (;;) {
        const std::int64_t e = dice.between(1, 6), kd = dice.between(1, 5), sd = dice.between(1, 4),
                           pd = dice.between(0, 3), od = dice.between(0, sd - 1),
                           out = (e - 1) * sd - 2 * pd + kd + od;
        if (out < 1) continue;
        in_size.push_back(e), k.push_back(kd), s.push_back(sd), p.push_back(pd), op.push_back(od),
            size.push_back(out);
        break;
      }
    }
    const std::string spec = "conv2d_transposed(n=" + str(n) + ",h=" + str(in_size[0]) +
                             ",w=" + str(in_size[1]) + ",ci=" + str(ci) + ",co=" + str(co) +
                             ",k=" + joined(k, 'x') + ",s=" + joined(s, 'x') + ",p=" + joined(p, 'x') +
                             ",op=" + joined(op, 'x') + ")" + (i % 6 == 5 ? ":bf16" : "");
    CHECK(check_operator(spec, [&](const Arrays& in, Arrays& out) {
            // The definition: every input adds its multiple of the kernel to the outputs.
            REQUIRE(out[0].shape() == std::vector{n, size[0], size[1], co});
            each_position({n, in_size[0], in_size[1], ci, k[0], k[1], co}, [&](const auto& at) {
              const std::int64_t y = at[1] * s[0] - p[0] + at[4], x = at[2] * s[1] - p[1] + at[5];
              if (y < 0 || y >= size[0] || x < 0 || x >= size[1]) return;
              const std::vector<std::int64_t> to = {at[0], y, x, at[6]};
              out[0].set(to, out[0].get(to) + in[0].get({at[0], at[1], at[2], at[3]}) *
                                                  in[1].get({at[4], at[5], at[3], at[6]}));
            });
          }) == "");
  }
}
