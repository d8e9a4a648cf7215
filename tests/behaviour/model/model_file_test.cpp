#include "tuner/model/model_file.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <random>

#include "lathe/error.h"
#include "support/error_codes/tuner.h"
#include "synthetic.h"
#include "tuner/model/pretrained.h"

using namespace lathe;
using namespace lathe::tuner;

namespace {

struct TemporaryFolder {
  TemporaryFolder() {
    Random random(std::random_device{}());
    path = std::filesystem::temp_directory_path() / ("lathe_model_file_" + std::to_string(random.next()));
    std::filesystem::create_directory(path);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Code of the error that reading gives, or nothing when it succeeds.
std::optional<Code> refusal(const std::filesystem::path& path, std::uint64_t feature_set,
                            std::size_t width = 4) {
  try {
    PretrainedModel::load(path, feature_set, width);
    return std::nullopt;
  } catch (const UserError& error) {
    CHECK(std::string(error.what()).find(path.string()) != std::string::npos);
    return error.code();
  }
}

PretrainedModel small_model() {
  PretrainOptions options;
  options.tree.trees = 5;
  options.tree.depth = 3;
  options.networks = 1;
  options.network.width = 8;
  options.network.epochs = 2;
  return PretrainedModel::train(synthetic(60, 1), options);
}

}  // namespace

TEST_CASE("a model answers the same after saving and loading") {
  TemporaryFolder folder;
  const PretrainedModel model = small_model();
  model.save(folder.path / "m.model", 12);
  const PretrainedModel loaded = PretrainedModel::load(folder.path / "m.model", 12, 4);
  const FeatureTable features = synthetic(50, 9).features;
  CHECK(loaded.predict(features) == model.predict(features));
  loaded.save(folder.path / "again.model", 12);
  CHECK(read_bytes(folder.path / "again.model") == read_bytes(folder.path / "m.model"));
}

TEST_CASE("a model file is refused when anything about it differs") {
  TemporaryFolder folder;
  const auto path = folder.path / "m.model";
  small_model().save(path, 12);
  const std::string good = read_bytes(path);

  CHECK(refusal(path, 12) == std::nullopt);
  CHECK(refusal(path, 13) == code::U003);
  CHECK(refusal(path, 12, 5) == code::U003);
  CHECK(refusal(folder.path / "absent.model", 12) == code::U001);
  CHECK(refusal(folder.path, 12) == code::U001);
  write_bytes(path, "");
  CHECK(refusal(path, 12) == code::U002);
  write_bytes(path, "SQLite format 3 and more text, longer than any header of ours is");
  CHECK(refusal(path, 12) == code::U002);
  std::string newer = good;
  newer[8] = 2;
  write_bytes(path, newer);
  CHECK(refusal(path, 12) == code::U002);
  write_bytes(path, good + "x");
  CHECK(refusal(path, 12) == code::U004);
}

TEST_CASE("every truncation and every changed byte of a model file is refused") {
  TemporaryFolder folder;
  const auto path = folder.path / "m.model";
  PretrainOptions tiny;
  tiny.tree.trees = 1;
  tiny.tree.depth = 2;
  PretrainedModel::train(synthetic(20, 1), tiny).save(path, 12);
  const std::string good = read_bytes(path);
  for (std::size_t size = 0; size < good.size(); ++size) {
    write_bytes(path, good.substr(0, size));
    REQUIRE(refusal(path, 12).has_value());
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] ^= 0x20;
    write_bytes(path, bad);
    REQUIRE(refusal(path, 12).has_value());
  }
}

TEST_CASE("a payload that lies about its lengths is refused without large allocations") {
  ByteWriter out;
  out.word(UINT64_MAX / 4);
  ByteReader floats(out.bytes(), "lie.model"), integers(out.bytes(), "lie.model");
  CHECK_THROWS_AS(floats.floats(), UserError);
  CHECK_THROWS_AS(integers.integers(), UserError);
  ByteReader trees(out.bytes(), "lie.model");
  CHECK_THROWS_AS(TreeEnsemble::load(trees), UserError);
}

TEST_CASE("saving into a folder that is not there says so and leaves nothing behind") {
  TemporaryFolder folder;
  const auto path = folder.path / "absent" / "m.model";
  try {
    small_model().save(path, 1);
    FAIL("saved into nowhere");
  } catch (const UserError& error) {
    CHECK(error.code() == code::U001);
    CHECK(std::string(error.what()) == "model file \"" + path.string() + "\": cannot be written  [LTH-U001]");
  }
  CHECK(std::filesystem::is_empty(folder.path));
}

TEST_CASE("the refusal of another feature set says which and what to do") {
  TemporaryFolder folder;
  const auto path = folder.path / "m.model";
  small_model().save(path, 3);
  try {
    PretrainedModel::load(path, 4, 4);
    FAIL("loaded");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()) ==
          "model file \"" + path.string() +
              "\": made for feature set 3, this build computes feature set 4; train it again "
              "with `lathe model train`  [LTH-U003]");
  }
}
