#include "tuner/measure/verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/visitor.h"
#include "lathe/runtime/fill.h"
#include "support/error_codes/tuner.h"

namespace lathe::tuner {
namespace {

constexpr double kRoundings = 32, kFloorShare = 1.0 / 16;
constexpr std::uint64_t kGuardBytes = 4096;  // a page: what runs over an edge seldom stops after a few bytes
constexpr std::uint64_t kSeed = 11;

bool is_written(const Param& p) { return p.role == ParamRole::Output || p.role == ParamRole::InOut; }

std::vector<std::int64_t> shape_of(const Param& p) {
  std::vector<std::int64_t> shape;
  for (const Expr& e : p.buffer->shape) {
    const auto extent = as_int(e);
    if (!extent)
      throw UserError(code::U020,
                      "a program of run-time sizes can be built, but not measured or tuned: there is no size "
                      "to measure it at; give it "
                      "constant sizes");
    shape.push_back(*extent);
  }
  return shape;
}

void make_absolute(runtime::Tensor& t) {
  for (std::int64_t i = 0; i < t.size(); ++i) t.set_value(i, std::abs(t.value(i)));
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

/// Are all constants such that products of them with small integers are exact?
bool has_short_constants(const Program& program) {
  bool exact = true;
  walk(program->body, {}, [&](const Expr& e) {
    const FloatImm* c = e.as<FloatImm>();
    exact &= !c || !std::isfinite(c->value) || std::abs(c->value) > 1 << 20 ||
             std::ldexp(c->value, 10) == std::trunc(std::ldexp(c->value, 10));
    return exact;
  });
  return exact;
}

/// The program that bounds what it adds up: on absolute values, sums in the places of differences, and constants without signs.
/// (Of functions this would be no bound, but something very large.)
Program of_magnitudes(const Program& program) {
  return program.with_body(rewrite_exprs(program->body, [](const Expr& e) {
    if (!e.dtype().is_float()) return Expr();
    if (const FloatImm* c = e.as<FloatImm>(); c && std::isfinite(c->value) && c->value < 0)
      return make_float(e.dtype(), -c->value);
    if (const Binary* difference = as_binary(e, BinaryOp::Sub))
      return binary(BinaryOp::Add, difference->a, difference->b);
    return Expr();
  }));
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

double root_mean_square(const runtime::Tensor& t) {
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < t.size(); ++i) {
    const double v = t.value(i);
    if (!std::isfinite(v)) continue;
    sum += v * v;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

/// Elements that still have the bits of the poison although the reference has others there.
struct Unwritten {
  std::int64_t count = 0, first = -1;
};
Unwritten unwritten(const runtime::Tensor& have, const runtime::Tensor& want) {
  runtime::Tensor poison(have.type(), {1});
  runtime::fill_poison(poison);
  const std::size_t width = poison.bytes();
  const auto* h = static_cast<const char*>(have.data());
  const auto* w = static_cast<const char*>(want.data());
  Unwritten found;
  for (std::int64_t i = 0; i < have.size(); ++i, h += width, w += width) {
    if (std::memcmp(h, poison.data(), width) != 0 || std::memcmp(w, poison.data(), width) == 0) continue;
    if (found.count++ == 0) found.first = i;
  }
  return found;
}

/// Of the bytes; fast, since it is taken for each candidate.
std::uint64_t checksum(const runtime::Tensor& t) {
  constexpr std::size_t kLanes = 4;
  const auto* at = static_cast<const char*>(t.data());
  std::uint64_t lanes[kLanes] = {1, 2, 3, 4};
  std::uint64_t left = t.bytes();
  const auto mix = [](std::uint64_t h, std::uint64_t word) {
    h = (h ^ word) * 0x9E3779B97F4A7C15;
    return h ^ (h >> 29);
  };
  for (; left >= sizeof lanes; left -= sizeof lanes, at += sizeof lanes) {
    std::uint64_t words[kLanes];
    std::memcpy(words, at, sizeof words);
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = mix(lanes[i], words[i]);
  }
  for (; left > 0; --left, ++at) lanes[0] = mix(lanes[0], static_cast<unsigned char>(*at));
  for (std::size_t i = 1; i < kLanes; ++i) lanes[0] = mix(lanes[0], lanes[i]);
  return lanes[0];
}

struct Comparison {
  std::int64_t wrong = 0, first = -1;
  double max_error = 0;                    ///< in tolerances
  double have = 0, want = 0, allowed = 0;  ///< of the first wrong one
};

/// `unit`: tolerance of an element of magnitude 1; `floor`: the least magnitude.
template <typename Have, typename Want, typename Magnitude>
Comparison compare(std::int64_t size, const Have& have, const Want& want, const Magnitude& magnitude,
                   double unit, double floor) {
  Comparison c;
  for (std::int64_t e = 0; e < size; ++e) {
    const double x = have(e), y = want(e);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double absolute = magnitude(e);
    double scale = std::max(std::abs(y), floor);
    if (std::isfinite(absolute)) scale = std::max(scale, std::abs(absolute));
    const double error = std::abs(x - y), allowed = unit * scale;
    const bool good = std::isfinite(allowed) && error <= allowed;
    if (allowed > 0 && std::isfinite(error)) c.max_error = std::max(c.max_error, error / allowed);
    if (good) continue;
    if (c.wrong++ > 0) continue;
    c.first = e;
    c.have = x;
    c.want = y;
    c.allowed = allowed;
  }
  return c;
}

Comparison compare(const runtime::Tensor& have, const runtime::Tensor& want, const runtime::Tensor* magnitude,
                   double unit, double floor) {
  const auto none = [](std::int64_t) { return 0.0; };
  if (have.type().code == kDLFloat && have.type().bits == 32) {  // nearly all, and nearly all the time
    const auto x = have.as<float>(), y = want.as<float>();
    const auto value = [](auto span) {
      return [span](std::int64_t i) { return double(span[static_cast<std::size_t>(i)]); };
    };
    if (magnitude)
      return compare(have.size(), value(x), value(y), value(magnitude->as<float>()), unit, floor);
    return compare(have.size(), value(x), value(y), none, unit, floor);
  }
  const auto value = [](const runtime::Tensor& t) { return [&t](std::int64_t i) { return t.value(i); }; };
  if (magnitude) return compare(have.size(), value(have), value(want), value(*magnitude), unit, floor);
  return compare(have.size(), value(have), value(want), none, unit, floor);
}

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", x);
  return text;
}

}  // namespace

std::vector<void*> Arguments::addresses() {
  std::vector<void*> out;
  for (runtime::Tensor& t : tensors) out.push_back(t.data());
  return out;
}

Inputs::Inputs(const Program& program, Data data) : program_(program) {
  std::uint64_t seed = kSeed;
  for (const Param& p : program->params) {
    if (p.role == ParamRole::Size)
      throw UserError(code::U020,
                      "a program of run-time sizes can be built, but not measured or tuned: there is no size "
                      "to measure it at; give it "
                      "constant sizes");
    ++seed;
    checksums_.push_back(0);
    if (p.role == ParamRole::Output) {
      tensors_.emplace_back();
      continue;
    }
    in_place_ |= p.role == ParamRole::InOut;
    runtime::Tensor t(p.buffer->dtype, shape_of(p), {.alignment = 64, .guard_bytes = kGuardBytes});
    if (data == Data::Integers) {
      runtime::fill_integers(t, seed, -3, 3);
    } else {
      runtime::RandomFill fill;
      fill.seed = seed;
      runtime::fill_random(t, fill);
      if (data == Data::Absolute) make_absolute(t);
    }
    checksums_.back() = checksum(t);
    tensors_.emplace_back(std::move(t));
  }
}

Arguments Inputs::arguments() const {
  Arguments out;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Param& p = program_->params[i];
    out.written.push_back(is_written(p));
    if (!tensors_[i]) {
      runtime::Tensor t(p.buffer->dtype, shape_of(p), {.alignment = 64, .guard_bytes = kGuardBytes});
      runtime::fill_poison(t);
      out.tensors.push_back(std::move(t));
    } else {
      out.tensors.push_back(p.role == ParamRole::InOut ? tensors_[i]->clone() : tensors_[i]->share());
    }
  }
  return out;
}

void Inputs::restore(Arguments& arguments) const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!tensors_[i])
      runtime::fill_poison(arguments.tensors[i]);
    else if (program_->params[i].role == ParamRole::InOut)
      std::memcpy(arguments.tensors[i].data(), tensors_[i]->data(), tensors_[i]->bytes());
  }
}

bool Inputs::untouched(Measurement& m, const Arguments& arguments) const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (arguments.written[i] || checksum(arguments.tensors[i]) == checksums_[i]) continue;
    m.failure = records::Failure::OutOfBounds;
    m.error_text = "\"" + program_->params[i].name() + "\" is only to be read, and was written";
    return false;
  }
  return true;
}

std::size_t Reference::bytes(const Program& program) {
  std::size_t total = 0;
  for (const Param& p : program->params) {
    if (!is_written(p)) continue;
    std::int64_t size = 1;
    for (std::int64_t extent : shape_of(p)) size *= extent;
    total += 3 * ((static_cast<std::size_t>(size) * 8 + 63) / 64 * 64);  // no element has more than 8 bytes
  }
  return std::max<std::size_t>(total, 64);
}

Reference::Reference(const Program& program, void* memory)
    : program_(program),
      exact_(only_adds_and_multiplies(program) && has_short_constants(program)),
      rounding_(kRoundings * (1 + std::log2(1 + longest_reduction(program)))) {
  auto* at = static_cast<char*>(memory);
  for (Run* run : {&random_, &absolute_, &integers_}) {
    for (const Param& p : program->params) {
      run->outputs.emplace_back();
      if (!is_written(p)) continue;
      run->outputs.back() = runtime::Tensor::view(at, p.buffer->dtype, shape_of(p));
      at += (static_cast<std::size_t>(run->outputs.back()->size()) * 8 + 63) / 64 * 64;
    }
  }
}

void Reference::compute(const Target& target) {
  const Kernel kernel = compile(program_, target, {.optimize = false, .on_pass = {}});
  run(kernel, Data::Random, random_);
  const Program bound = only_adds_and_multiplies(program_) ? of_magnitudes(program_) : program_;
  run(structural_equal(bound, program_) ? kernel : compile(bound, target, {.optimize = false, .on_pass = {}}),
      Data::Absolute, absolute_);
  if (exact_) run(kernel, Data::Integers, integers_);
}

void Reference::run(const Kernel& kernel, Data data, Run& out) const {
  Arguments a = Inputs(program_, data).arguments();
  std::vector<runtime::Tensor*> pointers;
  for (runtime::Tensor& t : a.tensors) pointers.push_back(&t);
  kernel(pointers);
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    if (a.written[i]) std::memcpy(out.outputs[i]->data(), a.tensors[i].data(), a.tensors[i].bytes());
  }
}

bool Reference::accepts(Measurement& m, Arguments& arguments, Data data) const {
  const Run& want = data == Data::Integers ? integers_ : random_;
  for (std::size_t i = 0; i < arguments.tensors.size(); ++i) {
    runtime::Tensor& t = arguments.tensors[i];
    const std::string name = "\"" + program_->params[i].name() + "\"";
    if (auto broken = t.broken_guard()) {
      m.failure = records::Failure::OutOfBounds;
      m.error_text = name + ": " + *broken;
      return false;
    }
    if (!arguments.written[i]) continue;
    const runtime::Tensor& reference = *want.outputs[i];
    if (std::memcmp(t.data(), reference.data(), t.bytes()) == 0) continue;
    const Unwritten missing = unwritten(t, reference);
    if (missing.count > 0) {
      m.failure = records::Failure::IncompleteOutput;
      m.error_text = name + ": " + std::to_string(missing.count) + " of " + std::to_string(t.size()) +
                     " elements were not written, the first is element " + std::to_string(missing.first);
      return false;
    }
    const bool integers = data == Data::Integers;
    const Comparison c = compare(t, reference, integers ? nullptr : &*absolute_.outputs[i],
                                 integers ? 0 : rounding_ * epsilon(t),
                                 integers ? 0 : kFloorShare * root_mean_square(reference));
    m.max_error = std::max(m.max_error, c.max_error);
    if (c.wrong == 0) continue;
    m.failure = records::Failure::WrongResult;
    m.error_text = name + ": element " + std::to_string(c.first) + " is " + number(c.have) + ", expected " +
                   number(c.want) + (integers ? " exactly (integer data)" : " within " + number(c.allowed)) +
                   "; " + std::to_string(c.wrong) + " of " + std::to_string(t.size()) + " are wrong";
    return false;
  }
  return true;
}

}  // namespace lathe::tuner
