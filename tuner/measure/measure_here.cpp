// One candidate in this process: for `lathe run`, debuggers and benchmarks. Nothing here survives a bad kernel.

#include <algorithm>

#include "lathe/compile.h"
#include "tuner/measure/messages.h"
#include "tuner/measure/timing.h"
#include "tuner/measure/verify.h"

namespace lathe {

double Measurement::p10() const {
  if (seconds.empty()) return 0;
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 10];
}

Measurement measure_here(const Program& original, const Program& scheduled, const Target& target,
                         double give_up_above) {
  using namespace tuner;
  std::optional<Kernel> kernel;
  try {
    kernel = compile(scheduled, target);
  } catch (const UserError& e) {
    return failed_by(e, records::Failure::Compile);
  }
  Measurement m;
  m.object_bytes = kernel->object().size();
  m.binary = digest_of({kernel->object().data(), kernel->object().size()});
  std::vector<char> memory(Reference::bytes(original) + 64);
  const std::size_t ahead = 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
  Reference reference(original, memory.data() + ahead);
  reference.compute(target);

  Arguments arguments;
  std::vector<void*> addresses;
  std::int32_t status = LATHE_OK;
  const auto call = [&] { status = std::max(status, kernel->run(addresses.data(), nullptr)); };
  const auto right = [&](const Inputs& inputs, Data data) {
    arguments = inputs.arguments();
    addresses = arguments.addresses();
    call();
    return status == LATHE_OK && reference.accepts(m, arguments, data);
  };
  const Inputs random(original, Data::Random);
  if ((!reference.exact() || right(Inputs(original, Data::Integers), Data::Integers)) &&
      right(random, Data::Random)) {
    std::function<void()> prepare;
    if (random.in_place()) prepare = [&] { random.restore(arguments); };
    TimingOptions options;
    options.give_up_above = give_up_above;
    options.one_call = random.in_place();
    const Samples samples = take_samples(call, prepare, options);
    m.seconds = samples.seconds;
    m.yardstick = samples.yardstick;
  }
  if (status != LATHE_OK) {
    m = failed(status == LATHE_ERROR_OUT_OF_MEMORY ? records::Failure::OutOfMemory : records::Failure::Load,
               std::string("the kernel failed: ") + lathe_last_error());
  }
  return m;
}

}  // namespace lathe
