#include "sweep.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <stdexcept>

#include "sweep_features.h"

namespace lathe::bench {

using tuner::Decision;
using tuner::FeatureTable;
using tuner::Point;
using tuner::PointSet;
using tuner::PointView;

namespace {

struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

std::vector<std::string> fields(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  std::vector<std::string> result(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      result.emplace_back();
    } else {
      result.back() += c;
    }
  }
  return result;
}

Table read_table(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line))
    throw std::runtime_error(path.string() + ": cannot be read, or is empty");
  Table table{fields(line), {}};
  for (std::size_t number = 2; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    table.rows.push_back(fields(line));
    if (table.rows.back().size() != table.header.size()) {
      throw std::runtime_error(path.string() + ":" + std::to_string(number) + ": " +
                               std::to_string(table.rows.back().size()) + " fields under a header of " +
                               std::to_string(table.header.size()));
    }
  }
  return table;
}

// The number that `text` is, or NaN. The words for booleans count as 0 and 1.
double number(const std::string& text) {
  if (text == "True" || text == "true") return 1;
  if (text == "False" || text == "false") return 0;
  try {
    std::size_t used = 0;
    const double value = std::stod(text, &used);
    return used == text.size() ? value : NAN;
  } catch (const std::exception&) {
    return NAN;
  }
}

Parameter make_parameter(const Table& table, std::size_t column) {
  Parameter parameter;
  parameter.name = table.header[column];
  std::map<std::string, double> seen;
  for (const auto& row : table.rows) seen.emplace(row[column], number(row[column]));
  parameter.numeric =
      std::none_of(seen.begin(), seen.end(), [](const auto& s) { return std::isnan(s.second); });
  for (const auto& [text, value] : seen) {
    parameter.text.push_back(text);
    parameter.value.push_back(value);
  }
  if (parameter.numeric) {
    std::stable_sort(parameter.text.begin(), parameter.text.end(),
                     [](const auto& a, const auto& b) { return number(a) < number(b); });
    std::sort(parameter.value.begin(), parameter.value.end());
  } else {
    for (std::size_t i = 0; i < parameter.value.size(); ++i) parameter.value[i] = static_cast<double>(i);
  }
  return parameter;
}

}  // namespace

Sweep::Sweep(const std::filesystem::path& path) : name_(path.stem().string()) {
  Table table = read_table(path);
  std::size_t time_column = table.header.size() - 1;
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    if (table.header[c] == "time") time_column = c;
  }
  std::erase_if(table.rows, [&](const auto& row) {
    const double time = number(row[time_column]);
    return !(time > 0 && std::isfinite(time));
  });
  if (table.rows.empty()) throw std::runtime_error(path.string() + ": no row has a time");

  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    if (c == time_column) continue;
    Parameter parameter = make_parameter(table, c);
    if (parameter.value.size() < 2) continue;
    columns.push_back(c);
    const bool ordinal = parameter.numeric && parameter.value.size() > 2;
    decisions_.push_back({parameter.name, ordinal ? Decision::Kind::Ordinal : Decision::Kind::Categorical,
                          static_cast<std::int32_t>(parameter.value.size()),
                          static_cast<int>(decisions_.size())});
    parameters_.push_back(std::move(parameter));
  }
  points_ = PointSet(columns.size());
  Point point(columns.size());
  for (const auto& row : table.rows) {
    for (std::size_t d = 0; d < columns.size(); ++d) {
      const auto& text = parameters_[d].text;
      point[d] =
          static_cast<std::int32_t>(std::find(text.begin(), text.end(), row[columns[d]]) - text.begin());
    }
    if (!row_.emplace(key(point), static_cast<std::uint32_t>(points_.size())).second) continue;
    points_.add(point);
    time_.push_back(number(row[time_column]));
  }
  best_ = *std::min_element(time_.begin(), time_.end());
  describe_ = std::make_unique<SweepFeatures>(parameters_);
  features_ = FeatureTable(describe_->width());
  embedding_width_ = describe_->embedding_width();
  embedding_.resize(points_.size() * embedding_width_);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const std::vector<double> values = values_of(*this, points_[i]);
    describe_->fill(values, features_.add_row());
    features_.end_program();
    describe_->embed(values, std::span(embedding_).subspan(i * embedding_width_, embedding_width_));
  }
}

Sweep::~Sweep() = default;

std::string Sweep::kernel() const { return name_.substr(0, name_.find('.')); }

bool Sweep::same_parameters(const Sweep& other) const {
  return std::equal(
      parameters_.begin(), parameters_.end(), other.parameters_.begin(), other.parameters_.end(),
      [](const Parameter& a, const Parameter& b) { return a.name == b.name && a.numeric == b.numeric; });
}

// Numbers are what they are everywhere; a word is its rank here, or −1 where this sweep does not know it.
std::vector<double> Sweep::values_of(const Sweep& other, PointView point) const {
  std::vector<double> values;
  for (std::size_t d = 0; d < point.size(); ++d) {
    const Parameter& theirs = other.parameters_[d];
    if (theirs.numeric) {
      values.push_back(theirs.value[point[d]]);
      continue;
    }
    const auto& text = parameters_[d].text;
    const auto at = std::find(text.begin(), text.end(), theirs.text[point[d]]);
    values.push_back(at == text.end() ? -1 : static_cast<double>(at - text.begin()));
  }
  return values;
}

tuner::Dataset Sweep::learn_from(const Sweep& other) const {
  tuner::Dataset data;
  FeatureTable table(feature_width());
  for (std::size_t i = 0; i < other.size(); ++i) {
    describe_->fill(values_of(other, other.points_[i]), table.add_row());
    table.end_program();
    data.add(table, i, static_cast<float>(other.best_ / other.time_[i]));
  }
  return data;
}

std::int32_t Sweep::options(std::size_t d, PointView) const { return decisions_[d].max_options; }

void Sweep::filter(const PointSet& points, std::span<std::uint8_t> keep) const {
  for (std::size_t i = 0; i < points.size(); ++i) keep[i] = row_.count(key(points[i])) != 0;
}

void Sweep::features(const PointSet& points, FeatureTable& table) const {
  for (std::size_t i = 0; i < points.size(); ++i) table.append(features_, row_of(points[i]));
}

void Sweep::embed(const PointSet& points, std::span<float> rows) const {
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::copy_n(&embedding_[row_of(points[i]) * embedding_width_], embedding_width_,
                &rows[i * embedding_width_]);
  }
}

Point Sweep::sample(tuner::Random& random) const {
  const PointView point = points_[random.below(points_.size())];
  return Point(point.begin(), point.end());
}

}  // namespace lathe::bench
