#include "tuner/model/features.h"

#include "lathe/error.h"

namespace lathe::tuner {

void FeatureTable::append(const FeatureTable& other, std::size_t index) {
  internal_check(other.width_ == width_, "feature tables of different widths");
  values_.insert(values_.end(), other.values_.begin() + other.first_row_[index] * width_,
                 other.values_.begin() + other.first_row_[index + 1] * width_);
  end_program();
}

void Dataset::add(const FeatureTable& table, std::size_t index, float y, std::uint64_t workload_hash) {
  if (label.empty() && features.width() != table.width()) features = FeatureTable(table.width());
  features.append(table, index);
  label.push_back(y);
  workload.push_back(workload_hash);
}

}  // namespace lathe::tuner
