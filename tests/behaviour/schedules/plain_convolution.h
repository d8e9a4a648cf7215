#pragma once
// A convolution in plain loops, of any rank, with every parameter.

#include "behaviour/schedules/check_operator.h"

namespace lathe::test {

struct PlainConvolution {
  std::int64_t n = 1, ci = 1, co = 1, groups = 1;
  bool channels_first = false;
  std::vector<std::int64_t> size, k, s, p, d;  ///< one a spatial dimension

  static PlainConvolution random(Dice& dice, int rank) {
    PlainConvolution c;
    c.n = dice.of({1, 1, 2});
    c.groups = dice.of({1, 1, 2, 3});
    c.ci = c.groups * dice.of({1, 2, 3});
    c.co = c.groups * dice.of({1, 3, 5, 8});
    c.channels_first = dice.of({0, 1}) == 1;
    for (int i = 0; i < rank; ++i) {
      for (;;) {
        const std::int64_t e = dice.between(1, rank == 3 ? 5 : 9), k = dice.between(1, 3),
                           s = dice.between(1, 3), p = dice.between(0, 2), d = dice.between(1, 2);
        if (e + 2 * p < d * (k - 1) + 1) continue;
        c.size.push_back(e), c.k.push_back(k), c.s.push_back(s), c.p.push_back(p), c.d.push_back(d);
        break;
      }
    }
    return c;
  }

  std::int64_t out(std::size_t i) const { return (size[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1) / s[i] + 1; }

  std::string spec(const std::string& name) const {
    static const std::vector<std::vector<std::string>> keys = {{"l"}, {"h", "w"}, {"depth", "h", "w"}};
    static const char* const layouts[][2] = {{"nlc", "ncl"}, {"nhwc", "nchw"}, {"ndhwc", "ncdhw"}};
    std::string text = name + "(n=" + str(n);
    for (std::size_t i = 0; i < size.size(); ++i) text += "," + keys[size.size() - 1][i] + "=" + str(size[i]);
    return text + ",ci=" + str(ci) + ",co=" + str(co) + ",k=" + joined(k, 'x') + ",s=" + joined(s, 'x') +
           ",p=" + joined(p, 'x') + ",d=" + joined(d, 'x') + ",g=" + str(groups) +
           ",layout=" + layouts[size.size() - 1][channels_first] + ")";
  }

  /// The position of a pixel and channel in an image.
  std::vector<std::int64_t> at(std::int64_t i, std::vector<std::int64_t> pixel, std::int64_t channel) const {
    pixel.insert(channels_first ? pixel.begin() : pixel.end(), channel);
    pixel.insert(pixel.begin(), i);
    return pixel;
  }

  void run(const interp::Array& x, const interp::Array& w, interp::Array& y) const {
    const std::size_t rank = size.size();
    std::vector<std::int64_t> outputs = {n, co};
    for (std::size_t i = 0; i < rank; ++i) outputs.push_back(out(i));
    std::vector<std::int64_t> taps = k;
    taps.push_back(ci / groups);
    each_position(outputs, [&](const std::vector<std::int64_t>& o) {
      double total = 0;
      each_position(taps, [&](const std::vector<std::int64_t>& t) {
        std::vector<std::int64_t> pixel(rank), weight(t.begin(), t.end() - 1);
        for (std::size_t i = 0; i < rank; ++i) {
          pixel[i] = o[2 + i] * s[i] - p[i] + t[i] * d[i];
          if (pixel[i] < 0 || pixel[i] >= size[i]) return;
        }
        const std::int64_t c = t[rank], group = o[1] / (co / groups);
        if (channels_first)
          weight.insert(weight.begin(), {o[1], c});
        else
          weight.insert(weight.end(), {c, o[1]});
        total += x.get(at(o[0], pixel, group * (ci / groups) + c)) * w.get(weight);
      });
      y.set(at(o[0], {o.begin() + 2, o.end()}, o[1]), total);
    });
  }
};

}  // namespace lathe::test
