// One candidate: compile, verify, time.
//
// The reference is the unscheduled program, compiled as plain scalar loops. Two runs are compared: signed random data
// within a tolerance, and small integers, exactly, where the program only adds and multiplies. The tolerance of an element
// is c * eps * (1 + log2 K) * max(|reference|, |reference on absolute values|), with c = 32, eps of the output's type and K
// the greatest reduce extent: rounding errors of a sum are bounded by its absolute terms, not by its value.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/visitor.h"
#include "lathe/compile.h"
#include "lathe/runtime/fill.h"
#include "lathe/runtime/timer.h"
#include "lathe/tuner.h"
#include "support/error_codes/tuner.h"

namespace lathe {
namespace {

constexpr double kRoundings = 32;

struct Arguments {
  std::vector<runtime::Tensor> tensors;
  std::vector<bool> output;

  std::vector<runtime::Tensor*> pointers() {
    std::vector<runtime::Tensor*> out;
    for (runtime::Tensor& t : tensors) out.push_back(&t);
    return out;
  }
};

enum class Data { Random, Absolute, Integers };

Arguments make_arguments(const Program& program, Data data) {
  Arguments out;
  std::uint64_t seed = 11;
  for (const Param& p : program->params) {
    if (p.role == ParamRole::Size)
      throw UserError(code::U020,
                      "tuning over run-time sizes is not possible; give the workload constant sizes");
    std::vector<std::int64_t> shape;
    for (const Expr& e : p.buffer->shape) shape.push_back(*as_int(e));
    runtime::Tensor t(p.buffer->dtype, shape, {.alignment = 64, .guard_bytes = 256});
    const bool written = p.role == ParamRole::Output;
    ++seed;
    if (written) {
      runtime::fill_poison(t);
    } else if (data == Data::Integers) {
      runtime::fill_integers(t, seed, -3, 3);
    } else {
      for (std::int64_t i = 0; i < t.size(); ++i) {
        // A cheap generator is enough: signed values of different sizes, the same for every candidate.
        std::uint64_t x =
            seed * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(i) * 0xBF58476D1CE4E5B9ULL;
        x ^= x >> 29;
        x *= 0x94D049BB133111EBULL;
        x ^= x >> 32;
        const double v = static_cast<double>(static_cast<std::int64_t>(x >> 11) - (std::int64_t{1} << 52)) /
                         static_cast<double>(std::int64_t{1} << 52);
        t.set_value(i, data == Data::Absolute ? std::abs(v) : v);
      }
    }
    out.tensors.push_back(std::move(t));
    out.output.push_back(written || p.role == ParamRole::InOut);
  }
  return out;
}

bool only_adds_and_multiplies(const Program& program) {
  bool plain = true;
  walk(program->body, {}, [&](const Expr& e) {
    const Call* c = e.as<Call>();
    plain &= !(c && c->op < Intrinsic::Fma) && !(e.dtype().is_float() && as_binary(e, BinaryOp::Div));
    return plain;
  });
  return plain;
}

double longest_reduction(const Program& program) {
  double most = 1;
  walk(program->body, [&](const Stmt& s) {
    const Block* b = s.as<Block>();
    if (!b) return true;
    double product = 1;
    for (const IterVar& i : b->iters) {
      if (i.kind == IterKind::Reduce) product *= static_cast<double>(as_int(i.extent).value_or(1));
    }
    most = std::max(most, product);
    return true;
  });
  return most;
}

double epsilon(const runtime::Tensor& t) {
  const DLDataType type = t.type();
  if (type.code == kDLBfloat) return std::ldexp(1.0, -8);
  if (type.code != kDLFloat) return 0;
  return type.bits == 64   ? std::ldexp(1.0, -53)
         : type.bits == 32 ? std::ldexp(1.0, -24)
                           : std::ldexp(1.0, -11);
}

/// Compares outputs; fills in the failure.
bool accepts(Measurement& m, Arguments& have, const Arguments& want, const Arguments* magnitude,
             double reduction) {
  for (std::size_t i = 0; i < have.tensors.size(); ++i) {
    runtime::Tensor& t = have.tensors[i];
    if (auto broken = t.broken_guard()) {
      m.failure = records::Failure::OutOfBounds;
      m.error_text = "argument " + std::to_string(i) + ": " + *broken;
      return false;
    }
    if (!have.output[i]) continue;
    const double unit = kRoundings * epsilon(t) * (1 + std::log2(1 + reduction));
    for (std::int64_t e = 0; e < t.size(); ++e) {
      const double x = t.value(e), y = want.tensors[i].value(e);
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      const double scale = magnitude ? std::max(std::abs(y), std::abs(magnitude->tensors[i].value(e))) : 0;
      const double error = std::abs(x - y), allowed = unit * scale;
      if (allowed > 0) m.max_error = std::max(m.max_error, error / allowed);
      if (!(error <= allowed)) {
        m.failure = std::isnan(x) ? records::Failure::IncompleteOutput : records::Failure::WrongResult;
        m.error_text = "element " + std::to_string(e) + " is " + std::to_string(x) + ", expected " +
                       std::to_string(y) + " within " + std::to_string(allowed);
        return false;
      }
    }
  }
  return true;
}

}  // namespace

double Measurement::p10() const {
  if (seconds.empty()) return 0;
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 10];
}

Measurement measure_here(const Program& original, const Program& scheduled, const Target& target,
                         double give_up_above) {
  Measurement m;
  std::optional<Kernel> kernel;
  try {
    kernel = compile(scheduled, target);
  } catch (const UserError& e) {
    m.failure = records::Failure::Compile;
    m.error_code = std::string(describe(e.code()).id);
    m.error_text = e.what();
    return m;
  }
  m.object_bytes = kernel->object().size();
  const Kernel reference = compile(original, target, {.optimize = false, .on_pass = {}});
  const double reduction = longest_reduction(original);
  auto run = [&](const Kernel& k, Data data) {
    Arguments a = make_arguments(original, data);
    k(a.pointers());
    return a;
  };
  // The candidate first, once, to give up on the hopeless before the slow reference runs.
  Arguments have = make_arguments(original, Data::Random);
  runtime::Timer first;
  (*kernel)(have.pointers());
  const double once = first.seconds();
  if (give_up_above > 0 && once > 3 * give_up_above) {
    (*kernel)(have.pointers());  // the first call pays for cold caches
  }
  const Arguments magnitude = run(reference, Data::Absolute), want = run(reference, Data::Random);
  if (!accepts(m, have, want, &magnitude, reduction)) return m;
  if (only_adds_and_multiplies(original)) {
    Arguments integers = run(*kernel, Data::Integers);
    const Arguments exact = run(reference, Data::Integers);
    if (!accepts(m, integers, exact, nullptr, reduction)) return m;
  }
  // Short samples: enough of them, in bounded time.
  std::vector<void*> addresses;
  for (runtime::Tensor& t : have.tensors) addresses.push_back(t.data());
  const int calls = std::max(1, static_cast<int>(2e-4 / std::max(once, 1e-7)));
  runtime::Timer total;
  while (m.seconds.size() < 10 || (m.seconds.size() < 40 && total.seconds() < 0.15)) {
    runtime::Timer sample;
    for (int c = 0; c < calls; ++c) kernel->run(addresses.data(), nullptr);
    m.seconds.push_back(sample.seconds() / calls);
    if (give_up_above > 0 && m.seconds.size() >= 2 &&
        *std::min_element(m.seconds.begin(), m.seconds.end()) > 3 * give_up_above)
      break;
    if (total.seconds() > 5 && m.seconds.size() >= 3) break;
  }
  return m;
}

}  // namespace lathe
