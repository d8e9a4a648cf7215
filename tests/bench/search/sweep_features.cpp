#include "sweep_features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "sweep.h"

namespace lathe::bench {
namespace {

enum class Role { Other, Threads, Work };

// Role and axis of a parameter, from what such parameters are usually called.
struct Meaning {
  Role role = Role::Other;
  std::string axis;
};

Meaning meaning_of(const std::string& name) {
  static const std::map<std::string, Meaning, std::less<>> exact = {{"MDIMC", {Role::Threads, "m"}},
                                                                    {"NDIMC", {Role::Threads, "n"}},
                                                                    {"block_size", {Role::Threads, "x"}},
                                                                    {"tile_size", {Role::Work, "x"}}};
  if (auto it = exact.find(name); it != exact.end()) return it->second;
  for (std::string_view prefix :
       {"block_size_", "block_dim_", "blockDim_", "threads_", "local_size_", "thread_block_"}) {
    if (name.starts_with(prefix)) return {Role::Threads, name.substr(prefix.size())};
  }
  for (std::string_view prefix : {"tile_size_", "work_per_thread_", "elements_per_thread_", "tile_"}) {
    if (name.starts_with(prefix) && name.size() == prefix.size() + 1)
      return {Role::Work, name.substr(prefix.size())};
  }
  return {};
}

// log2 of what is left of a size after all factors of two: 0 for a power of two. Tiles of such sizes divide
// the usual problems, align with warps and cache lines, and spare the kernel its guards.
double odd_part(double size) {
  double odd = std::floor(size);
  while (odd >= 2 && std::fmod(odd, 2) == 0) odd /= 2;
  return std::log2(std::max(odd, 1.0));
}

// sign·log2(1 + |x|): counts become additive, and zero stays zero.
double slog2(double x) { return x >= 0 ? std::log2(1 + x) : -std::log2(1 - x); }

// 0, 1, 2, … without a gap may be the names of methods rather than amounts.
bool may_be_code(const Parameter& p) {
  for (std::size_t i = 0; i < p.value.size(); ++i) {
    if (p.value[i] != static_cast<double>(i)) return false;
  }
  return p.value.size() > 2;
}

}  // namespace

SweepFeatures::SweepFeatures(const std::vector<Parameter>& parameters) : parameters_(parameters) {
  std::vector<Meaning> meanings;
  for (std::size_t d = 0; d < parameters.size(); ++d) {
    const Parameter& p = parameters[d];
    meanings.push_back(meaning_of(p.name));
    if (p.numeric && p.value.front() >= 0 && p.value.back() >= 2) sizes_.push_back(d);
  }
  for (std::size_t d : sizes_) {
    const auto& values = parameters[d].value;
    if (std::any_of(values.begin(), values.end(), [](double v) { return odd_part(v) > 0; }))
      odd_.push_back(d);
  }

  Product work, tile;
  std::map<std::string, Product> axis_tile;
  for (std::size_t d : sizes_) {
    const Meaning& meaning = meanings[d];
    if (meaning.role == Role::Other) continue;
    (meaning.role == Role::Threads ? threads_ : work).factors.push_back({d, 1});
    tile.factors.push_back({d, 1});
    axis_tile[meaning.axis].factors.push_back({d, 1});
  }
  auto add = [&](Product product) {
    if (product.factors.size() > 1) products_.push_back(std::move(product));
  };
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    for (std::size_t j = i + 1; j < sizes_.size(); ++j) {
      add({{{sizes_[i], 1}, {sizes_[j], 1}}});
      add({{{sizes_[i], 1}, {sizes_[j], -1}}});
    }
  }
  add(threads_);
  add(work);
  add(tile);
  auto column = [&](std::string_view name) {
    for (std::size_t d : sizes_) {
      if (parameters[d].name == name) return d;
    }
    return parameters.size();
  };
  auto named = [&](std::vector<std::pair<const char*, double>> factors) {
    Product product;
    for (auto& [name, exponent] : factors) {
      const std::size_t d = column(name);
      if (d == parameters.size()) return;
      product.factors.push_back({d, exponent});
    }
    add(product);
  };
  named({{"MWG", 1}, {"NWG", 1}, {"MDIMC", -1}, {"NDIMC", -1}});  // accumulators of a thread
  named({{"MWG", 1}, {"MDIMC", -1}, {"VWM", -1}});                // vectors of a thread along m
  named({{"NWG", 1}, {"NDIMC", -1}, {"VWN", -1}});
  named({{"MDIMC", 1}, {"NDIMC", 1}, {"MDIMA", -1}});  // rows loaded at once
  named({{"MDIMC", 1}, {"NDIMC", 1}, {"NDIMB", -1}});
  named({{"MWG", 1}, {"MDIMA", -1}, {"VWM", -1}});
  named({{"NWG", 1}, {"NDIMB", -1}, {"VWN", -1}});
  for (auto& [axis, product] : axis_tile) {
    if (product.factors.size() > 1) odd_products_.push_back(product);
  }
  width_ = parameters.size() + odd_.size() + odd_products_.size() + products_.size() +
           (threads_.factors.empty() ? 0 : 2);

  for (const Parameter& p : parameters) {
    embedding_width_ += p.numeric;
    if (!p.numeric || may_be_code(p)) embedding_width_ += p.value.size();
  }
  for (const Product& product : {threads_, work}) {
    if (product.factors.size() > 1) sums_.push_back(product);
  }
  sums_.insert(sums_.end(), odd_products_.begin(), odd_products_.end());
  embedding_width_ += odd_.size() + sums_.size();
  for (const Parameter& p : parameters) {
    double sum = 0, square = 0;
    for (double v : p.value) {
      const double x = slog2(v);
      sum += x;
      square += x * x;
    }
    const double mean = sum / p.value.size();
    centre_.push_back(static_cast<float>(mean));
    scale_.push_back(
        static_cast<float>(1 / std::sqrt(std::max(square / p.value.size() - mean * mean, 1e-12))));
  }
}

double SweepFeatures::log2_of(const Product& product, std::span<const double> values) const {
  double sum = 0;
  for (const auto& [d, exponent] : product.factors) sum += exponent * std::log2(std::max(values[d], 0.5));
  return sum;
}

double SweepFeatures::odd_of(const Product& product, std::span<const double> values) const {
  double sum = 0;
  for (const auto& [d, exponent] : product.factors) sum += odd_part(values[d]);
  return sum;
}

void SweepFeatures::fill(std::span<const double> values, std::span<float> row) const {
  std::size_t c = 0;
  for (std::size_t d = 0; d < parameters_.size(); ++d) {
    row[c++] = static_cast<float>(slog2(values[d]));
  }
  for (std::size_t d : odd_) row[c++] = static_cast<float>(odd_part(values[d]));
  for (const Product& product : odd_products_) row[c++] = static_cast<float>(odd_of(product, values));
  for (const Product& product : products_) row[c++] = static_cast<float>(log2_of(product, values));
  if (!threads_.factors.empty()) {
    const double threads = std::exp2(log2_of(threads_, values)), warps = std::ceil(threads / 32);
    row[c++] = static_cast<float>(std::log2(warps));
    row[c++] = static_cast<float>(threads / (32 * warps));
  }
}

// Of sizes that were drawn apart from each other.
float SweepFeatures::standardised(const Product& product, std::span<const double> values) const {
  float sum = 0, variance = 0;
  for (const auto& [d, exponent] : product.factors) {
    sum += static_cast<float>(slog2(values[d])) - centre_[d];
    variance += 1 / (scale_[d] * scale_[d]);
  }
  return sum / std::sqrt(variance);
}

// A column a number, standardised over the options; a column an option for words and codes; whether a size has odd
// factors; and the threads, the work of a thread and the tile along each axis, which a distance between the sizes alone
// does not see: 256 x 1 threads are as many as 16 x 16.
void SweepFeatures::embed(std::span<const double> values, std::span<float> row) const {
  std::size_t c = 0;
  for (std::size_t d = 0; d < parameters_.size(); ++d) {
    const Parameter& p = parameters_[d];
    if (p.numeric) row[c++] = (static_cast<float>(slog2(values[d])) - centre_[d]) * scale_[d];
    if (p.numeric && !may_be_code(p)) continue;
    for (double option : p.value) row[c++] = option == values[d];
  }
  for (std::size_t d : odd_) row[c++] = odd_part(values[d]) > 0;
  for (const Product& product : sums_) row[c++] = standardised(product, values);
}

}  // namespace lathe::bench
