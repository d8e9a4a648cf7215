#include "tuner/model/trees.h"

#include "synthetic.h"
#include "tuner/model/metrics.h"
#include "tuner/model/model_file.h"

using namespace lathe::tuner;

namespace {

std::vector<float> scores(const TreeEnsemble& trees, const FeatureTable& features) {
  std::vector<float> result(features.programs(), 0);
  trees.predict(features, result);
  return result;
}

}  // namespace

TEST_CASE("trees of either loss order programs that they have not seen") {
  const Dataset train = synthetic(600, 1), test = synthetic(400, 2);
  for (auto loss : {TreeOptions::Loss::SquaredError, TreeOptions::Loss::Rank}) {
    TreeOptions options;
    options.loss = loss;
    TreeEnsemble trees;
    trees.fit(train, options);
    CHECK(pairwise_accuracy(test.label, scores(trees, test.features)) > 0.93);
  }
}

TEST_CASE("trees on squared error fit the scale, not only the order") {
  const Dataset train = synthetic(800, 1), test = synthetic(200, 2);
  TreeEnsemble trees;
  trees.fit(train, {});
  const std::vector<float> s = scores(trees, test.features);
  double error = 0;
  for (std::size_t i = 0; i < s.size(); ++i) error += std::abs(s[i] - test.label[i]) / s.size();
  CHECK(error < 0.05);
}

TEST_CASE("a program's score is the sum over its rows") {
  // A row's worth is 0.1 where its feature is negative and 0.3 where it is positive; programs have 1 to 4 rows.
  Random random(3);
  FeatureTable table(2);
  Dataset data;
  std::vector<float> truth;
  for (int p = 0; p < 400; ++p) {
    float sum = 0;
    for (std::size_t r = 0; r <= random.below(4); ++r) {
      std::span<float> row = table.add_row();
      row[0] = static_cast<float>(random.uniform() - 0.5);
      sum += row[0] < 0 ? 0.1f : 0.3f;
    }
    table.end_program();
    truth.push_back(sum);
  }
  for (int p = 0; p < 400; ++p) data.add(table, p, truth[p]);
  TreeOptions options;
  options.trees = 400;
  TreeEnsemble trees;
  trees.fit(data, options);

  FeatureTable one(2), two(2);
  one.add_row()[0] = 0.25f;
  one.end_program();
  one.add_row()[0] = -0.25f;
  one.end_program();
  two.add_row()[0] = 0.25f;
  two.add_row()[0] = -0.25f;
  two.end_program();
  two.end_program();  // no row at all
  const std::vector<float> alone = scores(trees, one), both = scores(trees, two);
  CHECK(both[0] - both[1] == Approx(alone[0] - both[1] + alone[1] - both[1]).epsilon(1e-4));
  CHECK(alone[0] - alone[1] == Approx(0.2).margin(0.03));
}

TEST_CASE("residual trees learn what is left of a base score") {
  const Dataset data = synthetic(300, 1);
  std::vector<float> perfect = data.label;
  TreeEnsemble trees;
  trees.fit(data, {}, perfect);
  for (float s : scores(trees, data.features)) REQUIRE(std::abs(s) < 1e-5);
}

TEST_CASE("trees are a function of data and seed, and survive saving") {
  const Dataset data = synthetic(200, 1);
  TreeOptions options;
  options.row_sample = 0.7f;
  options.column_sample = 0.5f;
  TreeEnsemble a, b, c;
  a.fit(data, options);
  b.fit(data, options);
  options.seed = 2;
  c.fit(data, options);
  CHECK(scores(a, data.features) == scores(b, data.features));
  CHECK(scores(a, data.features) != scores(c, data.features));

  ByteWriter out;
  a.save(out);
  ByteReader in(out.bytes(), "file");
  const TreeEnsemble loaded = TreeEnsemble::load(in);
  CHECK(in.at_end());
  CHECK(scores(loaded, data.features) == scores(a, data.features));
  CHECK(loaded.importance() == a.importance());
}

TEST_CASE("importance names the features that matter") {
  TreeEnsemble trees;
  trees.fit(synthetic(500, 1), {});
  const auto& importance = trees.importance();
  CHECK(importance[0] > 10 * importance[3]);
  CHECK(importance[1] > importance[3]);
}

TEST_CASE("degenerate data makes constant trees, not trouble") {
  TreeEnsemble empty;
  empty.fit(Dataset{FeatureTable(4), {}, {}}, {});
  CHECK(scores(empty, synthetic(3, 1).features) == std::vector<float>(3, 0));

  FeatureTable same(2);
  Dataset data;
  for (int p = 0; p < 5; ++p) {
    same.add_row()[0] = 1;
    same.end_program();
    data.add(same, p, p == 0 ? 1.0f : 0.5f);
  }
  TreeEnsemble constant;
  constant.fit(data, {});
  for (float s : scores(constant, data.features)) REQUIRE(s == Approx(0.6).margin(1e-3));
  Dataset one;
  one.add(same, 0, 0.25f);
  TreeEnsemble single;
  single.fit(one, {});
  CHECK(scores(single, one.features)[0] == Approx(0.25));
}

TEST_CASE("more distinct values than bins still split where it matters") {
  FeatureTable table(1);
  Dataset data;
  for (int p = 0; p < 3000; ++p) {
    table.add_row()[0] = static_cast<float>(p);
    table.end_program();
  }
  for (int p = 0; p < 3000; ++p) data.add(table, p, p < 1500 ? 0.2f : 0.8f);
  TreeEnsemble trees;
  trees.fit(data, {});
  const std::vector<float> s = scores(trees, data.features);
  CHECK(s[100] == Approx(0.2).margin(0.02));
  CHECK(s[2900] == Approx(0.8).margin(0.02));
}

TEST_CASE("the first split is the best of all, with few rows and with many") {
  for (std::size_t rows : {2, 3, 5, 8, 13, 40, 200}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      Random random(mix64(rows, seed));
      Dataset data;
      data.features = FeatureTable(4);
      for (std::size_t r = 0; r < rows; ++r) {
        std::span<float> row = data.features.add_row();
        for (std::size_t f = 0; f < 4; ++f) row[f] = static_cast<float>(random.below(f == 0 ? 2 : 100)) - 50;
        data.features.end_program();
        data.label.push_back(static_cast<float>(random.uniform()));
        data.workload.push_back(0);
      }
      TreeOptions options;
      options.trees = options.depth = 1;
      options.bins = 255;
      options.learning_rate = 1;
      options.lambda = 0;
      options.min_child = 1;
      TreeEnsemble tree;
      tree.fit(data, options);
      const std::vector<float> fitted = scores(tree, data.features);
      auto loss = [&](auto&& answer) {
        double sum = 0;
        for (std::size_t r = 0; r < rows; ++r) sum += std::pow(answer(r) - data.label[r], 2);
        return sum;
      };
      double best = 1e9;
      for (std::size_t f = 0; f < 4; ++f) {
        for (std::size_t cut = 0; cut < rows; ++cut) {
          const float threshold = data.features.row(cut)[f];
          double sum[2] = {}, count[2] = {};
          auto side = [&](std::size_t r) { return data.features.row(r)[f] > threshold; };
          for (std::size_t r = 0; r < rows; ++r) {
            sum[side(r)] += data.label[r];
            ++count[side(r)];
          }
          best = std::min(best, loss([&](std::size_t r) { return sum[side(r)] / count[side(r)]; }));
        }
      }
      CAPTURE(rows, seed);
      CHECK(loss([&](std::size_t r) { return fitted[r]; }) == Approx(best).margin(1e-5));
    }
  }
}
