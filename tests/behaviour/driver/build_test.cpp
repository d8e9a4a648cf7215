#include "lathe/build.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "behaviour/driver/files.h"
#include "lathe/artefact.h"
#include "lathe/emit.h"
#include "lathe/runtime/fill.h"
#include "lathe/runtime/module.h"

using namespace lathe;
using test::Folder;

namespace {

/// C = A B with constant B, 3x5 by 5x20.
Program constant_matmul() {
  Tensor a = placeholder("A", {3, 5}, f32), b = placeholder("B", {5, 20}, f32, Constant);
  Axis r = reduce_axis(5, "k");
  Tensor c = compute("C", {3, 20}, [&](Var i, Var j) { return sum(a(i, r) * b(r, j), {r}); });
  return program("mm", {a, b}, {c});
}

Workload workload(const Program& p) {
  Workload w;
  w.spec = p->name + "(test=1):f32";
  w.program = p;
  return w;
}

Schedule packed(const Program& p, std::int64_t width) {
  Schedule s(p);
  const BlockRef copy = s.transform_layout(s.block("C"), 1, [&] {
    Var k("k"), j("j");
    return IndexMap{{k, j}, {floordiv(j, width), k, floormod(j, width)}};
  }());
  s.parallel(s.loops(copy)[0]);
  return s;
}

void record(RecordStore& store, const Workload& w, const Target& target, const Schedule& s,
            const records::Provenance& provenance = this_provenance()) {
  records::Trial trial;
  trial.key = store.intern(record_key(w, target));
  trial.trace = s.trace().to_json(true);
  trial.scheduled = structural_hash(s.program());
  trial.times = {1e-3, 1e-3};
  trial.regime = records::Regime::Warm;
  trial.verification = {true, 0.0, 1.0, "unscheduled"};
  trial.provenance = provenance;
  trial.created_us = 1;
  const records::Trial batch[] = {trial};
  store.insert(batch);
}

Target level(const std::string& name) { return Target::parse(name); }

std::string message(const std::function<void()>& refused) {
  try {
    refused();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

const BuiltFile& file(const Artefact& a, const std::string& name) {
  return *std::find_if(a.files.begin(), a.files.end(), [&](const BuiltFile& f) { return f.name == name; });
}

const char* const kMain = R"(
#include "kernels.h"
#include <stdio.h>

static float a[16] __attribute__((aligned(64))), b[100] __attribute__((aligned(64))), c[60] __attribute__((aligned(64)));
static unsigned char weights[MM_B_PREPARED_BYTES] __attribute__((aligned(64)));

int main(void) {
  for (int i = 0; i < 15; ++i) a[i] = i % 4 - 1;
  for (int i = 0; i < 100; ++i) b[i] = i % 7 - 3;
  const uint64_t masks[] = {UINT64_MAX, 0x3FF, 0};
  for (int m = 0; m < 3; ++m) {
    lathe_limit_cpu_features(masks[m]);
    int code = mm_prepare(b, weights);
    if (code == 0) code = mm(a, weights, c);
    int wrong = 0;
    for (int i = 0; code == 0 && i < 3; ++i)
      for (int j = 0; j < 20; ++j) {
        float want = 0;
        for (int k = 0; k < 5; ++k) want += a[i * 5 + k] * b[k * 20 + j];
        wrong += c[i * 20 + j] != want;
        c[i * 20 + j] = -99;
      }
    printf("%d %d %s\n", code, wrong, code ? lathe_last_error() : "");
  }
  return 0;
}
)";

}  // namespace

TEST_CASE("a C program runs each level of an artefact, and gets an error where none fits") {
  // One level packs the weights, another takes its default schedule; the caller sees one signature.
  const Workload w = workload(constant_matmul());
  RecordStore store = RecordStore::in_memory(store_options());
  record(store, w, level("x86-64-v3"), packed(w.program, 16));
  const Artefact artefact =
      build({{"mm", w}}, {level("x86-64-v2"), level("x86-64-v3")}, &store, {.on_miss = OnMiss::Default});
  Folder folder;
  artefact.write(folder.path.string());
  CHECK(test::run_c_program(folder, kMain, "kernels.o kernels.x86_64_v2.o kernels.x86_64_v3.o") ==
        "0 0 \n"
        "0 0 \n"
        "13 0 mm_prepare: this CPU has not the features of any level it was built for (x86-64-v3, "
        "x86-64-v2)\n");
  CHECK(test::run_c_program(folder, kMain, "libkernels.a").rfind("0 0 \n0 0 \n13 ", 0) == 0);
  REQUIRE(artefact.schedules.size() == 2);
  CHECK(artefact.schedules[0].recorded);
  CHECK_FALSE(artefact.schedules[1].recorded);
}

TEST_CASE("the files are those that were announced, and the same bytes every time") {
  const NamedWorkload w{"mm", workload(constant_matmul())};
  const std::vector<Target> targets = {level("x86-64-v2"), level("zen3")};
  const BuildOptions options{.name = "net", .prefix = "p_", .hidden = false, .on_miss = OnMiss::Default};
  const Artefact first = build({w}, targets, nullptr, options), again = build({w}, targets, nullptr, options);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < first.files.size(); ++i) {
    names.push_back(first.files[i].name);
    CHECK(first.files[i].content == again.files[i].content);
    CHECK(first.files[i].content.find("/tmp") == std::string::npos);
  }
  CHECK(names == artefact_files(targets, options));
  CHECK(names ==
        std::vector<std::string>{"net.zen3.o", "net.x86_64_v2.o", "net.o", "libnet.a", "net.h", "net.json"});
  CHECK(file(first, "net.h")
            .content.find("int32_t p_mm(const float* A, const uint8_t* B_prepared, float* C);") !=
        std::string::npos);
}

TEST_CASE(
    "a miss is an error that lists every kernel and target and says why, or a default that the manifest "
    "names") {
  const NamedWorkload a{"mm", workload(constant_matmul())}, b = NamedWorkload::parse("matmul(m=8,n=8,k=8)");
  RecordStore store = RecordStore::in_memory(store_options());
  record(store, a.workload, level("zen3"), packed(a.workload.program, 16));
  const std::string text = message([&] { build({a, b}, {level("zen3"), level("x86-64-v2")}, &store, {}); });
  CHECK(text.find("3 of 4 schedules have no record:") != std::string::npos);
  CHECK(text.find("mm for \"x86-64-v2\": mm(test=1):f32") != std::string::npos);
  CHECK(text.find("tuned for 1 other target") != std::string::npos);
  CHECK(text.find(b.name + " for \"zen3\"") != std::string::npos);
  CHECK(text.find("mm for \"zen3\"") == std::string::npos);
  CHECK(text.find("LTH-B001") != std::string::npos);
  const Artefact artefact =
      build({a, b}, {level("zen3"), level("x86-64-v2")}, &store, {.on_miss = OnMiss::Default});
  const std::string& manifest = file(artefact, "kernels.json").content;
  CHECK(manifest.find("\"from\": \"default schedule\"") != std::string::npos);
  CHECK(manifest.find("\"from\": \"record\"") != std::string::npos);
}

TEST_CASE("a kernel's name says its arguments, whatever else is built, unless a name is given") {
  const std::string name = NamedWorkload::parse("matmul(m=8,n=9,k=10)").name;
  CHECK(name.rfind("matmul_m8_n9_k10", 0) == 0);
  CHECK(name.substr(name.size() - 4) == "_f32");
  CHECK(NamedWorkload::parse("fc1=matmul(m=8)").name == "fc1");
  CHECK_THROWS_AS(NamedWorkload::parse("fc1=nonsense(m=8)"), UserError);
  CHECK_THROWS_AS(
      build({{"a b", workload(constant_matmul())}}, {level("zen3")}, nullptr, {.on_miss = OnMiss::Default}),
      UserError);
}

TEST_CASE("of two targets with the same features the last is built; different architectures do not mix") {
  const NamedWorkload w{"mm", workload(constant_matmul())};
  const Target a = level("x86-64-v3");
  Target b = a;
  b.name = "mine";
  const Artefact artefact = build({w}, {a, b}, nullptr, {.on_miss = OnMiss::Default});
  CHECK(artefact.left_out == std::vector<std::string>{"x86-64-v3"});
  CHECK(artefact.files[0].name == "kernels.mine.o");
  CHECK(message([&] {
          build({w}, {a, level("neoverse-v1")}, nullptr, {.on_miss = OnMiss::Default});
        }).find("one artefact is for one architecture") != std::string::npos);
  CHECK(message([&] { build({w}, {}, nullptr, {}); }).find("no target was given") != std::string::npos);
}

TEST_CASE(
    "a loaded artefact runs the level that the CPU's features allow, and refuses files that were changed") {
  const Workload w = workload(constant_matmul());
  RecordStore store = RecordStore::in_memory(store_options());
  record(store, w, level("x86-64-v2"), packed(w.program, 8));
  const Artefact artefact = build({{"mm", w}}, {level("x86-64-v2")}, &store, {});
  Folder folder;
  artefact.write(folder.path.string());
  const LoadedArtefact loaded = LoadedArtefact::load(folder.path.string());
  REQUIRE(loaded.kernels().size() == 1);
  const ArtefactKernel& kernel = loaded.kernels()[0];
  CHECK(structural_equal(kernel.program, w.program));
  REQUIRE(kernel.prepared.size() == 1);
  CHECK(kernel.prepared[0].tensor == 1);
  CHECK(kernel.prepared[0].bytes == 3 * 5 * 8 * 4);
  CHECK(loaded.levels()[0].runs_here);

  runtime::Tensor a(f32, {3, 5}), b(f32, {5, 20}), c(f32, {3, 20}), p(u8, {kernel.prepared[0].bytes});
  runtime::fill_integers(a, 1, -3, 3);
  runtime::fill_integers(b, 2, -3, 3);
  void* once[] = {b.data(), p.data()};
  void* often[] = {a.data(), p.data(), c.data()};
  REQUIRE(loaded.function("mm_prepare")(once, nullptr) == LATHE_OK);
  REQUIRE(loaded.function("mm")(often, nullptr) == LATHE_OK);
  double want = 0;
  for (std::int64_t k = 0; k < 5; ++k) want += a.value(2 * 5 + k) * b.value(k * 20 + 19);
  CHECK(c.value(2 * 20 + 19) == want);

  std::ofstream(folder.file("kernels.h"), std::ios::app) << "\n";
  CHECK(message([&] { LoadedArtefact::load(folder.path.string()); }).find("is not the file that was built") !=
        std::string::npos);
  std::ofstream(folder.file("kernels.json")) << std::string(100'000, '[');
  CHECK(message([&] { LoadedArtefact::load(folder.path.string()); }).find("nested too deeply") !=
        std::string::npos);
  std::ofstream(folder.file("kernels.json")) << "{";
  CHECK(message([&] { LoadedArtefact::load(folder.path.string()); }).find("its manifest is damaged") !=
        std::string::npos);
}

TEST_CASE("a record that no longer replays stops the build with the step that fails") {
  const Workload w = workload(constant_matmul());
  Schedule s = packed(w.program, 16);
  RecordStore store = RecordStore::in_memory(store_options());
  records::Trial trial;
  trial.key = store.intern(record_key(w, level("zen3")));
  std::string trace = s.trace().to_json(true);
  const std::size_t at = trace.find("transform_layout");
  trace.replace(at, std::string("transform_layout").size(), "transform_nothing");
  trial.trace = trace;
  trial.scheduled = structural_hash(s.program());
  trial.times = {1e-3};
  trial.regime = records::Regime::Warm;
  trial.verification = {true, 0.0, 1.0, "unscheduled"};
  const records::Trial batch[] = {trial};
  store.insert(batch);
  const std::string text = message([&] {
    build({{"mm", w}}, {level("zen3")}, &store, {.on_miss = OnMiss::Default});
  });
  CHECK(text.find("LTH-B002") != std::string::npos);
  CHECK(text.find("transform_nothing") != std::string::npos);
}

TEST_CASE("a record of an older version is built from, and the manifest names both versions") {
  const Workload w = workload(constant_matmul());
  RecordStore store = RecordStore::in_memory(store_options());
  records::Provenance older = this_provenance();
  older.lathe = "0.0.1";
  record(store, w, level("zen3"), packed(w.program, 16), older);
  const Artefact artefact = build({{"mm", w}}, {level("zen3")}, &store, {});
  REQUIRE(artefact.schedules.size() == 1);
  CHECK(artefact.schedules[0].recorded);
  CHECK(artefact.schedules[0].note.find("0.0.1") != std::string::npos);
  CHECK(artefact.schedules[0].note.find(version()) != std::string::npos);
  CHECK(file(artefact, "kernels.json").content.find("0.0.1") != std::string::npos);
}

TEST_CASE("kernels are made, called and released on several threads at once") {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 8; ++round) {
        Tensor x = placeholder("x", {16}, f32);
        Tensor y = compute("y", {16}, [&](Var i) { return x(i) + static_cast<float>(t); });
        const Kernel kernel = compile(program("same_name", {x}, {y}), Target::host());
        runtime::Tensor in(f32, {16}), out(f32, {16});
        kernel({&in, &out});
        wrong += out.value(15) != t;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("a thread that ran a kernel may end after its module is gone") {
  Tensor x = placeholder("x", {64, 64}, f64);
  Tensor y = compute("y", {64, 64}, [&](Var i, Var j) { return x(i, j) * 2.0; });
  Tensor z =
      compute("z", {64, 64}, [&](Var i, Var j) { return y(j, i) + 1.0; });  // y: a workspace of the thread's
  Folder folder;
  emit_object({program("transposed", {x}, {z})}, Target::host(), folder.file("kernels"));
  test::shell(std::string(TEST_CC) + " -shared -o " + folder.file("kernels.so") + " " +
              folder.file("kernels.o"));
  std::optional<runtime::Module> module = runtime::Module::open(folder.file("kernels.so"));
  std::atomic<bool> ran{false}, gone{false};
  double value = 0;
  std::thread thread([&] {
    runtime::Tensor in(f64, {64, 64}), out(f64, {64, 64});
    in.set_value(1, 3);
    module->kernel("transposed")({&in, &out});
    value = out.value(64);
    ran = true;
    while (!gone) std::this_thread::yield();
  });
  while (!ran) std::this_thread::yield();
  module.reset();
  gone = true;
  thread.join();
  CHECK(value == 7);
}

TEST_CASE("eight threads call a parallel kernel of a fresh module at once, each on its own data") {
  Tensor x = placeholder("x", {5000}, f32);
  Tensor y = compute("y", {5000}, [&](Var i) { return x(i) * 2.f; });
  Schedule s(program("twice", {x}, {y}));
  s.parallel(s.loops(s.block(y))[0]);
  Folder folder;
  emit_object({s.program()}, Target::host(), folder.file("kernels"));
  test::shell(std::string(TEST_CC) + " -shared -o " + folder.file("kernels.so") + " " +
              folder.file("kernels.o"));
  const runtime::Module module = runtime::Module::open(folder.file("kernels.so"));
  const runtime::Kernel kernel = module.kernel("twice");
  std::atomic<int> ready{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      runtime::Tensor in(f32, {5000}), out(f32, {5000});
      for (std::int64_t i = 0; i < 5000; ++i) in.set_value(i, static_cast<double>(i + t));
      ++ready;
      while (ready < 8) std::this_thread::yield();  // the first calls come at once
      for (int round = 0; round < 50; ++round) {
        runtime::fill_poison(out);
        kernel({&in, &out});
        for (std::int64_t i = 0; i < 5000; ++i) wrong += out.value(i) != 2.0 * static_cast<double>(i + t);
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("each field of a workload alone makes another key") {
  const std::string base = "conv2d(n=1,h=8,w=8,ci=4,co=4)";
  std::vector<std::string> specs = {base + ":f32", base + ":f64", "matmul(m=8,n=8,k=8):f32"};
  const WorkloadKind* conv = nullptr;
  const std::vector<WorkloadKind> kinds = workload_kinds();
  for (const WorkloadKind& kind : kinds)
    if (kind.name == "conv2d") conv = &kind;
  REQUIRE(conv != nullptr);
  for (const std::string key : {"n", "h", "w", "ci", "co"}) specs.push_back("conv2d(" + key + "=16):f32");
  std::vector<Digest> hashes;
  for (const std::string& spec : specs)
    hashes.push_back(record_key(Workload::parse(spec), level("zen3")).workload.program);
  std::sort(hashes.begin(), hashes.end());
  CHECK(std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end());
}
