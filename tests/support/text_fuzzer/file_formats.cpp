// Manifests of artefacts, cost models, and what a worker sends.

#include <sys/socket.h>
#include <unistd.h>

#include <bit>
#include <thread>

#include "driver/manifest.h"
#include "support/text_fuzzer/formats.h"
#include "tuner/measure/frame.h"
#include "tuner/measure/messages.h"
#include "tuner/model/model_file.h"
#include "tuner/model/pretrained.h"
#include "tuner/model/random.h"

namespace lathe::fuzz {
namespace {

using namespace tuner;

Format manifests() {
  const std::vector<Target> levels = {Target::parse("x86-64-v3"), Target::parse("zen3")};
  Artefact artefact;
  artefact.files = {{"kernels.o", "object"}, {"kernels.h", "header"}};
  std::vector<NamedWorkload> workloads;
  for (const char* text : {"fc=matmul(m=6,n=17,k=5)", "soft=softmax(m=3,n=17)"}) {
    workloads.push_back(NamedWorkload::parse(text));
    for (const Target& t : levels)
      artefact.schedules.push_back(
          {workloads.back().name, workloads.back().workload.spec, t.name, false, "", "no record"});
  }
  return {.name = "manifest",
          .samples = {driver::manifest_text(workloads, levels, artefact, {}, {})},
          .words = {"null", "[]", "{}", "\"gpu\"", "\"record\""},
          .json = true,
          .lines = false,
          .read = [](const std::string& text, std::size_t) { driver::read_manifest(text, "kernels.json"); }};
}

constexpr std::uint64_t kFeatures = 1;
constexpr std::size_t kWidth = 4;

FeatureTable random_features(std::size_t programs) {
  tuner::Random random(3);
  FeatureTable table(kWidth);
  for (std::size_t p = 0; p < programs; ++p) {
    for (float& v : table.add_row()) v = static_cast<float>(4 * random.uniform() - 2);
    table.end_program();
  }
  return table;
}

/// FNV-1a over 64 bits: what write_model_file puts at the end, so that damage reaches what is behind the checksum.
void seal(std::vector<std::uint8_t>& file) {
  std::uint64_t h = 14695981039346656037u;
  for (const std::uint8_t byte : file) h = (h ^ byte) * 1099511628211u;
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<std::uint8_t>(h >> (8 * i)));
}

void read_model(const std::string& payload, std::size_t) {
  ByteWriter header;
  header.word(ModelFormatVersion);
  header.word(kFeatures);
  header.word(payload.size());
  const std::string_view magic = "LATHEMDL";
  std::vector<std::uint8_t> file(magic.begin(), magic.end());
  file.insert(file.end(), header.bytes().begin(), header.bytes().end());
  file.insert(file.end(), payload.begin(), payload.end());
  seal(file);
  const PretrainedModel model = PretrainedModel::from_bytes(file, "damaged.model", kFeatures, kWidth);
  must(model.predict(random_features(9)).size() == 9, "it does not answer for every program");
}

Format models() {
  Dataset data;
  const FeatureTable table = random_features(60);
  for (std::size_t p = 0; p < 60; ++p) data.add(table, p, 0.5f + 0.1f * table.row(p)[0], 7);
  PretrainOptions options;
  options.tree.trees = 5;
  options.tree.depth = 3;
  options.networks = 1;
  options.network.width = 8;
  options.network.epochs = 2;
  const auto path = std::filesystem::temp_directory_path() / ("lathe-fuzz-model-" + std::to_string(getpid()));
  PretrainedModel::train(data, options).save(path, kFeatures);
  const std::vector<std::uint8_t> payload = read_model_file(path, kFeatures);
  std::filesystem::remove(path);
  return {.name = "model",
          .samples = {std::string(payload.begin(), payload.end())},
          .words = {std::string(8, '\0'), std::string(8, '\xff'), std::string("\0\0\xc0\x7f", 4)},
          .json = false,
          .lines = false,
          .read = read_model};
}

/// Through a pair of sockets, as from a worker that overwrote its own memory.
void read_answer(const std::string& bytes, std::size_t) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) throw std::runtime_error("no sockets");
  std::thread worker([&] {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t n = send(pair[1], bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) break;
      sent += static_cast<std::size_t>(n);
    }
    shutdown(pair[1], SHUT_WR);
  });
  Frame frame;
  const Transfer transfer = read_frame(pair[0], frame, {.seconds = 60, .stop = nullptr});
  close(pair[0]);
  worker.join();
  close(pair[1]);
  if (transfer != Transfer::Done) return;
  try {
    measurement_from(frame.header);
  } catch (const nlohmann::json::exception&) {  // what its callers expect
  }
}

Format answers() {
  Measurement m = failed(records::Failure::Crash, "died of SIGSEGV", "LTH-U030");
  m.seconds = {1e-3, 2e-3};
  const std::string header = to_message(m).dump(), object = "object";
  const std::uint64_t lengths[] = {0x31656d6172464c74, header.size(), object.size()};
  const std::string sample =
      std::string(reinterpret_cast<const char*>(lengths), sizeof lengths) + header + object;
  return {.name = "answer",
          .samples = {sample},
          .words = {std::string(4, '\0'), "\"failure\":300", "null", "1e999"},
          .json = false,
          .lines = false,
          .read = read_answer};
}

}  // namespace

std::vector<Format> file_formats() { return {manifests(), models(), answers()}; }

}  // namespace lathe::fuzz
