// One candidate in this process: for `lathe run`, debuggers and benchmarks. Nothing here survives a bad kernel.

#include <algorithm>

#include "lathe/prepare.h"
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
  std::vector<char> object;
  std::optional<PreparedCode> kernel;
  try {
    object = compile_prepared_object(scheduled, target);
    kernel = link_prepared(scheduled->name, target, object);
  } catch (const UserError& e) {
    return failed_by(e, records::Failure::Compile);
  }
  Measurement m;
  m.object_bytes = object.size();
  m.binary = digest_of({object.data(), object.size()});
  std::vector<char> memory(Reference::bytes(original) + 64);
  const std::size_t ahead = 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
  Reference reference(original, memory.data() + ahead);
  reference.compute(target);

  Arguments arguments;
  std::vector<void*> addresses;
  std::int32_t status = LATHE_OK;
  const auto call = [&] { status = std::max(status, kernel->run(addresses.data())); };
  const auto right = [&](const Inputs& inputs, Data data) {
    arguments = inputs.arguments();
    addresses = arguments.addresses();
    status = std::max(status, kernel->prepare(addresses));  // constants, which no sample times
    call();
    return status == LATHE_OK && reference.accepts(m, arguments, data) && inputs.untouched(m, arguments);
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
