// Pooling of the library against plain loops.
#include <limits>

#include "behaviour/schedules/check_operator.h"
#include "behaviour/schedules/plain_convolution.h"

using namespace lathe;
using namespace lathe::test;

namespace {

/// Calls f(value) for the pixels that a window sees, the padding left out, and returns the size of the whole window.
template <class F>
void each_pixel(const PlainConvolution& c, const interp::Array& x, const std::vector<std::int64_t>& o,
                F&& f) {
  each_position(c.k, [&](const std::vector<std::int64_t>& t) {
    std::vector<std::int64_t> pixel(2);
    for (std::size_t i = 0; i < 2; ++i) {
      pixel[i] = o[2 + i] * c.s[i] - c.p[i] + t[i] * c.d[i];
      if (pixel[i] < 0 || pixel[i] >= c.size[i]) return;
    }
    f(x.get(c.at(o[0], pixel, o[1])));
  });
}

/// A window whose every position sees a pixel.
PlainConvolution random_pool(Dice& dice) {
  for (;;) {
    PlainConvolution c = PlainConvolution::random(dice, 2);
    c.groups = c.ci = c.co = dice.of({1, 3, 8, 19});
    bool seen = true;
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::int64_t y = 0; y < c.out(i); ++y) {
        bool any = false;
        for (std::int64_t t = 0; t < c.k[i]; ++t) {
          const std::int64_t at = y * c.s[i] - c.p[i] + t * c.d[i];
          any |= at >= 0 && at < c.size[i];
        }
        seen &= any;
      }
      seen &= c.p[i] < c.d[i] * (c.k[i] - 1) + 1;
    }
    if (seen) return c;
  }
}

std::string pool_spec(const PlainConvolution& c, const std::string& name) {
  std::string spec = c.spec(name);
  const std::size_t at = spec.find(",ci="), end = spec.find(",k=");
  spec = spec.substr(0, at) + ",c=" + str(c.ci) + spec.substr(end);
  return spec.erase(spec.find(",g="), spec.find(",layout=") - spec.find(",g="));
}

void each_output(const PlainConvolution& c, const std::function<void(const std::vector<std::int64_t>&)>& f) {
  each_position({c.n, c.ci, c.out(0), c.out(1)}, f);
}

}  // namespace

TEST_CASE("max pooling at random windows") {
  Dice dice(3);
  const char* const types[] = {"f32", "i8", "f16", "u8"};
  for (int i = 0; i < 16; ++i) {
    const PlainConvolution c = random_pool(dice);
    CHECK(check_operator(pool_spec(c, "max_pool") + ":" + types[i % 4], [&](const Arrays& in, Arrays& out) {
            each_output(c, [&](const auto& o) {
              double best = -std::numeric_limits<double>::infinity();
              each_pixel(c, in[0], o, [&](double v) { best = std::max(best, v); });
              out[0].set(c.at(o[0], {o[2], o[3]}, o[1]), best);
            });
          }) == "");
  }
}

TEST_CASE("average pooling at random windows, padding counted or not") {
  Dice dice(4);
  for (int i = 0; i < 16; ++i) {
    const PlainConvolution c = random_pool(dice);
    std::string spec = pool_spec(c, "avg_pool");
    spec.insert(spec.size() - 1, ",pad_counts=" + str(i % 2));
    CHECK(check_operator(
              spec + (i % 4 == 2 ? ":f16" : ":f32"),
              [&](const Arrays& in, Arrays& out) {
                each_output(c, [&](const auto& o) {
                  double total = 0, count = 0;
                  each_pixel(c, in[0], o, [&](double v) { total += v, count += 1; });
                  out[0].set(c.at(o[0], {o[2], o[3]}, o[1]),
                             total / (i % 2 == 1 ? double(c.k[0] * c.k[1]) : count));
                });
              },
              Data::Integers, 1e-3 * (i % 4 == 2) + 1e-6) == "");
  }
}

TEST_CASE("global pooling") {
  for (const char* layout : {"nhwc", "nchw"}) {
    for (const std::vector<std::int64_t>& s :
         {std::vector<std::int64_t>{1, 1, 1, 1}, {2, 3, 5, 7}, {1, 7, 7, 16}}) {
      const bool first = layout[1] == 'c';
      const std::string args = "(n=" + str(s[0]) + ",h=" + str(s[1]) + ",w=" + str(s[2]) + ",c=" + str(s[3]) +
                               ",layout=" + layout + ")";
      for (bool mean : {false, true}) {
        const Reference reference = [&](const Arrays& in, Arrays& out) {
          each_position({s[0], s[3]}, [&](const auto& o) {
            double best = -std::numeric_limits<double>::infinity(), total = 0;
            each_position({s[1], s[2]}, [&](const auto& p) {
              const double v = in[0].get(first ? std::vector{o[0], o[1], p[0], p[1]}
                                               : std::vector{o[0], p[0], p[1], o[1]});
              best = std::max(best, v), total += v;
            });
            out[0].set(o, mean ? total / double(s[1] * s[2]) : best);
          });
        };
        CHECK(check_operator((mean ? "global_avg_pool" : "global_max_pool") + args, reference, Data::Integers,
                             mean ? 1e-6 : 0) == "");
      }
    }
  }
}
