#include "tuner/model/trees.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "lathe/error.h"
#include "tuner/model/model_file.h"

namespace lathe::tuner {
namespace {

// The training rows with every feature cut into bins: code b of feature f means value <= cut(f, b) and >
// cut(f, b-1).
class BinnedRows {
 public:
  BinnedRows(const FeatureTable& features, int bins) : rows_(features.rows()) {
    const std::size_t width = features.width();
    std::vector<float> column(rows_);
    for (std::size_t f = 0; f < width; ++f) {
      for (std::size_t r = 0; r < rows_; ++r) column[r] = features.row(r)[f];
      std::vector<float> cuts = cut(column, bins);
      if (cuts.empty()) continue;  // constant: of no use, and not even stored
      features_.push_back(static_cast<std::int32_t>(f));
      first_bin_.push_back(static_cast<std::int32_t>(total_bins_));
      total_bins_ += cuts.size() + 1;
      cuts_.push_back(std::move(cuts));
    }
    codes_.resize(rows_ * features_.size());
    for (std::size_t r = 0; r < rows_; ++r) {
      const std::span<const float> row = features.row(r);
      for (std::size_t c = 0; c < features_.size(); ++c) {
        const std::vector<float>& cuts = cuts_[c];
        codes_[r * features_.size() + c] = static_cast<std::uint8_t>(
            std::lower_bound(cuts.begin(), cuts.end(), row[features_[c]]) - cuts.begin());
      }
    }
  }

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return features_.size(); }
  std::int32_t feature(std::size_t c) const { return features_[c]; }
  std::size_t first_bin(std::size_t c) const { return first_bin_[c]; }
  std::size_t bins(std::size_t c) const { return cuts_[c].size() + 1; }
  std::size_t total_bins() const { return total_bins_; }
  float threshold(std::size_t c, std::size_t bin) const { return cuts_[c][bin]; }
  const std::uint8_t* codes(std::size_t row) const { return &codes_[row * features_.size()]; }

 private:
  // Cuts halfway between neighbouring distinct values; where there are too many, between quantiles.
  static std::vector<float> cut(std::vector<float>& column, int bins) {
    std::sort(column.begin(), column.end());
    std::vector<float> distinct(column);
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    std::vector<float> cuts;
    if (distinct.size() <= static_cast<std::size_t>(bins)) {
      for (std::size_t i = 1; i < distinct.size(); ++i) cuts.push_back(between(distinct[i - 1], distinct[i]));
      return cuts;
    }
    for (int b = 1; b < bins; ++b) {
      const float at = column[column.size() * b / bins];
      const auto next = std::upper_bound(distinct.begin(), distinct.end(), at);
      if (next == distinct.end()) break;
      const float c = between(at, *next);
      if (cuts.empty() || c > cuts.back()) cuts.push_back(c);
    }
    return cuts;
  }
  static float between(float low, float high) {
    const float middle = low + (high - low) / 2;
    return middle < high ? middle : low;
  }

  std::size_t rows_, total_bins_ = 0;
  std::vector<std::int32_t> features_, first_bin_;
  std::vector<std::vector<float>> cuts_;
  std::vector<std::uint8_t> codes_;
};

struct Sum {
  float gradient = 0, hessian = 0, count = 0;
  Sum& operator+=(const Sum& o) {
    gradient += o.gradient;
    hessian += o.hessian;
    count += o.count;
    return *this;
  }
  Sum operator-(const Sum& o) const { return {gradient - o.gradient, hessian - o.hessian, count - o.count}; }
};

struct TreeSplit {
  float gain = 0;
  std::size_t column = 0, bin = 0;
};

}  // namespace

// Grows one tree at a time, depth by depth. A node owns a stretch of `rows_`, which a split partitions in
// place.
class TreeGrower {
 public:
  TreeGrower(const FeatureTable& features, const TreeOptions& options)
      : options_(options), binned_(features, std::clamp(options.bins, 2, 255)), columns_(binned_.columns()) {
    std::iota(columns_.begin(), columns_.end(), std::size_t{0});
  }

  // `gradient` and `hessian` are one a row; rows outside `sample` are left out. Adds the tree's values to
  // `output`.
  TreeEnsemble::Tree grow(std::span<const float> gradient, std::span<const float> hessian,
                          std::vector<std::uint32_t> sample, Random& random, std::vector<float>& importance) {
    gradient_ = gradient;
    hessian_ = hessian;
    rows_ = std::move(sample);
    pick_columns(random);
    const std::size_t internal = (std::size_t{1} << options_.depth) - 1;
    TreeEnsemble::Tree tree;
    tree.feature.assign(internal, 0);
    tree.threshold.assign(internal, std::numeric_limits<float>::infinity());
    tree.leaf.assign(internal + 1, 0);
    importance_ = &importance;
    Histogram histogram;
    if (!is_small(rows_.size())) histogram = make_histogram(0, rows_.size());
    grow_node(tree, 0, 0, rows_.size(), std::move(histogram));
    return tree;
  }

 private:
  using Histogram = std::vector<Sum>;

  void pick_columns(Random& random) {
    const double share = std::clamp<double>(options_.column_sample, 0, 1);
    used_ = std::max<std::size_t>(1, static_cast<std::size_t>(share * columns_.size() + 0.5));
    used_ = std::min(used_, columns_.size());
    if (used_ == columns_.size()) return;
    for (std::size_t i = 0; i < used_; ++i)
      std::swap(columns_[i], columns_[i + random.below(columns_.size() - i)]);
  }

  Histogram make_histogram(std::size_t begin, std::size_t end) const {
    Histogram histogram(binned_.total_bins());
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t row = rows_[i];
      const std::uint8_t* codes = binned_.codes(row);
      const Sum one{gradient_[row], hessian_[row], 1};
      for (std::size_t k = 0; k < used_; ++k) {
        const std::size_t c = columns_[k];
        histogram[binned_.first_bin(c) + codes[c]] += one;
      }
    }
    return histogram;
  }

  // The histogram of a node without the rows of one of its children is that of the other.
  void remove_rows(Histogram& histogram, std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t row = rows_[i];
      const std::uint8_t* codes = binned_.codes(row);
      const Sum one{gradient_[row], hessian_[row], 1};
      for (std::size_t k = 0; k < used_; ++k) {
        Sum& bin = histogram[binned_.first_bin(columns_[k]) + codes[columns_[k]]];
        bin = bin - one;
      }
    }
  }

  // Where a node has fewer rows than a column has bins, most bins are empty: its rows are looked at instead.
  bool is_small(std::size_t rows) const { return rows * binned_.columns() < binned_.total_bins(); }

  Sum total(std::size_t begin, std::size_t end) const {
    Sum sum;
    for (std::size_t i = begin; i < end; ++i) sum += Sum{gradient_[rows_[i]], hessian_[rows_[i]], 1};
    return sum;
  }

  float score(const Sum& s) const { return s.gradient * s.gradient / (s.hessian + options_.lambda); }

  TreeSplit best_split(const Histogram& histogram, const Sum& all) const {
    TreeSplit best;
    best.gain = 1e-7f;
    const float parent = score(all);
    for (std::size_t k = 0; k < used_; ++k) {
      const std::size_t c = columns_[k];
      Sum left;
      for (std::size_t b = 0; b + 1 < binned_.bins(c); ++b) {
        left += histogram[binned_.first_bin(c) + b];
        if (left.count < options_.min_child) continue;
        const Sum right = all - left;
        if (right.count < options_.min_child) break;
        const float gain = score(left) + score(right) - parent;
        if (gain > best.gain) best = {gain, c, b};
      }
    }
    return best;
  }

  // The same without a histogram: only the bins that the rows fall into are visited, in order.
  TreeSplit best_split_of_few(std::size_t begin, std::size_t end, const Sum& all) const {
    TreeSplit best;
    best.gain = 1e-7f;
    const float parent = score(all);
    std::array<Sum, 256> bins;
    for (std::size_t k = 0; k < used_; ++k) {
      const std::size_t c = columns_[k];
      std::array<std::uint64_t, 4> met{};
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint32_t row = rows_[i];
        const std::uint8_t code = binned_.codes(row)[c];
        const std::uint64_t bit = std::uint64_t{1} << (code % 64);
        if ((met[code / 64] & bit) == 0) bins[code] = {};
        met[code / 64] |= bit;
        bins[code] += Sum{gradient_[row], hessian_[row], 1};
      }
      Sum left;
      for (std::size_t word = 0; word < met.size(); ++word) {
        for (std::uint64_t rest = met[word]; rest != 0; rest &= rest - 1) {
          const std::size_t b = 64 * word + static_cast<std::size_t>(std::countr_zero(rest));
          left += bins[b];
          const Sum right = all - left;
          if (left.count < options_.min_child || right.count < std::max(options_.min_child, 1.0f)) continue;
          const float gain = score(left) + score(right) - parent;
          if (gain > best.gain) best = {gain, c, b};
        }
      }
    }
    return best;
  }

  // `histogram` is read only of nodes that are not small.
  void grow_node(TreeEnsemble::Tree& tree, std::size_t node, std::size_t begin, std::size_t end,
                 Histogram histogram) {
    const std::size_t internal = tree.feature.size();
    const Sum all = total(begin, end);
    TreeSplit split;
    const bool splittable = node < internal && all.count >= 2 * options_.min_child && used_ > 0;
    if (splittable)
      split = is_small(end - begin) ? best_split_of_few(begin, end, all) : best_split(histogram, all);
    if (!splittable || split.gain <= 1e-7f) {
      while (node < internal) node = 2 * node + 1;
      tree.leaf[node - internal] = -options_.learning_rate * all.gradient / (all.hessian + options_.lambda);
      return;
    }
    tree.feature[node] = binned_.feature(split.column);
    tree.threshold[node] = binned_.threshold(split.column, split.bin);
    (*importance_)[tree.feature[node]] += split.gain;
    const auto middle_it = std::stable_partition(
        rows_.begin() + begin, rows_.begin() + end,
        [&](std::uint32_t row) { return binned_.codes(row)[split.column] <= split.bin; });
    const std::size_t middle = middle_it - rows_.begin();
    // The smaller child's histogram is counted, the larger one's is what is left of the node's own.
    const bool left_smaller = middle - begin <= end - middle;
    const auto [small_begin, small_end] = left_smaller ? std::pair(begin, middle) : std::pair(middle, end);
    Histogram smaller;
    if (2 * node + 1 < internal && !is_small((end - begin) - (small_end - small_begin))) {
      if (!is_small(small_end - small_begin)) smaller = make_histogram(small_begin, small_end);
      remove_rows(histogram, small_begin, small_end);
    }
    if (!left_smaller) std::swap(histogram, smaller);
    grow_node(tree, 2 * node + 1, begin, middle, std::move(smaller));
    grow_node(tree, 2 * node + 2, middle, end, std::move(histogram));
  }

  const TreeOptions& options_;
  BinnedRows binned_;
  std::vector<std::size_t> columns_;  // the first used_ are those of the present tree
  std::size_t used_ = 0;
  std::span<const float> gradient_, hessian_;
  std::vector<std::uint32_t> rows_;
  std::vector<float>* importance_ = nullptr;
};

namespace {

// Every row of a program carries the program's gradient.
void spread_to_rows(const FeatureTable& features, std::span<const float> program, std::span<float> row) {
  for (std::size_t p = 0; p < features.programs(); ++p) {
    for (std::size_t r = features.first_row(p); r < features.first_row(p + 1); ++r) row[r] = program[p];
  }
}

std::vector<std::uint32_t> sample_rows(const FeatureTable& features, float share, Random& random) {
  std::vector<std::uint32_t> rows;
  for (std::size_t p = 0; p < features.programs(); ++p) {
    if (share < 1 && !random.chance(share)) continue;
    for (std::size_t r = features.first_row(p); r < features.first_row(p + 1); ++r) {
      rows.push_back(static_cast<std::uint32_t>(r));
    }
  }
  return rows;
}

}  // namespace

void TreeEnsemble::fit(const Dataset& data, const TreeOptions& options, std::span<const float> base) {
  *this = {};
  width_ = data.features.width();
  depth_ = options.depth;
  importance_.assign(width_, 0);
  const std::size_t n = data.size();
  if (n == 0) return;

  const bool rank = options.loss == TreeOptions::Loss::Rank;
  std::vector<float> score(n, 0), gradient(n), hessian(n, 1);
  if (!base.empty()) score.assign(base.begin(), base.end());
  if (!rank) {
    double mean = 0;
    for (std::size_t i = 0; i < n; ++i) mean += data.label[i] - score[i];
    base_score_ = static_cast<float>(mean / n);
    for (float& s : score) s += base_score_;
  }

  Random random(options.seed);
  TreeGrower grower(data.features, options);
  std::vector<float> row_gradient(data.features.rows()), row_hessian(data.features.rows());
  TreeEnsemble last;
  last.width_ = width_;
  last.depth_ = depth_;
  for (int t = 0; t < options.trees; ++t) {
    if (rank) {
      rank_gradients(data.label, data.workload, score, options.rank, random, gradient, hessian);
    } else {
      for (std::size_t i = 0; i < n; ++i) gradient[i] = score[i] - data.label[i];
    }
    spread_to_rows(data.features, gradient, row_gradient);
    spread_to_rows(data.features, hessian, row_hessian);
    last.trees_.assign(
        1, grower.grow(row_gradient, row_hessian, sample_rows(data.features, options.row_sample, random),
                       random, importance_));
    last.predict(data.features, score);
    trees_.push_back(std::move(last.trees_[0]));
  }
}

void TreeEnsemble::predict(const FeatureTable& features, std::span<float> score) const {
  internal_check(features.width() == width_, "features of another width than the trees were fitted on");
  internal_check(score.size() == features.programs(), "one score a program");
  constexpr std::size_t Block = 64;
  std::vector<float> row_score(features.rows(), 0);
  for (std::size_t begin = 0; begin < features.rows(); begin += Block) {
    const std::size_t count = std::min(Block, features.rows() - begin);
    const float* rows = features.data() + begin * width_;
    for (const Tree& tree : trees_) {
      std::uint32_t node[Block] = {};
      for (int level = 0; level < depth_; ++level) {
        for (std::size_t i = 0; i < count; ++i) {
          const std::uint32_t k = node[i];
          node[i] = 2 * k + 1 + (rows[i * width_ + tree.feature[k]] > tree.threshold[k]);
        }
      }
      const std::size_t internal = tree.feature.size();
      for (std::size_t i = 0; i < count; ++i) row_score[begin + i] += tree.leaf[node[i] - internal];
    }
  }
  for (std::size_t p = 0; p < features.programs(); ++p) {
    float sum = base_score_;
    for (std::size_t r = features.first_row(p); r < features.first_row(p + 1); ++r) sum += row_score[r];
    score[p] += sum;
  }
}

void TreeEnsemble::save(ByteWriter& out) const {
  out.word(width_);
  out.word(static_cast<std::uint64_t>(depth_));
  out.real(base_score_);
  out.floats(importance_);
  out.word(trees_.size());
  for (const Tree& tree : trees_) {
    out.integers(tree.feature);
    out.floats(tree.threshold);
    out.floats(tree.leaf);
  }
}

TreeEnsemble TreeEnsemble::load(ByteReader& in) {
  TreeEnsemble result;
  result.width_ = in.word();
  const std::uint64_t depth = in.word();
  in.require(depth <= 16);
  result.depth_ = static_cast<int>(depth);
  result.base_score_ = in.real();
  result.importance_ = in.floats();
  const std::uint64_t count = in.word();
  const std::size_t internal = (std::size_t{1} << depth) - 1;
  for (std::uint64_t t = 0; t < count; ++t) {
    Tree tree{in.integers(), in.floats(), in.floats()};
    in.require(tree.feature.size() == internal && tree.threshold.size() == internal &&
               tree.leaf.size() == internal + 1);
    for (std::int32_t f : tree.feature) in.require(f >= 0 && static_cast<std::uint64_t>(f) < result.width_);
    result.trees_.push_back(std::move(tree));
  }
  return result;
}

}  // namespace lathe::tuner
