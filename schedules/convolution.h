#pragma once
// Convolutions as parts of larger operators.

#include "schedules/library.h"

namespace lathe::library {

/// Which layout a key `layout` asks for: the first word has the channels last, the second first.
inline WorkloadParam layout_param(const std::string& last = "nhwc", const std::string& first = "nchw") {
  return {"layout", 0, "where the channels are", {last, first}};
}
/// Keys of the sizes of images.
inline std::vector<WorkloadParam> image_params(std::int64_t size = 56) {
  return {{"n", 1, "images"}, {"h", size, "height"}, {"w", size, "width"}};
}
/// All keys of a convolution: `sizes`, ci, co, the window's, groups, layout.
std::vector<WorkloadParam> convolution_params(const std::vector<WorkloadParam>& sizes, std::int64_t k,
                                              std::int64_t s, std::int64_t p,
                                              const WorkloadParam& layout = layout_param());
/// The same without the layout: channels last.
std::vector<WorkloadParam> channels_last_params(const std::vector<WorkloadParam>& sizes, std::int64_t k,
                                                std::int64_t s, std::int64_t p);

struct Convolution {
  std::int64_t n, ci, co, groups;
  bool channels_first;
  std::vector<Window> window;  ///< one a spatial dimension

  std::vector<Expr> input_shape() const { return image(ci, false); }
  std::vector<Expr> output_shape() const { return image(co, true); }
  std::vector<Expr> weights_shape() const;
  /// The dimension of an image in which its channels are.
  std::size_t channel_dimension() const { return channels_first ? 1 : window.size() + 1; }
  /// The convolution of x (padded in a compute of its own) in the wide type.
  Tensor apply(const Tensor& x, const Tensor& weights) const;

 private:
  std::vector<Expr> image(std::int64_t channels, bool out) const;
};
/// From the keys of `convolution_params` or `channels_last_params`; checks that they fit (LTH-W004). `sizes` are the keys of the spatial dimensions.
Convolution convolution(const WorkloadArgs& args, const std::vector<std::string>& sizes);

}  // namespace lathe::library
