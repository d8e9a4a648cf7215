// Running a program: checking the arrays, compiling, running, reporting.

#include "lathe/interp.h"

#include <algorithm>
#include <stdexcept>

#include "interp/compiler.h"
#include "interp/kinds.h"
#include "support/error_codes/interp.h"
#include "support/shape_text.h"

namespace lathe::interp {
namespace {

// ---- sizes and shapes ----------------------------------------------------------------------------------

using SizeMap = std::unordered_map<const VarNode*, std::int64_t>;

std::string param_text(const Param& p) {
  return std::string(spelling(p.role)) + " parameter \"" + p.name() + "\"";
}

void need_program(const Program& program) {
  if (!program.defined()) throw UserError(code::I001, "an empty Program stands for nothing that could run");
}

SizeMap bind_sizes(const Program& program, const std::vector<std::int64_t>& sizes) {
  need_program(program);
  SizeMap map;
  std::size_t next = 0;
  for (const Param& p : program->params) {
    if (p.role != ParamRole::Size) continue;
    if (next < sizes.size()) {
      if (sizes[next] < 0) {
        throw UserError(code::I001, "size \"" + p.name() + "\" of program \"" + program->name +
                                        "\" is negative: " + std::to_string(sizes[next]));
      }
      map[p.size.node()] = sizes[next];
    }
    ++next;
  }
  if (next != sizes.size()) {
    throw UserError(code::I001, "program \"" + program->name + "\" has " + std::to_string(next) +
                                    " size parameters, but " + std::to_string(sizes.size()) +
                                    " sizes were given");
  }
  return map;
}

/// The number that an expression over sizes stands for.
std::int64_t evaluate(const Expr& e, const SizeMap& sizes, const Program& program) {
  auto refuse = [&](const std::string& why) -> std::int64_t {
    throw UserError(code::I006, "program \"" + program->name +
                                    "\" cannot be interpreted: the shape of a parameter " + why);
  };
  if (const IntImm* i = e.as<IntImm>()) return i->value;
  if (e.kind() == ExprKind::Var) {
    auto at = sizes.find(static_cast<const VarNode*>(e.get()));
    if (at == sizes.end()) {
      return refuse("mentions \"" + static_cast<const VarNode*>(e.get())->name +
                    "\", which is not a size parameter");
    }
    return at->second;
  }
  if (const Binary* b = e.as<Binary>()) {
    std::int64_t result;
    const std::int64_t x = evaluate(b->a, sizes, program), y = evaluate(b->b, sizes, program);
    if (b->a.dtype().is_float() || !index_op(b->op, x, y, result)) return refuse("leaves 64 bits");
    return result;
  }
  if (const Not* n = e.as<Not>()) return !evaluate(n->a, sizes, program);
  if (const Select* s = e.as<Select>()) {
    return evaluate(evaluate(s->condition, sizes, program) ? s->if_true : s->if_false, sizes, program);
  }
  if (const Cast* c = e.as<Cast>()) {
    if (!c->dtype.is_float() && !c->a.dtype().is_float())
      return wrap_integer(c->dtype, evaluate(c->a, sizes, program));
  }
  return refuse("is not made of sizes and integers");
}

std::vector<std::int64_t> evaluate_all(const std::vector<Expr>& exprs, const SizeMap& sizes,
                                       const Program& program) {
  std::vector<std::int64_t> values;
  for (const Expr& e : exprs) values.push_back(evaluate(e, sizes, program));
  return values;
}

std::int64_t elements(const std::vector<std::int64_t>& shape) {
  std::int64_t n = 1;
  for (std::int64_t extent : shape) {
    if (__builtin_mul_overflow(n, extent, &n)) return -1;
  }
  return n;
}

void check_array(const Program& program, const Param& param, const ArrayView& array,
                 const std::vector<std::int64_t>& shape) {
  const DataType t = param.buffer->dtype;
  const bool same_shape = array.shape == shape;
  const bool flat = shape.size() == 1 && elements(array.shape) == shape[0];
  const bool fits = array.dtype.element() == t.element() && (same_shape || flat);
  if (!fits) {
    throw UserError(code::I002, param_text(param) + " of program \"" + program->name + "\" is " + t.str() +
                                    " " + shape_text(shape) + ", but the array given for it is " +
                                    array.dtype.str() + " " + shape_text(array.shape));
  }
  if (!array.data && elements(shape) > 0) {
    throw UserError(code::I002, "the array given for " + param_text(param) + " of program \"" +
                                    program->name + "\" has no memory");
  }
}

/// Parameters do not overlap; two that are only read may.
void check_apart(const Program& program, const std::vector<const Param*>& params,
                 const std::vector<ArrayView>& arrays) {
  auto written = [](const Param* p) { return p->role == ParamRole::Output || p->role == ParamRole::InOut; };
  auto begin = [&](std::size_t i) { return reinterpret_cast<std::uintptr_t>(arrays[i].data); };
  auto end = [&](std::size_t i) {
    return begin(i) + static_cast<std::uintptr_t>(elements(arrays[i].shape) * arrays[i].dtype.bytes());
  };
  for (std::size_t i = 0; i < params.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (begin(i) >= end(j) || begin(j) >= end(i) || begin(i) == end(i) || begin(j) == end(j)) continue;
      if (!written(params[i]) && !written(params[j])) continue;
      throw UserError(code::I002, "the arrays given for " + param_text(*params[j]) + " and " +
                                      param_text(*params[i]) + " of program \"" + program->name +
                                      "\" overlap, and the program writes one of them");
    }
  }
}

// ---- reports -------------------------------------------------------------------------------------------

void add_counts(Machine& m) {
  Report& report = m.report;
  for (std::size_t i = 0; i < m.counts.size(); ++i) {
    const Tally& tally = m.code->tallies[i];
    const std::uint64_t times = m.counts[i];
    for (std::size_t op = 0; op < tally.binary_ops.size(); ++op)
      report.binary_ops[op] += times * tally.binary_ops[op];
    for (auto [op, n] : tally.intrinsics) report.intrinsic_calls[op] += times * n;
    for (auto [id, n] : tally.buffers) {
      report.buffers[id].loads += times * n.first;
      report.buffers[id].stores += times * n.second;
    }
    report.casts += times * tally.casts;
    report.selects += times * tally.selects;
    report.index_ops += times * tally.index_ops;
    report.iterations += times * tally.iterations;
  }
  for (std::size_t id = 0; id < report.buffers.size(); ++id) {
    if (m.options.count) {
      report.buffers[id].loads += m.masked[id].first;
      report.buffers[id].stores += m.masked[id].second;
    }
    report.loads += report.buffers[id].loads;
    report.stores += report.buffers[id].stores;
  }
}

/// Calls `f(compact, physical)` for the positions of each element of an array whose rows have strides.
template <class F>
void for_each_element(const Instance& b, F f) {
  std::int64_t n = elements(b.shape);
  std::vector<std::int64_t> at(b.shape.size(), 0);
  std::int64_t physical = 0;
  for (std::int64_t compact = 0; compact < n; ++compact) {
    f(compact, b.strides.empty() ? compact : physical);
    for (std::size_t d = at.size(); d-- > 0;) {
      if (!b.strides.empty()) physical += b.strides[d];
      if (++at[d] < b.shape[d]) break;
      if (!b.strides.empty()) physical -= at[d] * b.strides[d];
      at[d] = 0;
    }
  }
}

/// The array of a parameter with strides of its own, laid out by them; copied back by `copy_out`.
void copy_in(Instance& b, const ArrayView& array) {
  b.memory = std::make_unique<char[]>(std::max<std::int64_t>(b.bytes(), 1));
  b.data = b.memory.get();
  std::memset(b.data, 0xff, b.bytes());
  const std::int64_t width = b.info->dtype.bytes();
  for_each_element(b, [&](std::int64_t compact, std::int64_t physical) {
    std::memcpy(b.data + physical * width, static_cast<const char*>(array.data) + compact * width, width);
  });
}
void copy_out(const Instance& b, const ArrayView& array) {
  const std::int64_t width = b.info->dtype.bytes();
  for_each_element(b, [&](std::int64_t compact, std::int64_t physical) {
    std::memcpy(static_cast<char*>(array.data) + compact * width, b.data + physical * width, width);
  });
}

void check_outputs(Machine& m, Context& context) {
  for (std::size_t i = 0; i < m.code->buffer_register.size(); ++i) {
    const Instance& b = *context.registers[m.code->buffer_register[i]].instance;
    if (!b.info->output) continue;
    std::int64_t missing = 0, first = -1;
    for_each_element(b, [&](std::int64_t compact, std::int64_t physical) {
      if (!(b.state[physical] & kWritten) && missing++ == 0) first = compact;
    });
    if (!missing) continue;
    std::vector<std::int64_t> at(b.shape.size());
    std::int64_t rest = first;
    for (std::size_t d = at.size(); d-- > 0; rest /= b.shape[d]) at[d] = rest % b.shape[d];
    violate(context, nullptr, nullptr, ViolationKind::NotWritten, b.info, at,
            "is never written, as are " + std::to_string(missing) + " of the " +
                std::to_string(elements(b.shape)) + " elements of this output");
    if (m.stopped) return;
  }
}

}  // namespace

const char* spelling(ViolationKind kind) {
  static const char* const names[] = {
      "out of bounds",  "uninitialized",  "not written",     "rewritten", "write to input",
      "index overflow", "outside domain", "negative extent", "race",      "barrier divergence"};
  return names[static_cast<int>(kind)];
}

std::uint64_t Report::flops() const {
  std::uint64_t sum = 2 * calls(Intrinsic::Fma);
  for (BinaryOp op :
       {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Min, BinaryOp::Max})
    sum += ops(op);
  return sum;
}
const BufferCounts& Report::buffer(const std::string& name) const {
  for (const BufferCounts& b : buffers) {
    if (b.name == name) return b;
  }
  throw std::out_of_range("the report knows no buffer \"" + name + "\"");
}
bool Report::has(ViolationKind kind) const {
  return std::any_of(violations.begin(), violations.end(),
                     [&](const Violation& v) { return v.kind == kind; });
}
std::string Report::text() const {
  std::string text;
  for (const Violation& v : violations) text += (text.empty() ? "" : "\n") + v.text;
  if (violation_count > violations.size()) {
    text += "\n… and " + std::to_string(violation_count - violations.size()) + " more";
  }
  return text;
}

Options Options::fast() {
  Options o;
  o.check_initialized = o.check_rewrites = o.check_domains = o.check_races = o.count = false;
  return o;
}

std::vector<std::int64_t> shape_of(const Program& program, const Param& param,
                                   const std::vector<std::int64_t>& sizes) {
  return evaluate_all(param.buffer->shape, bind_sizes(program, sizes), program);
}

Report execute(const Program& program, const std::vector<ArrayView>& arrays,
               const std::vector<std::int64_t>& sizes, const Options& options) {
  const SizeMap size_map = bind_sizes(program, sizes);
  std::vector<const Param*> params;
  for (const Param& p : program->params) {
    if (p.role != ParamRole::Size) params.push_back(&p);
  }
  if (params.size() != arrays.size()) {
    throw UserError(code::I001, "program \"" + program->name + "\" has " + std::to_string(params.size()) +
                                    " buffer parameters, but " + std::to_string(arrays.size()) +
                                    " arrays were given");
  }
  std::vector<std::vector<std::int64_t>> shapes, strides;
  for (std::size_t i = 0; i < params.size(); ++i) {
    shapes.push_back(evaluate_all(params[i]->buffer->shape, size_map, program));
    check_array(program, *params[i], arrays[i], shapes[i]);
    strides.push_back(evaluate_all(params[i]->buffer->strides, size_map, program));
    if (std::any_of(strides[i].begin(), strides[i].end(), [](std::int64_t s) { return s < 0; })) {
      throw UserError(code::I006, "program \"" + program->name + "\" cannot be interpreted: " +
                                      param_text(*params[i]) + " has the strides " + shape_text(strides[i]));
    }
  }

  check_apart(program, params, arrays);

  Compiler compiler(program, sizes, options);
  const Bytecode code = compiler.compile();
  Machine m(options);
  m.code = &code;
  m.counts.resize(code.tallies.size());
  m.alive_of.resize(code.buffers.size());
  m.masked.resize(code.buffers.size());
  m.pool.resize(code.buffers.size());
  m.steps_left = options.step_limit;
  m.refuel(options.step_limit);
  m.track_state = options.check_initialized || options.check_rewrites;
  m.track_touched = options.check_races && compiler.has_parallel();
  m.equal_writes_agree = compiler.block_form();
  m.random_state = options.seed;
  for (const auto& b : code.buffers) m.report.buffers.push_back({b->name, 0, 0, 0, 0});

  std::vector<Slot> registers = code.registers;
  for (std::size_t i = 0; i < params.size(); ++i) {
    Instance* b = m.make_instance(*code.buffers[i], shapes[i], strides[i], false);
    b->data = static_cast<char*>(arrays[i].data);
    if (b->info->strided) copy_in(*b, arrays[i]);
    if (b->state && (params[i]->role != ParamRole::Output || !options.check_initialized)) {
      std::fill_n(b->state, b->size, kInitialized);
    }
    registers[code.buffer_register[i]].instance = b;
  }
  Context context;
  context.machine = &m;
  context.registers = registers.data();
  context.next = code.instrs.data();
  run_context(context);
  if (!m.stopped && options.check_initialized) check_outputs(m, context);
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Instance& b = *registers[code.buffer_register[i]].instance;
    if (b.info->strided && !b.info->read_only) copy_out(b, arrays[i]);
  }
  m.report.completed = !m.stopped;
  add_counts(m);
  return std::move(m.report);
}

// ---- with arrays of its own ----------------------------------------------------------------------------

const Array& Outcome::operator[](const std::string& name) const {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return arrays[i];
  }
  throw std::out_of_range("the program has no parameter \"" + name + "\"");
}

Outcome run(const Program& program, std::vector<Array> inputs, const std::vector<std::int64_t>& sizes,
            const Options& options) {
  need_program(program);
  Outcome out;
  std::size_t given = 0, wanted = 0;
  for (const Param& p : program->params) wanted += p.role != ParamRole::Size && p.role != ParamRole::Output;
  if (wanted != inputs.size()) {
    throw UserError(code::I001, "program \"" + program->name + "\" has " + std::to_string(wanted) +
                                    " inputs, but " + std::to_string(inputs.size()) + " arrays were given");
  }
  for (const Param& p : program->params) {
    if (p.role == ParamRole::Size) continue;
    out.names.push_back(p.name());
    out.arrays.push_back(p.role == ParamRole::Output
                             ? Array::poison(p.buffer->dtype, shape_of(program, p, sizes))
                             : std::move(inputs[given++]));
  }
  std::vector<ArrayView> views;
  for (Array& a : out.arrays) views.push_back(a.view());
  out.report = execute(program, views, sizes, options);
  std::size_t i = 0;
  for (const Param& p : program->params) {
    if (p.role == ParamRole::Size) continue;
    if (p.role == ParamRole::Output || p.role == ParamRole::InOut) out.outputs.push_back(out.arrays[i]);
    ++i;
  }
  return out;
}

namespace {
template <class Make>
std::vector<Array> make_inputs(const Program& program, const std::vector<std::int64_t>& sizes, Make make) {
  need_program(program);
  std::vector<Array> arrays;
  for (const Param& p : program->params) {
    if (p.role == ParamRole::Size || p.role == ParamRole::Output) continue;
    arrays.push_back(make(p.buffer->dtype, shape_of(program, p, sizes)));
  }
  return arrays;
}
}  // namespace

std::vector<Array> random_inputs(const Program& program, std::uint64_t seed,
                                 const std::vector<std::int64_t>& sizes) {
  return make_inputs(program, sizes,
                     [&](DataType t, auto shape) { return Array::random(t, shape, seed++ * 7919 + 1); });
}
std::vector<Array> integer_inputs(const Program& program, std::uint64_t seed,
                                  const std::vector<std::int64_t>& sizes, int limit) {
  return make_inputs(program, sizes, [&](DataType t, auto shape) {
    return Array::small_integers(t, shape, seed++ * 7919 + 1, limit);
  });
}

}  // namespace lathe::interp
