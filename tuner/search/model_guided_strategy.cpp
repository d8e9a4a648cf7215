#include "tuner/search/model_guided_strategy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lathe/error.h"

namespace lathe::tuner {
namespace {

// How far one pick of a batch lowers the spread of a fully correlated candidate: to sqrt(1 - TwinPenalty).
constexpr float TwinPenalty = 0.5f;

// Expected improvement over `best` of a normal variable (Jones, Schonlau and Welch 1998).
float expected_improvement(float mean, float spread, float best) {
  if (spread < 1e-9f) return std::max(mean - best, 0.0f);
  const float z = (mean - best) / spread;
  const float below = 0.5f * std::erfc(-z * 0.70710678f), density = 0.39894228f * std::exp(-0.5f * z * z);
  return spread * (z * below + density);
}

// The prior of points: the one given, or the space's draft, scaled so that the best of a sample has y = 1.
class Guess {
 public:
  Guess(const DecisionSpace& space, Prior prior, Random& random) : space_(space), prior_(std::move(prior)) {
    PointSet sample(space.decisions().size());
    drafts_ = !prior_ && space.draft(sample, {});
    if (!drafts_) return;
    for (int i = 0; i < 1024; ++i) sample.add(space.sample(random));
    const PointSet valid = filtered(space, sample);
    std::vector<float> speed(valid.size());
    space.draft(valid, speed);
    for (float s : speed) fastest_ = std::max(fastest_, s);
  }

  explicit operator bool() const { return drafts_ || prior_; }

  std::vector<float> operator()(const PointSet& points, const FeatureTable& features) const {
    if (prior_) return prior_(features);
    std::vector<float> y(points.size());
    space_.draft(points, y);
    for (float& v : y) v = fastest_ > 0 ? v / fastest_ : 0;
    return y;
  }

 private:
  const DecisionSpace& space_;
  Prior prior_;
  bool drafts_ = false;
  float fastest_ = 0;
};

// All points that have one option of one decision, of which the best measured point so far has another.
struct Niche {
  std::size_t decision = 0;
  std::int32_t option = 0;
  std::optional<std::size_t> champion;  ///< its best measured point
  bool holds(PointView point) const { return point[decision] == option; }
};

// Points with all that the model sees of them.
struct Described {
  explicit Described(const DecisionSpace& space)
      : points(space.decisions().size()), features(space.feature_width()), width(space.embedding_width()) {}

  void add(const DecisionSpace& space, const Guess& guess, const PointSet& more) {
    for (std::size_t i = 0; i < more.size(); ++i) points.add(more[i]);
    embedding.resize(points.size() * width);
    space.embed(more, std::span(embedding).last(more.size() * width));
    FeatureTable added(features.width());
    space.features(more, added);
    for (std::size_t i = 0; i < more.size(); ++i) features.append(added, i);
    if (!guess) return;
    for (float y : guess(more, added)) prior.push_back(std::clamp(y, 0.0f, 1.0f));
  }

  std::size_t size() const { return points.size(); }
  Inputs inputs() const { return {&features, embedding, prior}; }
  std::span<const float> embedding_of(std::size_t i) const {
    return std::span(embedding).subspan(i * width, width);
  }

  PointSet points;
  FeatureTable features;
  std::size_t width;
  std::vector<float> embedding, prior;
};

class ModelGuidedStrategy final : public Strategy {
 public:
  ModelGuidedStrategy(const DecisionSpace& space, ModelGuidedOptions options)
      : space_(space),
        options_(std::move(options)),
        random_(options_.seed),
        seeds_(replay_strategy(space, options_.seeds)),
        guess_(space, options_.prior, random_),
        measured_(space),
        listed_(space),
        model_(with_seed(options_.model, options_.seed)) {}

  std::string_view name() const override { return "model-guided"; }

  std::vector<Point> propose(std::size_t count) override {
    std::vector<Point> batch = seeded(count);
    const bool can_fit = seconds_.size() >= options_.first_batch && successes_ >= 2;
    if (can_fit || guess_) {
      if (can_fit) add_random(batch, count);
      add_by_model(batch, count);
    } else {
      add_spread_out(batch, count);
    }
    // Where evolution found too little that is new, chance may.
    for (Point& point : draw_unseen(space_, count - batch.size(), proposed_, random_)) {
      batch.push_back(std::move(point));
    }
    return batch;
  }

  void observe(std::span<const Observation> observations) override {
    PointSet fresh(space_.decisions().size());
    for (const Observation& o : observations) {
      proposed_.insert(space_.key(o.point));
      if (!observed_.insert(space_.key(o.point))) continue;
      fresh.add(o.point);
      seconds_.push_back(o.seconds);
      successes_ += o.seconds.has_value();
    }
    measured_.add(space_, guess_, fresh);
  }

  std::vector<float> expect(const PointSet& points) const override {
    if (points.size() == 0 || !(model_.fitted() || guess_)) return {};
    Described described(space_);
    described.add(space_, guess_, points);
    return model_.predict(described.inputs()).mean;
  }

 private:
  static SessionModelOptions with_seed(SessionModelOptions options, std::uint64_t seed) {
    options.seed = mix64(seed, options.seed);
    return options;
  }

  void take(std::vector<Point>& batch, PointView point) {
    if (proposed_.insert(space_.key(point))) batch.emplace_back(point.begin(), point.end());
  }

  std::vector<Point> seeded(std::size_t count) {
    std::vector<Point> batch;
    while (batch.size() < count) {
      const std::vector<Point> next = seeds_->propose(count - batch.size());
      if (next.empty()) break;
      for (const Point& point : next) take(batch, point);
    }
    return batch;
  }

  // The share of random picks is paid out in whole points, over the rounds.
  void add_random(std::vector<Point>& batch, std::size_t count) {
    random_due_ += options_.random_share * (count - batch.size());
    const std::size_t due = std::min(static_cast<std::size_t>(random_due_), count - batch.size());
    random_due_ -= due;
    for (Point& point : draw_unseen(space_, due, proposed_, random_)) batch.push_back(std::move(point));
  }

  void add_spread_out(std::vector<Point>& batch, std::size_t count);
  void fit();
  std::optional<std::size_t> champion(const std::function<bool(PointView)>& among) const;
  std::vector<Niche> draw_niches(std::size_t count);
  void add_from_niches(const std::vector<Niche>& niches, const Described& pool,
                       const std::vector<std::size_t>& rows, const Prediction& prediction,
                       std::vector<Point>& batch, std::size_t count);
  std::vector<Point> parents(const std::vector<Niche>& niches) const;
  void add_by_model(std::vector<Point>& batch, std::size_t count);
  float bold_target(float best) const;
  void pick(const Described& pool, const std::vector<std::size_t>& rows, const Prediction& prediction,
            float best, std::vector<Point>& batch, std::size_t count);
  std::vector<Point> best_points(std::size_t count) const;
  bool lists() const { return space_.listed() && space_.listed()->size() <= options_.list_limit; }

  const DecisionSpace& space_;
  ModelGuidedOptions options_;
  Random random_;
  std::unique_ptr<Strategy> seeds_;
  Guess guess_;
  SeenKeys proposed_, observed_;
  Described measured_, listed_;  // listed_: all points of a small space, described once
  std::vector<std::optional<double>> seconds_;
  std::size_t successes_ = 0;
  SessionModel model_;
  double random_due_ = 0, niches_due_ = 0, bold_due_ = 0;
};

// Greedy maximin: of many random points, each time the one farthest from all that are measured or picked.
void ModelGuidedStrategy::add_spread_out(std::vector<Point>& batch, std::size_t count) {
  if (batch.size() >= count) return;
  SeenKeys seen = proposed_;
  PointSet drawn(space_.decisions().size());
  for (const Point& point : draw_unseen(space_, 32 * (count - batch.size()), seen, random_)) drawn.add(point);
  Described pool(space_);
  pool.add(space_, guess_, drawn);
  auto distance = [&](std::span<const float> a, std::span<const float> b) {
    float sum = 0;
    for (std::size_t d = 0; d < a.size(); ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
    return sum;
  };
  std::vector<float> nearest(pool.size(), std::numeric_limits<float>::max());
  auto keep_away_from = [&](std::span<const float> point) {
    for (std::size_t i = 0; i < pool.size(); ++i) {
      nearest[i] = std::min(nearest[i], distance(pool.embedding_of(i), point));
    }
  };
  for (std::size_t i = 0; i < measured_.size(); ++i) keep_away_from(measured_.embedding_of(i));
  for (std::size_t n = 0; batch.size() < count && n < pool.size(); ++n) {
    const std::size_t i = std::max_element(nearest.begin(), nearest.end()) - nearest.begin();
    take(batch, pool.points[i]);
    keep_away_from(pool.embedding_of(i));
    nearest[i] = -1;
  }
}

void ModelGuidedStrategy::fit() {
  double fastest = std::numeric_limits<double>::infinity();
  for (const auto& t : seconds_) fastest = std::min(fastest, t.value_or(fastest));
  std::vector<float> label;
  for (const auto& t : seconds_) label.push_back(t ? static_cast<float>(fastest / *t) : 0.0f);
  model_.fit(measured_.inputs(), label);
}

std::vector<Point> ModelGuidedStrategy::best_points(std::size_t count) const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < seconds_.size(); ++i) {
    if (seconds_[i]) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return *seconds_[a] < *seconds_[b]; });
  order.resize(std::min(order.size(), count));
  std::vector<Point> points;
  for (std::size_t i : order) points.emplace_back(measured_.points[i].begin(), measured_.points[i].end());
  return points;
}

std::optional<std::size_t> ModelGuidedStrategy::champion(const std::function<bool(PointView)>& among) const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < seconds_.size(); ++i) {
    if (!seconds_[i] || (best && *seconds_[*best] <= *seconds_[i])) continue;
    if (among(measured_.points[i])) best = i;
  }
  return best;
}

// This round's share of niches, drawn by what they miss: how much less often an option was measured than if all of its
// decision were measured alike. An option of few weighs more than one of many (what a switch hides is half of the space);
// one that makes no difference, and so is visited as often as the others, weighs little.
std::vector<Niche> ModelGuidedStrategy::draw_niches(std::size_t count) {
  const std::optional<std::size_t> best = champion([](PointView) { return true; });
  if (!best) return {};
  std::vector<Niche> neglected;
  std::vector<double> weight;
  for (std::size_t d = 0; d < space_.decisions().size(); ++d) {
    const std::int32_t options = space_.decisions()[d].max_options;
    if (options < 2) continue;
    std::vector<double> visits(options, 0);
    for (std::size_t i = 0; i < measured_.size(); ++i) ++visits[measured_.points[i][d]];
    const double share = 1.0 / options;
    for (std::int32_t option = 0; option < options; ++option) {
      if (option == measured_.points[*best][d]) continue;
      neglected.push_back({d, option, {}});
      weight.push_back(share * std::max(0.0, share * static_cast<double>(measured_.size()) - visits[option]));
    }
  }
  const double total = std::accumulate(weight.begin(), weight.end(), 0.0);
  if (total == 0) return {};
  std::vector<Niche> niches;
  const bool stalls = measured_.size() - *best > options_.patience;
  const double due = options_.niche_share * (stalls ? 2 : 1) * static_cast<double>(count);
  for (niches_due_ += due; niches_due_ >= 1; niches_due_ -= 1) {
    double at = random_.uniform() * total;
    std::size_t k = 0;
    while (k + 1 < weight.size() && (at -= weight[k]) >= 0) ++k;
    niches.push_back(neglected[k]);
    niches.back().champion = champion([&](PointView point) { return niches.back().holds(point); });
  }
  return niches;
}

// Of each niche the candidate that promises most over the niche's own best.
void ModelGuidedStrategy::add_from_niches(const std::vector<Niche>& niches, const Described& pool,
                                          const std::vector<std::size_t>& rows, const Prediction& prediction,
                                          std::vector<Point>& batch, std::size_t count) {
  const std::optional<std::size_t> best = champion([](PointView) { return true; });
  for (const Niche& niche : niches) {
    if (batch.size() >= count) return;
    const float own = niche.champion ? static_cast<float>(*seconds_[*best] / *seconds_[*niche.champion]) : 0;
    std::optional<std::size_t> choice;
    float choice_value = 0;
    for (std::size_t row : rows) {
      const PointView point = pool.points[row];
      if (!niche.holds(point) || proposed_.contains(space_.key(point))) continue;
      const float value = expected_improvement(prediction.mean[row], prediction.spread[row], own);
      if (choice && value <= choice_value) continue;
      choice = row;
      choice_value = value;
    }
    if (choice) take(batch, pool.points[*choice]);
  }
}

// Of evolution: the best points, and the champions of the niches that this round looks into.
std::vector<Point> ModelGuidedStrategy::parents(const std::vector<Niche>& niches) const {
  std::vector<Point> points;
  for (const Niche& niche : niches) {
    if (!niche.champion) continue;
    const PointView point = measured_.points[*niche.champion];
    points.emplace_back(point.begin(), point.end());
  }
  for (Point& point : best_points(16)) points.push_back(std::move(point));
  return points;
}

void ModelGuidedStrategy::add_by_model(std::vector<Point>& batch, std::size_t count) {
  if (batch.size() >= count) return;
  if (seconds_.size() >= 2 && successes_ > 0) fit();
  float best = 1;
  auto improvement = [&](const Prediction& p) {
    if (!model_.fitted()) best = *std::max_element(p.mean.begin(), p.mean.end());
    std::vector<float> value(p.mean.size());
    for (std::size_t i = 0; i < value.size(); ++i)
      value[i] = expected_improvement(p.mean[i], p.spread[i], best);
    return value;
  };

  const std::vector<Niche> niches = draw_niches(count - batch.size());
  Described evolved(space_);
  if (lists()) {
    if (listed_.size() == 0) listed_.add(space_, guess_, *space_.listed());
  } else {
    const Scorer scorer = [&](const PointSet& points) {
      if (points.size() == 0) return std::vector<float>();
      Described described(space_);
      described.add(space_, guess_, points);
      return improvement(model_.predict(described.inputs()));
    };
    evolved.add(
        space_, guess_,
        evolve(space_, parents(niches), proposed_, scorer, options_.pool, options_.evolution, random_));
  }
  const Described& pool = lists() ? listed_ : evolved;
  if (pool.size() == 0) return;
  const Prediction prediction = model_.predict(pool.inputs());
  const std::vector<float> value = improvement(prediction);
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    if (!proposed_.contains(space_.key(pool.points[i]))) rows.push_back(i);
  }
  add_from_niches(niches, pool, rows, prediction, batch, count);
  std::erase_if(rows, [&](std::size_t row) { return proposed_.contains(space_.key(pool.points[row])); });
  std::stable_sort(rows.begin(), rows.end(), [&](auto a, auto b) { return value[a] > value[b]; });
  rows.resize(std::min(rows.size(), options_.pool));
  pick(pool, rows, prediction, best, batch, count);
}

// What a bold pick has to beat: clearly more than the best, yet no more than the times differ at all.
float ModelGuidedStrategy::bold_target(float best) const {
  double fastest = std::numeric_limits<double>::infinity(), n = 0, sum = 0, square = 0;
  for (const auto& t : seconds_) fastest = std::min(fastest, t.value_or(fastest));
  for (const auto& t : seconds_) {
    if (!t) continue;
    const double y = fastest / *t;
    n += 1;
    sum += y;
    square += y * y;
  }
  const double deviation = n > 1 ? std::sqrt(std::max(square / n - sum * sum / (n * n), 0.0)) : 0;
  return best * (1 + static_cast<float>(std::min(options_.bold_gain, deviation / 2)));
}

void ModelGuidedStrategy::pick(const Described& pool, const std::vector<std::size_t>& rows,
                               const Prediction& prediction, float best, std::vector<Point>& batch,
                               std::size_t count) {
  std::vector<float> embedding, spread;
  for (std::size_t row : rows) {
    const std::span<const float> point = pool.embedding_of(row);
    embedding.insert(embedding.end(), point.begin(), point.end());
    spread.push_back(prediction.spread[row]);
  }
  std::vector<std::uint8_t> taken(rows.size());
  const float bold_best = bold_target(best);
  bold_due_ =
      std::min(bold_due_ + options_.bold_share * static_cast<double>(count), static_cast<double>(count));
  for (std::size_t n = 0; batch.size() < count && n < rows.size(); ++n) {
    const bool bold = bold_due_ >= 1;
    if (bold) bold_due_ -= 1;
    const float target = bold ? bold_best : best;
    std::size_t choice = rows.size();
    float choice_value = -1, choice_mean = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (taken[i]) continue;
      const float mean = prediction.mean[rows[i]], value = expected_improvement(mean, spread[i], target);
      // Where nothing promises an improvement any more, the best mean decides.
      if (value > choice_value || (value == choice_value && mean > choice_mean)) {
        choice = i;
        choice_value = value;
        choice_mean = mean;
      }
    }
    taken[choice] = 1;
    take(batch, pool.points[rows[choice]]);
    if (pool.width == 0) continue;
    const std::vector<float> correlation = model_.correlation(embedding, pool.width, choice);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      spread[i] *= std::sqrt(1 - TwinPenalty * correlation[i] * correlation[i]);
    }
  }
}

}  // namespace

std::unique_ptr<Strategy> model_guided_strategy(const DecisionSpace& space, ModelGuidedOptions options) {
  return std::make_unique<ModelGuidedStrategy>(space, std::move(options));
}

}  // namespace lathe::tuner
