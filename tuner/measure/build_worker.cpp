// The worker that compiles candidates. It runs none of their code, so one process serves many of them; the session
// replaces it when the compiler takes it down, and now and then in any case.

#include <chrono>

#include "lathe/prepare.h"
#include "lathe/runtime/timer.h"
#include "tuner/measure/child_process.h"
#include "tuner/measure/messages.h"

namespace lathe::tuner {
namespace {

Frame build(const nlohmann::json& request) {
  Frame reply;
  Measurement m;
  const runtime::Timer timer;
  try {
    const Program program = program_from_json(request.at("program").get<std::string>());
    const Target target = Target::from_json(request.at("target").get<std::string>());
    const std::vector<char> object = compile_prepared_object(program, target);
    reply.bytes.assign(object.begin(), object.end());
    m.object_bytes = object.size();
  } catch (const ScheduleError& e) {
    m = failed_by(e, records::Failure::Lowering);
  } catch (const std::exception& e) {
    m = failed_by(e, records::Failure::Compile);
  }
  reply.header = to_message(m);
  reply.header["build_seconds"] = timer.seconds();
  return reply;
}

}  // namespace

int serve_builds() {
  Frame request;
  bool limited = false;
  while (read_frame(kToSession, request, {}) == Transfer::Done) {
    if (!limited) limit_this_process(request.header.at("memory").get<std::uint64_t>());
    limited = true;
    if (write_frame(kToSession, build(request.header), {}) != Transfer::Done) return 1;
  }
  return 0;
}

}  // namespace lathe::tuner
