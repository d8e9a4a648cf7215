#include "tuner/search/schedule_space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "support/error_codes/tuner.h"
#include "tuner/features/statement_features.h"

namespace lathe::tuner {
namespace {

constexpr std::size_t MostDescribed = 8192;  // points kept with their features: some 30 MB
constexpr int OutlineSamples = 8;

double log_distance(const Decided& a, const Decided& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) {
    // A location counts from -1.
    const double x = std::log2(static_cast<double>(std::max<std::int64_t>(a[c] + 2, 1))),
                 y = std::log2(static_cast<double>(std::max<std::int64_t>(b[c] + 2, 1)));
    sum += std::abs(x - y);
  }
  return sum;
}

std::string to_text(const Decided& d) {
  std::string text;
  for (std::int64_t v : d) text += (text.empty() ? "" : "x") + std::to_string(v);
  return text;
}

}  // namespace

/// A decision, and which open step of each template it is.
struct ScheduleSpace::Column {
  std::vector<int> open;  ///< by template; -1: it has none
  std::size_t components = 0;
  std::vector<float> middle, scale;  ///< of the embedding, by component
};

/// The bodies of a template's statements, their extents by recipe.
struct ScheduleSpace::Outline {
  struct Loop {
    std::optional<std::uint32_t> handle;  ///< whose extent it has; nothing: `constant`
    std::int64_t constant = 1;
    bool vector = false, moves_result = false;
  };
  struct Statement {
    std::vector<Loop> loops;
    double operations = 1, lanes = 1;
    bool reduction = false;
  };
  std::vector<Statement> statements;
};

std::map<std::string, std::int64_t> SpaceCounts::by_name() const {
  return {{"require", require}, {"registers", registers}, {"unrolled", unrolled},
          {"replay", replay},   {"memory", memory},       {"kept", kept}};
}

ScheduleSpace::ScheduleSpace(Program program, Target target, ScheduleSpaceOptions options)
    : program_(std::move(program)),
      target_(std::move(target)),
      limits_(options.limits),
      cpu_(target_),
      templates_(discover(program_, options.rules, options.discovery_runs)) {
  pin(options.pinned);
  make_columns();
  for (std::size_t t = 0; t < templates_.size(); ++t) outline(t, options.seed);
  counts_ = {};
}

ScheduleSpace::~ScheduleSpace() = default;

void ScheduleSpace::pin(const std::map<std::string, Decided>& pinned) {
  for (const auto& [name, value] : pinned) {
    std::vector<ScheduleTemplate> fitting;
    std::set<std::string> names;
    std::set<Decided> values;
    bool known = false;
    for (ScheduleTemplate& t : templates_) {
      bool fits = false;
      for (OpenStep& open : t.open()) {
        names.insert(open.name);
        if (open.name != name) continue;
        known = true;
        const bool free = open.values.empty();  // depends on others: the replay will tell
        fits = free || std::find(open.values.begin(), open.values.end(), value) != open.values.end();
        values.insert(open.values.begin(), open.values.end());
        if (fits) open.values = {value};
      }
      if (fits) fitting.push_back(std::move(t));
    }
    if (fitting.empty()) {
      std::string text;
      if (known) {
        for (const Decided& v : values) text += (text.empty() ? "" : ", ") + to_text(v);
        text = "the decision \"" + name + "\" cannot be pinned to " + to_text(value) + "; its options are " +
               text;
      } else {
        for (const std::string& n : names) text += (text.empty() ? "" : ", ") + n;
        text = "no decision is called \"" + name + "\"; there are " + text;
      }
      throw UserError(code::U022, text);
    }
    templates_ = std::move(fitting);
  }
}

// The union of the templates' decisions, in an order that keeps each template's own.
void ScheduleSpace::make_columns() {
  decisions_.push_back(
      {"template", Decision::Kind::Categorical, static_cast<std::int32_t>(templates_.size()), 0, 0.5});
  columns_.push_back({std::vector<int>(templates_.size(), -1), 0, {}, {}});
  std::map<std::string, int> groups;
  for (std::size_t t = 0; t < templates_.size(); ++t) {
    std::size_t after = 0;
    const std::vector<OpenStep>& open = templates_[t].open();
    for (std::size_t k = 0; k < open.size(); ++k) {
      std::size_t c = after + 1;
      while (c < decisions_.size() && decisions_[c].name != open[k].name) ++c;
      if (c == decisions_.size()) {
        c = after + 1;
        const int group =
            open[k].block.empty()
                ? 0
                : groups.emplace(open[k].block, static_cast<int>(groups.size()) + 1).first->second;
        const auto at = static_cast<std::ptrdiff_t>(c);
        decisions_.insert(decisions_.begin() + at, {open[k].name, Decision::Kind::Categorical, 1, group, 1});
        columns_.insert(columns_.begin() + at, {std::vector<int>(templates_.size(), -1), 0, {}, {}});
      }
      columns_[c].open[t] = static_cast<int>(k);
      after = c;
    }
  }
  embedding_width_ = templates_.size() > 1 ? templates_.size() : 0;
  for (std::size_t c = 1; c < columns_.size(); ++c) {
    Column& column = columns_[c];
    std::vector<double> low, high;
    bool single = true;
    for (std::size_t t = 0; t < templates_.size(); ++t) {
      if (column.open[t] < 0) continue;
      std::vector<Decided> none;
      for (int k = 0; k < column.open[t]; ++k)
        none.push_back(templates_[t].open()[static_cast<std::size_t>(k)].fallback);
      const std::vector<Decided>& options =
          templates_[t].options(static_cast<std::size_t>(column.open[t]), none);
      decisions_[c].max_options =
          std::max(decisions_[c].max_options, static_cast<std::int32_t>(options.size()));
      for (const Decided& d : options) {
        single &= d.size() == 1;
        low.resize(std::max(low.size(), d.size()), 1e9);
        high.resize(low.size(), -1e9);
        for (std::size_t i = 0; i < d.size(); ++i) {
          const double v = std::log2(static_cast<double>(std::max<std::int64_t>(d[i] + 2, 1)));
          low[i] = std::min(low[i], v);
          high[i] = std::max(high[i], v);
        }
      }
    }
    if (single) decisions_[c].kind = Decision::Kind::Ordinal;
    column.components = low.size();
    for (std::size_t i = 0; i < low.size(); ++i) {
      const double half = (high[i] - low[i]) / 2;
      column.middle.push_back(static_cast<float>(low[i] + half));
      column.scale.push_back(half > 0 ? static_cast<float>(std::min(2.0, 2 / half)) : 0);
    }
    embedding_width_ += column.components;
  }
}

std::int32_t ScheduleSpace::options(std::size_t d, PointView earlier) const {
  if (d == 0) return static_cast<std::int32_t>(templates_.size());
  const auto t = static_cast<std::size_t>(earlier[0]);
  const int k = columns_[d].open[t];
  if (k < 0) return 1;
  const ScheduleTemplate& made = templates_[t];
  const OpenStep& open = made.open()[static_cast<std::size_t>(k)];
  if (!open.values.empty()) return static_cast<std::int32_t>(open.values.size());
  std::vector<Decided> before;
  for (std::size_t c = 1; c < d; ++c) {
    const int e = columns_[c].open[t];
    if (e < 0) continue;
    const std::vector<Decided>& values = made.options(static_cast<std::size_t>(e), before);
    before.push_back(values[std::min(static_cast<std::size_t>(earlier[c]), values.size() - 1)]);
  }
  return static_cast<std::int32_t>(made.options(static_cast<std::size_t>(k), before).size());
}

std::vector<Decided> ScheduleSpace::decided(PointView point) const {
  const auto t = static_cast<std::size_t>(point[0]);
  std::vector<Decided> result;
  result.reserve(templates_[t].open().size());
  for (std::size_t c = 1; c < columns_.size(); ++c) {
    const int k = columns_[c].open[t];
    if (k < 0) continue;
    const std::vector<Decided>& values = templates_[t].options(static_cast<std::size_t>(k), result);
    result.push_back(values[std::min(static_cast<std::size_t>(point[c]), values.size() - 1)]);
  }
  return result;
}

// ---- filters -----------------------------------------------------------------------------------------------------

// Follows the extents of the bodies' loops through some samples: a loop that has no recipe of its own (it was made for a
// block that moved) mostly has the extent of one that has. Where nothing fits, it is taken for 1 and filters nothing.
void ScheduleSpace::outline(std::size_t t, std::uint64_t seed) {
  const ScheduleTemplate& made = templates_[t];
  struct Sample {
    std::vector<Decided> decisions;
    ProgramView program;
  };
  std::vector<Sample> samples;
  Random random(mix64(seed, t));
  for (int attempt = 0; attempt < 3 * OutlineSamples && samples.size() < OutlineSamples; ++attempt) {
    Sample sample;
    for (std::size_t k = 0; k < made.open().size(); ++k) {
      const std::vector<Decided>& values = made.options(k, sample.decisions);
      sample.decisions.push_back(values[random.below(values.size())]);
    }
    Schedule s(program_);
    try {
      s.replay(made.with(sample.decisions));
    } catch (const ScheduleError&) {
      continue;
    }
    sample.program = view(s.program());
    if (!samples.empty() && sample.program.statements.size() != samples[0].program.statements.size())
      continue;
    samples.push_back(std::move(sample));
  }
  Outline& out = outlines_.emplace_back();
  if (samples.empty()) return;
  auto same_in_all = [&](std::size_t statement, std::size_t loop, auto&& expected) {
    return std::all_of(samples.begin(), samples.end(), [&](const Sample& s) {
      const StatementView& v = s.program.statements[statement];
      const std::optional<std::int64_t> e = expected(s.decisions);
      return e && loop < v.extents.size() && v.extents[loop] == *e;
    });
  };
  const std::vector<std::uint32_t> loops = made.loops_with_recipes();
  for (std::size_t n = 0; n < samples[0].program.statements.size(); ++n) {
    const StatementView& v = samples[0].program.statements[n];
    Outline::Statement& statement = out.statements.emplace_back();
    statement.operations = std::max(1.0, v.operations.all());
    statement.lanes = std::max(1.0, cpu_.lanes_bits / v.bits);
    statement.reduction = v.reduction;
    for (std::size_t l = v.loops.size(); l-- > 0;) {
      if (v.loops[l].kind != ForKind::Unrolled && v.loops[l].kind != ForKind::Vectorized) break;
      Outline::Loop loop;
      loop.vector = v.loops[l].kind == ForKind::Vectorized;
      loop.moves_result = v.accesses[0].stride[l] != 0;
      for (std::uint32_t handle : loops) {
        if (same_in_all(n, l, [&](const std::vector<Decided>& d) { return made.extent(handle, d); })) {
          loop.handle = handle;
          break;
        }
      }
      if (!loop.handle &&
          same_in_all(n, l, [&](const std::vector<Decided>&) { return std::optional(v.extents[l]); })) {
        loop.constant = v.extents[l];
      }
      statement.loops.push_back(loop);
    }
  }
}

bool ScheduleSpace::within(const ScheduleTemplate& made, const Outline& outline,
                           const std::vector<Decided>& decisions) const {
  if (!made.meets_requirements(decisions)) {
    ++counts_.require;
    return false;
  }
  for (const Outline::Statement& s : outline.statements) {
    double body = s.operations, accumulators = 1;
    for (const Outline::Loop& l : s.loops) {
      const double extent =
          static_cast<double>(l.handle ? made.extent(*l.handle, decisions).value_or(1) : l.constant);
      const double vectors = l.vector ? std::ceil(extent / s.lanes) : extent;
      body *= vectors;
      if (l.moves_result) accumulators *= vectors;
    }
    if (s.reduction && accumulators + 1 > cpu_.registers) {
      ++counts_.registers;
      return false;
    }
    if (body > limits_.body_operations) {
      ++counts_.unrolled;
      return false;
    }
  }
  return true;
}

bool ScheduleSpace::within(const ProgramView& program) const {
  if (program.largest_local_bytes > limits_.local_bytes ||
      program.temporary_bytes > limits_.temporary_bytes) {
    ++counts_.memory;
    return false;
  }
  for (const StatementView& s : program.statements) {
    const double lanes = std::max(1.0, cpu_.lanes_bits / s.bits);
    double body = std::max(1.0, s.operations.all()), accumulators = 1;
    for (std::size_t l = s.body; l < s.loops.size(); ++l) {
      const double extent = static_cast<double>(s.extents[l]);
      const double vectors = static_cast<int>(l) == s.vector_loop ? std::ceil(extent / lanes) : extent;
      body *= vectors;
      if (s.accesses[0].stride[l] != 0) accumulators *= vectors;
    }
    if (s.reduction && accumulators + 1 > cpu_.registers) {
      ++counts_.registers;
      return false;
    }
    if (body > limits_.body_operations) {
      ++counts_.unrolled;
      return false;
    }
  }
  return true;
}

bool ScheduleSpace::plausible(PointView point) const {
  const auto t = static_cast<std::size_t>(point[0]);
  return within(templates_[t], outlines_[t], decided(point));
}

void ScheduleSpace::filter(const PointSet& points, std::span<std::uint8_t> keep) const {
  for (std::size_t i = 0; i < points.size(); ++i) {
    keep[i] = plausible(points[i]) && described(points[i]).valid;
    counts_.kept += keep[i];
  }
}

// ---- replay ------------------------------------------------------------------------------------------------------

Trace ScheduleSpace::trace(PointView point) const {
  return templates_[static_cast<std::size_t>(point[0])].with(decided(point));
}

Schedule ScheduleSpace::schedule(PointView point) const {
  Schedule s(program_);
  s.replay(trace(point));
  return s;
}

ScheduleSpace::Described ScheduleSpace::replay(PointView point) const {
  Described result;
  result.features = FeatureTable(feature_width());
  try {
    const Schedule s = schedule(point);
    const ProgramView seen = view(s.program());
    if (!within(seen)) return result;
    result.valid = true;
    result.hash = structural_hash(s.program());
    result.speed = static_cast<float>(1e6 / std::max(1.0, cost(seen, cpu_)));
    add_features(seen, cpu_, result.features);
  } catch (const ScheduleError&) {
    ++counts_.replay;
  }
  return result;
}

const ScheduleSpace::Described& ScheduleSpace::described(PointView point) const {
  const std::uint64_t k = key(point);
  if (auto it = known_.find(k); it != known_.end()) return it->second;
  if (known_.size() >= MostDescribed) known_.clear();
  return known_.emplace(k, replay(point)).first->second;
}

std::optional<StructuralHash> ScheduleSpace::scheduled_hash(PointView point) const {
  const Described& d = described(point);
  return d.valid ? std::optional(d.hash) : std::nullopt;
}

// ---- what models see ---------------------------------------------------------------------------------------------

std::size_t ScheduleSpace::feature_width() const { return statement_feature_names().size(); }

void ScheduleSpace::features(const PointSet& points, FeatureTable& table) const {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Described& d = described(points[i]);
    if (d.valid) {
      table.append(d.features, 0);
    } else {
      table.end_program();
    }
  }
}

bool ScheduleSpace::draft(const PointSet& points, std::span<float> score) const {
  for (std::size_t i = 0; i < points.size(); ++i) score[i] = described(points[i]).speed;
  return target_.is_cpu();
}

void ScheduleSpace::embed(const PointSet& points, std::span<float> rows) const {
  std::fill(rows.begin(), rows.end(), 0.0f);
  float* row = rows.data();
  for (std::size_t i = 0; i < points.size(); ++i, row += embedding_width_) {
    const PointView point = points[i];
    const auto t = static_cast<std::size_t>(point[0]);
    float* out = row;
    if (templates_.size() > 1) {
      out[t] = 1;
      out += templates_.size();
    }
    const std::vector<Decided> decisions = decided(point);
    for (std::size_t c = 1; c < columns_.size(); ++c) {
      const Column& column = columns_[c];
      if (const int k = column.open[t]; k >= 0) {
        const Decided& d = decisions[static_cast<std::size_t>(k)];
        for (std::size_t j = 0; j < d.size() && j < column.components; ++j) {
          const float v = std::log2(static_cast<float>(std::max<std::int64_t>(d[j] + 2, 1)));
          out[j] = (v - column.middle[j]) * column.scale[j];
        }
      }
      out += column.components;
    }
  }
}

// Mostly one of the two nearest options by the size of the numbers: of 8x4x16, 4x8x16 rather than 1x1x512.
std::int32_t ScheduleSpace::mutate(std::size_t d, PointView point, Random& random) const {
  if (d == 0 || decisions_[d].kind == Decision::Kind::Ordinal || random.chance(0.3)) {
    return DecisionSpace::mutate(d, point, random);
  }
  const auto t = static_cast<std::size_t>(point[0]);
  const int k = columns_[d].open[t];
  if (k < 0) return point[d];
  const std::vector<Decided> decisions = decided(point);
  const std::vector<Decided>& values = templates_[t].options(static_cast<std::size_t>(k), decisions);
  const Decided& present = decisions[static_cast<std::size_t>(k)];
  std::vector<std::pair<double, std::int32_t>> others;
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (values[v] != present)
      others.emplace_back(log_distance(values[v], present), static_cast<std::int32_t>(v));
  }
  if (others.empty()) return point[d];
  const std::size_t near = std::min<std::size_t>(others.size(), 4);
  std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(near), others.end());
  return others[random.below(near)].second;
}

// ---- points and traces -------------------------------------------------------------------------------------------

Point ScheduleSpace::first_point() const {
  std::optional<Point> point = point_of(templates_[0].trace(), true);
  return *point;
}

std::optional<Point> ScheduleSpace::point_of(const Trace& trace, bool nearest) const {
  // What another size leaves open are other values; the steps are the same.
  const std::string skeleton = skeleton_of(trace, !nearest);
  for (std::size_t t = 0; t < templates_.size(); ++t) {
    if ((nearest ? skeleton_of(templates_[t].trace(), false) : templates_[t].skeleton()) != skeleton)
      continue;
    const std::vector<std::size_t> steps = trace.decisions();
    Point point(columns_.size(), 0);
    point[0] = static_cast<std::int32_t>(t);
    std::vector<Decided> before;
    for (std::size_t c = 1; c < columns_.size(); ++c) {
      const int k = columns_[c].open[t];
      if (k < 0) continue;
      const std::vector<Decided>& values = templates_[t].options(static_cast<std::size_t>(k), before);
      const Decided& wanted = trace.steps[steps[static_cast<std::size_t>(k)]].decision;
      std::size_t best = 0;
      for (std::size_t v = 1; v < values.size(); ++v) {
        if (log_distance(values[v], wanted) < log_distance(values[best], wanted)) best = v;
      }
      if (!nearest && values[best] != wanted) return std::nullopt;
      point[c] = static_cast<std::int32_t>(best);
      before.push_back(values[best]);
    }
    return point;
  }
  return std::nullopt;
}

double ScheduleSpace::size() const {
  double sum = 0;
  for (const ScheduleTemplate& t : templates_) {
    double product = 1;
    std::vector<Decided> before;
    for (std::size_t k = 0; k < t.open().size(); ++k) {
      product *= static_cast<double>(t.options(k, before).size());
      before.push_back(t.open()[k].fallback);
    }
    sum += product;
  }
  return sum;
}

std::string ScheduleSpace::describe(PointView point) const {
  const auto t = static_cast<std::size_t>(point[0]);
  const std::vector<Decided> decisions = decided(point);
  std::string text = templates_.size() > 1 ? "template = " + std::to_string(t) : "";
  for (std::size_t k = 0; k < decisions.size(); ++k) {
    text += (text.empty() ? "" : ", ") + templates_[t].open()[k].name + " = " + to_text(decisions[k]);
  }
  return text;
}

}  // namespace lathe::tuner
