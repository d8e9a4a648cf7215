// Halide, in a process of its own that takes its turns when told to and keeps its own clock.
#ifdef LATHE_BENCH_HALIDE
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "../harness/bench.h"
#include "../harness/placement.h"

extern char** environ;

namespace lathe::bench {

namespace {

class Child {
 public:
  Child(std::vector<std::string> arguments, int threads) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipes");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);  // the autoschedulers talk a lot
    std::vector<char*> argv, env;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    std::string count = "HL_NUM_THREADS=" + std::to_string(threads);
    for (char** e = environ; *e != nullptr; ++e) env.push_back(*e);
    env.push_back(count.data());
    env.push_back(nullptr);
    const int failed = posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), env.data());
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    to_ = fdopen(in[1], "w");
    from_ = fdopen(out[0], "r");
    if (failed != 0) throw std::runtime_error("cannot start " + arguments[0]);
  }
  ~Child() {
    std::fclose(to_);
    std::fclose(from_);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::string line() {
    char text[256];
    if (std::fgets(text, sizeof text, from_) == nullptr)
      throw std::runtime_error("the Halide process ended early");
    return text;
  }
  std::string ask(const std::string& question) {
    std::fprintf(to_, "%s\n", question.c_str());
    std::fflush(to_);
    return line();
  }
  std::vector<float> floats(std::size_t count) {
    std::vector<float> values(count);
    if (std::fread(values.data(), sizeof(float), count, from_) != count)
      throw std::runtime_error("the Halide process ended early");
    return values;
  }

 private:
  pid_t pid_ = 0;
  FILE *to_ = nullptr, *from_ = nullptr;
};

std::string joined(const std::vector<std::int64_t>& values) {
  std::string text;
  for (std::int64_t v : values) text += (text.empty() ? "" : ",") + std::to_string(v);
  return text;
}

std::vector<Callable> halide(const Problem& p) {
  const Shape& v = p.what.params;
  const bool product = p.what.key == "GMM" && v[0] == 1 && v[1] >= 128 && v[2] >= 128 && !p.what.prepared;
  const bool convolution = p.what.key == "R50" && v[3] == 3 && v[4] == 1 && p.what.prepared;
  if (!product && !convolution) return {};
  std::vector<std::int64_t> cpus(allowed_cpus().begin(), allowed_cpus().begin() + p.threads);
  std::vector<Callable> all;
  for (const std::string schedule : {"hand", "mullapudi", "adams"}) {
    // The hand-written convolution has whole tiles only.
    if (schedule == "hand" && convolution && (v[2] % 16 != 0 || v[0] % 4 != 0)) continue;
    // Adams2019 searches for minutes; once, on one thread, is enough.
    if (schedule == "adams" && (!p.patient || p.threads > 1)) continue;
    auto child =
        std::make_shared<Child>(std::vector<std::string>{LATHE_BENCH_HALIDE, p.what.key, joined(v),
                                                         std::to_string(p.threads), schedule, joined(cpus)},
                                p.threads);
    if (child->line() != "ready\n") throw std::runtime_error("the Halide process did not get ready");
    all.push_back({"halide-" + schedule,
                   [child](int count) { return std::stod(child->ask("run " + std::to_string(count))); },
                   [child] { return child->floats(std::stoul(child->ask("result"))); }, std::nullopt});
  }
  return all;
}

const bool joined_peers =
    register_peer({"GMM", "R50"}, halide) && register_version([] { return std::string("Halide 14"); });

}  // namespace

}  // namespace lathe::bench
#endif
