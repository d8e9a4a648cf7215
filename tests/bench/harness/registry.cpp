#include <algorithm>
#include <chrono>

#include "bench.h"

namespace lathe::bench {

namespace {

// Filled by static initialisers of the files that join, read by main.
struct Registry {
  std::map<std::pair<std::string, std::string>, Ours> ours;
  std::vector<std::pair<std::vector<std::string>, Peer>> peers;
  std::vector<std::function<std::string()>> versions;
  std::vector<std::pair<std::string, Measurement>> measurements;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

Callable make_callable(std::string name, std::function<void()> run,
                       std::function<std::vector<float>()> result) {
  auto sample = [run = std::move(run)](int count) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  return {std::move(name), std::move(sample), std::move(result), std::nullopt};
}

Callable make_callable(std::string name, std::function<void()> run, Buffer output) {
  auto result = [output] { return std::vector<float>(output.data(), output.data() + output.size()); };
  return make_callable(std::move(name), std::move(run), std::move(result));
}

std::string Row::best_peer() const {
  std::string best;
  for (const auto& [name, figure] : peers) {
    if (best.empty() ||
        (higher_is_better(unit) ? figure.min > peers.at(best).min : figure.min < peers.at(best).min)) {
      best = name;
    }
  }
  return best;
}

Figure better(const Figure& a, const Figure& b, Unit unit) {
  const auto of = [&](double x, double y) {
    return higher_is_better(unit) ? std::max(x, y) : std::min(x, y);
  };
  return {of(a.min, b.min), of(a.median, b.median)};
}

std::optional<double> Row::ratio() const {
  if (!ours || peers.empty()) return std::nullopt;
  const double best = peers.at(best_peer()).min;
  return higher_is_better(unit) ? ours->min / best : best / ours->min;
}

bool register_ours(const std::string& group, const std::string& key, Ours make) {
  registry().ours[{group, key}] = std::move(make);
  return true;
}

bool register_peer(const std::vector<std::string>& keys, Peer make) {
  registry().peers.emplace_back(keys, std::move(make));
  return true;
}

bool register_version(std::function<std::string()> version) {
  registry().versions.push_back(std::move(version));
  return true;
}

bool register_measurement(const std::string& group, Measurement measure) {
  registry().measurements.emplace_back(group, std::move(measure));
  return true;
}

std::optional<Callable> make_ours(const std::string& group, const Problem& problem) {
  for (const std::string& key : {problem.what.key, std::string("*")}) {
    auto found = registry().ours.find({group, key});
    if (found != registry().ours.end()) return found->second(problem);
  }
  return std::nullopt;
}

std::vector<Callable> make_peers(const Problem& problem) {
  std::vector<Callable> all;
  for (const auto& [keys, make] : registry().peers) {
    for (const std::string& key : keys) {
      if (key != problem.what.key) continue;
      for (Callable& callable : make(problem)) all.push_back(std::move(callable));
    }
  }
  return all;
}

std::vector<std::string> peer_versions() {
  std::vector<std::string> texts;
  for (const auto& version : registry().versions) {
    std::string text = version();
    if (!text.empty()) texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<Row> run_measurements(const std::string& group, const MeasureOptions& options) {
  std::vector<Row> rows;
  for (const auto& [name, measure] : registry().measurements) {
    if (name != group) continue;
    for (Row& row : measure(options)) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace lathe::bench
