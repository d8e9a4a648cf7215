#pragma once
// Features: what a cost model sees of a program.
//
// A program is a variable number of statement rows (one for each innermost store), each of the same fixed
// width. A model sums over a program's rows: trees in their output ("pack-sum"), networks in a hidden layer
// ("segment sum").
//
//     program 0   row 0   [ f0 f1 … ]        first_row = {0, 2, 3}
//                 row 1   [ f0 f1 … ]
//     program 1   row 2   [ f0 f1 … ]
//
// A label is y = t_min(workload) / t in (0, 1]; a candidate that failed has y = 0.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lathe::tuner {

class FeatureTable {
 public:
  explicit FeatureTable(std::size_t width = 0) : width_(width) {}

  std::size_t width() const { return width_; }
  std::size_t rows() const { return width_ == 0 ? 0 : values_.size() / width_; }
  std::size_t programs() const { return first_row_.size() - 1; }

  /// Appends a row of zeros to the program being built and returns it for filling; valid until the next call.
  std::span<float> add_row() {
    values_.resize(values_.size() + width_);
    return std::span(values_).last(width_);
  }
  /// Ends the program whose rows were added since the last call. A program without rows is legal.
  void end_program() { first_row_.push_back(static_cast<std::uint32_t>(rows())); }

  /// Appends program `index` of `other`, which has the same width.
  void append(const FeatureTable& other, std::size_t index);

  std::span<const float> row(std::size_t r) const { return std::span(values_).subspan(r * width_, width_); }
  std::size_t first_row(std::size_t program) const { return first_row_[program]; }
  const float* data() const { return values_.data(); }

  /// Removes all programs; the width stays and so does the memory.
  void clear() {
    values_.clear();
    first_row_.assign(1, 0);
  }

 private:
  std::size_t width_;
  std::vector<float> values_;
  std::vector<std::uint32_t> first_row_{0};
};

/// Measured programs to learn from, of one workload or of several.
struct Dataset {
  FeatureTable features;
  std::vector<float> label;  ///< y, one a program
  std::vector<std::uint64_t>
      workload;  ///< hash of the workload, one a program; programs are ranked within one

  std::size_t size() const { return label.size(); }
  /// Appends program `index` of `table`.
  void add(const FeatureTable& table, std::size_t index, float y, std::uint64_t workload_hash = 0);
};

}  // namespace lathe::tuner
