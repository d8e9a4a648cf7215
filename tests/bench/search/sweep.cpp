#include "sweep.h"

#include <algorithm>
#include <cctype>
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
  if (line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // a byte-order mark
  Table table{fields(line), {}};
  for (std::size_t number = 2; std::getline(file, line); ++number) {
    if (line.empty() || line == "\r") continue;
    table.rows.push_back(fields(line));
    if (table.rows.back().size() != table.header.size()) {
      throw std::runtime_error(path.string() + ":" + std::to_string(number) + ": " +
                               std::to_string(table.rows.back().size()) + " fields under a header of " +
                               std::to_string(table.header.size()));
    }
  }
  return table;
}

// The finite number that `text` is, or NaN. The words for booleans count as 0 and 1.
double number(const std::string& text) {
  if (text == "True" || text == "true") return 1;
  if (text == "False" || text == "false") return 0;
  try {
    std::size_t used = 0;
    const double value = std::stod(text, &used);
    return text.find_first_not_of(" \t", used) == std::string::npos && std::isfinite(value) ? value : NAN;
  } catch (const std::exception&) {
    return NAN;
  }
}

bool is_time(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name == "time";
}

// Options are numbers only if all are. "8" and "8.0" are then one.
Parameter make_parameter(const Table& table, std::size_t column) {
  Parameter parameter;
  parameter.name = table.header[column];
  std::map<std::string, double> seen;
  for (const auto& row : table.rows) seen.emplace(row[column], number(row[column]));
  parameter.numeric =
      std::none_of(seen.begin(), seen.end(), [](const auto& s) { return std::isnan(s.second); });
  std::map<double, std::string> by_value;
  for (const auto& [text, value] : seen) {
    by_value.emplace(parameter.numeric ? value : static_cast<double>(by_value.size()), text);
  }
  for (const auto& [value, text] : by_value) {
    parameter.value.push_back(value);
    parameter.text.push_back(text);
  }
  return parameter;
}

// A result beside the time (GFLOP/s, energy) has fractions, and other ones in almost every row. No option of a kernel has.
bool is_result(const Parameter& parameter, std::size_t rows) {
  return parameter.numeric && parameter.value.size() > 64 && parameter.value.size() > rows / 2 &&
         std::any_of(parameter.value.begin(), parameter.value.end(),
                     [](double v) { return v != std::floor(v); });
}

}  // namespace

std::int32_t Parameter::option(const std::string& word) const {
  const auto at = numeric ? std::lower_bound(value.begin(), value.end(), number(word)) - value.begin()
                          : std::lower_bound(text.begin(), text.end(), word) - text.begin();
  return static_cast<std::int32_t>(at);
}

Sweep::Sweep(const std::filesystem::path& path) : name_(path.stem().string()) {
  Table table = read_table(path);
  std::size_t time_column = table.header.size() - 1;
  for (std::size_t c = table.header.size(); c-- > 0;) {
    if (is_time(table.header[c])) time_column = c;
  }
  std::erase_if(table.rows, [&](const auto& row) { return !(number(row[time_column]) > 0); });
  if (table.rows.empty()) {
    throw std::runtime_error(path.string() + ": no row has a positive number in the column \"" +
                             table.header[time_column] + "\"");
  }

  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    if (c == time_column) continue;
    Parameter parameter = make_parameter(table, c);
    if (is_result(parameter, table.rows.size())) continue;
    if (parameter.value.size() < 2) {
      constants_.push_back(std::move(parameter));
      continue;
    }
    columns.push_back(c);
    const bool ordinal = parameter.numeric && parameter.value.size() > 2;
    decisions_.push_back({parameter.name, ordinal ? Decision::Kind::Ordinal : Decision::Kind::Categorical,
                          static_cast<std::int32_t>(parameter.value.size()),
                          static_cast<int>(decisions_.size())});
    parameters_.push_back(std::move(parameter));
  }
  if (columns.empty()) throw std::runtime_error(path.string() + ": no column has two options to choose from");
  points_ = PointSet(columns.size());
  Point point(columns.size());
  for (const auto& row : table.rows) {
    for (std::size_t d = 0; d < columns.size(); ++d) point[d] = parameters_[d].option(row[columns[d]]);
    const double time = number(row[time_column]);
    const auto [at, added] = row_.emplace(key(point), static_cast<std::uint32_t>(points_.size()));
    if (!added) {
      time_[at->second] = std::min(time_[at->second], time);
      continue;
    }
    points_.add(point);
    time_.push_back(time);
  }
  best_ = *std::min_element(time_.begin(), time_.end());
  describe_ = std::make_unique<SweepFeatures>(parameters_);
  features_ = FeatureTable(describe_->width());
  embedding_width_ = describe_->embedding_width();
  embedding_.resize(points_.size() * embedding_width_);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const std::vector<double> values = values_of(points_[i]);
    describe_->fill(values, features_.add_row());
    features_.end_program();
    describe_->embed(values, std::span(embedding_).subspan(i * embedding_width_, embedding_width_));
  }
}

Sweep::~Sweep() = default;

std::string Sweep::kernel() const { return name_.substr(0, name_.find('.')); }

std::vector<double> Sweep::values_of(PointView point) const {
  std::vector<double> values;
  for (std::size_t d = 0; d < point.size(); ++d) values.push_back(parameters_[d].value[point[d]]);
  return values;
}

namespace {

const Parameter* find(const std::vector<Parameter>& parameters, const std::string& name) {
  const auto at =
      std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == name; });
  return at == parameters.end() ? nullptr : &*at;
}

}  // namespace

bool Sweep::knows_parameters_of(const Sweep& other) const {
  return std::all_of(other.parameters_.begin(), other.parameters_.end(), [&](const Parameter& theirs) {
    const Parameter* ours = find(parameters_, theirs.name);
    if (!ours) ours = find(constants_, theirs.name);
    return ours && ours->numeric == theirs.numeric;
  });
}

// Numbers are what they are everywhere; a word is its rank here, or −1 where this sweep does not know it.
tuner::Dataset Sweep::learn_from(const Sweep& other) const {
  struct Source {
    std::vector<double> value;  // one an option of theirs
    std::size_t column = 0;     // of theirs
  };
  auto translated = [&](const Parameter& ours, const Parameter& theirs, std::size_t column) {
    if (ours.numeric) return Source{theirs.value, column};
    Source source{{}, column};
    for (const std::string& word : theirs.text) {
      const std::int32_t option = ours.option(word);
      const bool known = option < std::ssize(ours.text) && ours.text[option] == word;
      source.value.push_back(known ? option : -1);
    }
    return source;
  };
  std::vector<Source> sources;
  for (const Parameter& ours : parameters_) {
    const Parameter* theirs = find(other.parameters_, ours.name);
    sources.push_back(theirs
                          ? translated(ours, *theirs, theirs - other.parameters_.data())
                          : translated(ours, *find(other.constants_, ours.name), other.parameters_.size()));
  }
  // What varies there and not here tells something only where it has the value that it has here.
  std::vector<std::pair<std::size_t, std::int32_t>> fixed;
  for (std::size_t d = 0; d < other.parameters_.size(); ++d) {
    const Parameter* constant = find(constants_, other.parameters_[d].name);
    if (constant) fixed.emplace_back(d, other.parameters_[d].option(constant->text[0]));
  }

  tuner::Dataset data;
  FeatureTable row(feature_width());
  std::vector<double> values(sources.size());
  for (std::size_t i = 0; i < other.size(); ++i) {
    const PointView point = other.points_[i];
    if (std::any_of(fixed.begin(), fixed.end(), [&](const auto& f) { return point[f.first] != f.second; }))
      continue;
    for (std::size_t d = 0; d < sources.size(); ++d) {
      values[d] = sources[d].value[sources[d].column < point.size() ? point[sources[d].column] : 0];
    }
    row.clear();
    describe_->fill(values, row.add_row());
    row.end_program();
    data.add(row, 0, static_cast<float>(other.best_ / other.time_[i]));
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
