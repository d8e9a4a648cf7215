// Fused groups of the library against plain loops.
#include <cmath>

#include "behaviour/schedules/check_operator.h"
#include "behaviour/schedules/plain_convolution.h"

using namespace lathe;
using namespace lathe::test;

TEST_CASE("a convolution with what follows it") {
  Dice dice(9);
  for (const std::string name : {"conv2d_bias_relu", "conv2d_bias_bn_relu", "conv2d_bias_residual_relu"}) {
    for (int i = 0; i < 8; ++i) {
      const PlainConvolution c = PlainConvolution::random(dice, 2);
      const std::string dtype = i == 5 ? "f16" : i == 6 ? "i8" : i == 7 ? "f64" : "f32";
      CHECK(check_operator(c.spec(name) + ":" + dtype, [&](const Arrays& in, Arrays& out) {
              c.run(in[0], in[1], out[0]);
              each_position(out[0].shape(), [&](const auto& at) {
                const std::int64_t o = at[c.channels_first ? 1 : 3];
                double v = out[0].get(at) + in[2].get(o);
                if (name == "conv2d_bias_bn_relu") v = v * in[3].get(o) + in[4].get(o);
                if (name == "conv2d_bias_residual_relu") v += in[3].get(at);
                out[0].set(at, std::max(v, 0.0));
              });
            }) == "");
    }
  }
}

TEST_CASE("dense layers with every activation") {
  for (const std::string act : {"none", "relu", "gelu", "gelu_tanh"}) {
    for (const char* dtype : {"f32", "f64", "bf16"}) {
      for (const auto& [m, n, k] :
           std::vector<std::array<std::int64_t, 3>>{{1, 1, 1}, {7, 18, 9}, {6, 16, 4}, {2, 33, 0}}) {
        const std::string spec =
            "dense(m=" + str(m) + ",n=" + str(n) + ",k=" + str(k) + ",act=" + act + "):" + dtype;
        const Reference reference = [&, k = k](const Arrays& in, Arrays& out) {
          each_position(out[0].shape(), [&](const auto& at) {
            double v = in[2].get(at[1]);
            for (std::int64_t r = 0; r < k; ++r) v += in[0].get({at[0], r}) * in[1].get({r, at[1]});
            if (act == "relu") v = std::max(v, 0.0);
            if (act == "gelu") v = 0.5 * v * std::erfc(-v / std::sqrt(2.0));
            if (act == "gelu_tanh")
              v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
            out[0].set(at, v);
          });
        };
        CHECK(check_operator(spec, reference, Data::Integers, dtype[0] == 'b' ? 8e-3 : 1e-5) == "");
      }
    }
  }
}

TEST_CASE("three projections of one input") {
  for (const char* spec : {"qkv(m=5,k=7,n=17)", "qkv(m=1,k=1,n=1):f16", "qkv(m=6,k=8,n=16):i8"}) {
    CHECK(check_operator(spec, [](const Arrays& in, Arrays& out) {
            for (std::size_t p = 0; p < 3; ++p) {
              each_position(out[p].shape(), [&](const auto& at) {
                double total = 0;
                for (std::int64_t r = 0; r < in[0].shape()[1]; ++r)
                  total += in[0].get({at[0], r}) * in[1 + p].get({r, at[1]});
                out[p].set(at, total);
              });
            }
          }) == "");
  }
}

TEST_CASE("scores of heads, with and without softmax") {
  for (const char* args :
       {"b=1,seq=1,heads=1,dim=1", "b=2,seq=9,heads=3,dim=5", "b=1,seq=17,heads=2,dim=8"}) {
    for (bool softmax : {false, true}) {
      const Reference reference = [&](const Arrays& in, Arrays& out) {
        const std::int64_t seq = in[0].shape()[1], dim = in[0].shape()[3];
        each_position({in[0].shape()[0], in[0].shape()[2], seq}, [&](const auto& at) {
          double total = 0;
          for (std::int64_t j = 0; j < seq; ++j) {
            double score = 0;
            for (std::int64_t r = 0; r < dim; ++r)
              score += in[0].get({at[0], at[2], at[1], r}) * in[1].get({at[0], j, at[1], r});
            total += std::exp(score);
            out[0].set({at[0], at[1], at[2], j}, softmax ? std::exp(score) : score);
          }
          for (std::int64_t j = 0; softmax && j < seq; ++j) {
            const std::vector<std::int64_t> to = {at[0], at[1], at[2], j};
            out[0].set(to, out[0].get(to) / total);
          }
        });
      };
      const std::string spec =
          std::string("transpose_batch_matmul(") + args + ",softmax=" + (softmax ? "1)" : "0)");
      CHECK(check_operator(spec, reference, softmax ? Data::Reals : Data::Integers, softmax ? 1e-5 : 0) ==
            "");
    }
  }
}
