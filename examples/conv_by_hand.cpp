// A convolution with bias and ReLU, scheduled by hand (conv_schedule.h), checked and measured.
//
//     conv_by_hand [SIZE = 56] [CHANNELS = 64]

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "conv_schedule.h"
#include "lathe/compile.h"
#include "lathe/runtime/fill.h"
#include "lathe/runtime/timer.h"

using namespace lathe;

int main(int argc, char** argv) {
  const std::int64_t size = argc > 1 ? std::atoll(argv[1]) : 56,
                     channels = argc > 2 ? std::atoll(argv[2]) : 64;
  if (size < 1 || channels < 1) {
    std::fprintf(stderr, "usage: conv_by_hand [SIZE >= 1] [CHANNELS >= 1]\n");
    return 2;
  }
  const examples::Convolution c(size, channels, channels, /*packed=*/false);
  Schedule s(c.program());
  const Kernel plain = compile(s, Target::host());
  examples::schedule_convolution(s, c, /*pixels=*/6);
  std::printf("%s\n", to_string(s.program()).c_str());
  const Kernel scheduled = compile(s, Target::host());

  runtime::Tensor x(f32, {size, size, channels}), w(f32, {3, 3, channels, channels}), bias(f32, {channels}),
      want(f32, {size, size, channels}), out(f32, {size, size, channels});
  runtime::fill_integers(x, 1);
  runtime::fill_integers(w, 2);
  runtime::fill_integers(bias, 3);
  plain({&x, &w, &bias, &want});
  double best = 1e30;
  for (int run = 0; run < 10; ++run) {
    runtime::fill_poison(out);
    runtime::Timer timer;
    scheduled({&x, &w, &bias, &out});
    best = std::min(best, timer.seconds());
  }
  if (!std::ranges::equal(out.as<float>(), want.as<float>())) {
    std::printf("wrong result\n");
    return 1;
  }
  const double flops = 2.0 * 9 * static_cast<double>(size * size * channels * channels);
  std::printf("%.2f GF/s\n", flops / best / 1e9);
}
