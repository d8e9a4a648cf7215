#pragma once
// What a cost model is told of a configuration of a measured sweep.
//
// The parameters' names say which roles they play on a GPU: `block_size_x`, `MDIMC` are threads,
// `tile_size_x`, `VWM` work of one thread. Of a known role the usual quantities are derived: threads of a
// block, their fill of warps, outputs of a thread and of a block along an axis. Whatever the names, every
// size is there with its products and ratios with the others (in logarithms, where a product is a sum).

#include <span>
#include <vector>

#include "tuner/search/decision_space.h"

namespace lathe::bench {

struct Parameter;

class SweepFeatures {
 public:
  explicit SweepFeatures(const std::vector<Parameter>& parameters);
  std::size_t width() const { return width_; }
  /// From one value a parameter (for words, their rank), which need not be among the options.
  void fill(std::span<const double> values, std::span<float> row) const;
  std::size_t embedding_width() const { return embedding_width_; }
  void embed(std::span<const double> values, std::span<float> row) const;

 private:
  struct Product {
    std::vector<std::pair<std::size_t, double>> factors;  // parameter, exponent
  };
  double odd_of(const Product& product, std::span<const double> values) const;
  double log2_of(const Product& product, std::span<const double> values) const;
  float standardised(const Product& product, std::span<const double> values) const;

  const std::vector<Parameter>& parameters_;
  std::vector<std::size_t> sizes_;  // parameters that count something: not only 0 and 1, nothing negative
  std::vector<std::size_t> odd_;    // those of them that are not always powers of two
  std::vector<Product> products_;
  std::vector<Product> odd_products_;
  Product threads_;
  std::size_t width_ = 0, embedding_width_ = 0;
  std::vector<float> centre_, scale_;
  std::vector<Product> sums_;  // products that are columns of the embedding: sums of its logarithms
};

}  // namespace lathe::bench
