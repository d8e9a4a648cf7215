#include "tuner/measure/builders.h"

#include <poll.h>

#include <algorithm>

#include "support/error_codes/tuner.h"
#include "tuner/measure/messages.h"

namespace lathe::tuner {
namespace {

/// A worker is replaced after so many builds: whatever a compiler keeps, it keeps for a bounded time.
constexpr int kBuildsOfOneWorker = 256;

}  // namespace

struct Builders::Slot {
  std::unique_ptr<Worker> worker;
  int builds = 0;
  int candidate = -1;  ///< at work on it; -1: idle
  AwakeTimer since;
};

Builders::Builders(WorkerCommand command, int count, std::uint64_t memory_bytes)
    : command_(std::move(command)), memory_bytes_(memory_bytes) {
  for (int i = 0; i < std::max(1, count); ++i) slots_.push_back(std::make_shared<Slot>());
}

void Builders::take_up(Slot& slot, int candidate, const Target& target, const Program& program,
                       const MeasureOptions& options) {
  if (!slot.worker || slot.builds >= kBuildsOfOneWorker) {
    slot.worker = std::make_unique<Worker>(command_, kBuildRole);
    slot.builds = 0;
  }
  ++slot.builds;
  slot.candidate = candidate;
  slot.since = {};
  const Frame request{
      {{"program", to_json(program)}, {"target", target.to_json()}, {"memory", memory_bytes_}}, {}};
  // A worker that is gone shows when its answer is read.
  slot.worker->send(request, {.seconds = options.timeout, .stop = nullptr});
}

/// The worker of `slot` has something to say, or its time is up.
void Builders::finish(Slot& slot, Build& build, const MeasureOptions& options) {
  const double left = options.timeout - slot.since.seconds();
  Frame reply;
  const Transfer t = slot.worker->receive(reply, {.seconds = std::max(left, 1e-3), .stop = nullptr});
  try {
    if (t == Transfer::Done) {
      build.result = measurement_from(reply.header);
      build.result.build_seconds = reply.header.at("build_seconds").get<double>();
      build.object = std::move(reply.bytes);
      if (build.result.failure == records::Failure::None) build.result.binary = digest_of(build.object);
    }
  } catch (const nlohmann::json::exception&) {
    build.result = failed(records::Failure::Compile, "the compiler's answer cannot be read");
  }
  if (t != Transfer::Done) {
    const Death death = slot.worker->bury();
    if (t == Transfer::TimedOut) {
      build.result =
          failed(records::Failure::Timeout, "not compiled within " + format_seconds(options.timeout));
    } else if (death.failure == records::Failure::Other) {
      throw UserError(code::U030, "cannot run \"" + command_.program + "\" to measure: " + death.text);
    } else {
      const bool memory = death.failure == records::Failure::OutOfMemory;
      build.result = failed(memory ? death.failure : records::Failure::Compile, "the compiler " + death.text);
      const std::string words = slot.worker->last_words();
      if (!words.empty()) build.result.error_text += "; it said: " + words;
    }
    slot.worker.reset();
  }
  slot.candidate = -1;
}

std::vector<Build> Builders::build(const Target& target, std::span<const Candidate> batch,
                                   const MeasureOptions& options) {
  std::vector<Build> builds(batch.size());
  std::size_t next = 0, done = 0;
  while (done < batch.size()) {
    if (options.stop && options.stop()) {
      for (auto& slot : slots_) {
        if (slot->candidate >= 0) *slot = Slot();  // what it is at is of no use to anybody
      }
      return {};
    }
    std::vector<pollfd> waiting;
    std::vector<Slot*> busy;
    for (auto& slot : slots_) {
      if (slot->candidate < 0 && next < batch.size()) {
        take_up(*slot, static_cast<int>(next), target, batch[next].scheduled, options);
        ++next;
      }
      if (slot->candidate < 0) continue;
      waiting.push_back({slot->worker->socket(), POLLIN, 0});
      busy.push_back(slot.get());
    }
    poll(waiting.data(), waiting.size(), 50);
    for (std::size_t i = 0; i < busy.size(); ++i) {
      if (waiting[i].revents == 0 && busy[i]->since.seconds() < options.timeout) continue;
      finish(*busy[i], builds[static_cast<std::size_t>(busy[i]->candidate)], options);
      ++done;
    }
  }
  return builds;
}

}  // namespace lathe::tuner
