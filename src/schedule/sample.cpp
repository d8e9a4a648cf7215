// sample_*: decisions that a search may change, and require: conditions between them.

#include <algorithm>

#include "schedule/edit.h"
#include "schedule/legality.h"

namespace lathe::schedule {
namespace {

using Options = std::vector<std::vector<std::int64_t>>;

/// All ordered factorisations of `rest` into the positions from `at` on, the last factor at most `max_last`.
void factorise(std::int64_t rest, std::size_t at, std::int64_t max_last, std::vector<std::int64_t>& chosen,
               Options& out) {
  if (at + 1 == chosen.size()) {
    if (rest > max_last) return;
    chosen[at] = rest;
    out.push_back(chosen);
    return;
  }
  for (std::int64_t f = 1; f <= rest; ++f) {
    if (rest % f != 0) continue;
    chosen[at] = f;
    factorise(rest / f, at + 1, max_last, chosen, out);
  }
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// May a loop of `extent` be tiled by `tile`? Surplus iterations of at most a third of the work.
bool wastes_little(std::int64_t extent, std::int64_t tile) {
  return ceil_div(extent, tile) * tile * 3 <= extent * 4 || tile == 1;
}

void choose_tiles(const OpenDecision& open, std::size_t at, std::int64_t product,
                  std::vector<std::int64_t>& chosen, Options& out) {
  if (at == 0) {
    chosen[0] = open.extent == 0 ? 1 : ceil_div(open.extent, product);
    out.push_back(chosen);
    return;
  }
  const bool innermost = at + 1 == chosen.size();
  auto take = [&](std::int64_t f) {
    if (innermost && f > open.max_innermost) return;
    if (product > 1 && product * f > std::max<std::int64_t>(open.extent, 1) && f > 1) return;
    chosen[at] = f;
    choose_tiles(open, at - 1, product * f, chosen, out);
  };
  if (!open.choices.empty()) {
    for (std::int64_t f : open.choices) take(f);
    return;
  }
  for (std::int64_t f = 1; product * f <= std::max<std::int64_t>(open.extent, 1); ++f) {
    if (innermost && f > open.max_innermost) break;
    const bool round =
        f <= 8 || f % 8 == 0 || f == open.extent || open.extent % f == 0 || (f % 2 == 0 && f <= 16);
    if (round && wastes_little(open.extent, product * f)) take(f);
  }
}

/// Takes the step's recorded decision when it has one and it is an option, else asks the chooser.
std::vector<std::int64_t> decide(Edit& edit, OpenDecision open,
                                 const std::function<bool(const std::vector<std::int64_t>&)>& is_option) {
  const Instruction& step = edit.step();
  std::vector<std::int64_t> decision = step.decision;
  if (!decision.empty()) {
    if (!is_option(decision)) {
      std::string text;
      for (std::int64_t v : decision) text += (text.empty() ? "" : ", ") + std::to_string(v);
      edit.refuse(code::S031, "the recorded decision {" + text + "} is not among the options here", {},
                  "sample it anew, or replay the trace on the program it was made for");
    }
  } else {
    const Options options = list_options(open, step.op);
    if (options.empty()) edit.refuse(code::S032, "there is nothing to choose from");
    const std::size_t pick = edit.before().chooser ? edit.before().chooser(step, options) : 0;
    decision = options.at(std::min(pick, options.size() - 1));
  }
  edit.decide(decision, std::move(open));
  return decision;
}

/// The loop's constant extent.
std::int64_t tile_extent(const Edit& edit) {
  const Path path = edit.loop(0);
  std::optional<std::int64_t> extent = constant(path.back().as<For>()->extent);
  if (!extent) {
    edit.refuse(
        code::S017, "the extent " + to_string(path.back().as<For>()->extent) + " is known at run time only",
        {{path.back().get(), "here"}}, "choose constant tiles with sample_choice and split with {_, tile}");
  }
  return *extent;
}

OpenDecision tiles(const Edit& edit) {
  OpenDecision open;
  open.extent = tile_extent(edit);
  open.factors = static_cast<int>(edit.integer(1));
  open.max_innermost = edit.integer(2);
  if (open.factors < 1 || open.factors > 8) edit.refuse(code::S032, "the number of factors must be 1 to 8");
  if (open.max_innermost < 1) edit.refuse(code::S032, "max_innermost must be positive");
  return open;
}

void output_factors(Edit& edit, const std::vector<std::int64_t>& values) {
  std::size_t id = edit.before().handles.size();
  for (std::int64_t v : values) edit.output(v, "f" + std::to_string(id++));
}

std::vector<std::int64_t> integers(const Edit& edit, std::size_t at) {
  const ArgList* list = edit.arg(at).get<ArgList>();
  if (!list) edit.refuse(code::S003, "argument " + std::to_string(at + 1) + " is not a list of integers");
  std::vector<std::int64_t> out;
  for (const Arg& a : *list) {
    std::optional<std::int64_t> v = edit.integer_or_inferred(a);
    if (!v) edit.refuse(code::S003, "a choice cannot be inferred");
    out.push_back(*v);
  }
  return out;
}

}  // namespace

void run_sample_perfect_tile(Edit& edit) {
  const OpenDecision open = tiles(edit);
  auto is_option = [&](const std::vector<std::int64_t>& d) {
    std::int64_t product = 1;
    for (std::int64_t f : d) {
      if (f < 1 || __builtin_mul_overflow(product, f, &product)) return false;
    }
    return static_cast<int>(d.size()) == open.factors && product == std::max<std::int64_t>(open.extent, 1) &&
           d.back() <= open.max_innermost;
  };
  output_factors(edit, decide(edit, open, is_option));
}

void run_sample_tile(Edit& edit) {
  OpenDecision open = tiles(edit);
  open.choices = integers(edit, 3);
  for (std::int64_t c : open.choices) {
    if (c < 1) edit.refuse(code::S032, "tile " + std::to_string(c) + " is not positive");
  }
  auto is_option = [&](const std::vector<std::int64_t>& d) {
    if (static_cast<int>(d.size()) != open.factors) return false;
    std::int64_t product = 1;
    for (std::size_t i = 1; i < d.size(); ++i) {
      if (d[i] < 1 || __builtin_mul_overflow(product, d[i], &product)) return false;
      const bool listed = open.choices.empty() ||
                          std::find(open.choices.begin(), open.choices.end(), d[i]) != open.choices.end();
      if (!listed) return false;
    }
    if (d.size() > 1 && d.back() > open.max_innermost) return false;
    return d[0] == (open.extent == 0 ? 1 : ceil_div(open.extent, product));
  };
  output_factors(edit, decide(edit, open, is_option));
}

void run_sample_choice(Edit& edit) {
  OpenDecision open;
  open.choices = integers(edit, 0);
  if (open.choices.empty()) edit.refuse(code::S032, "there is nothing to choose from");
  if (edit.arg_count() > 1) edit.text(1);
  auto is_option = [&](const std::vector<std::int64_t>& d) {
    return d.size() == 1 && std::find(open.choices.begin(), open.choices.end(), d[0]) != open.choices.end();
  };
  output_factors(edit, decide(edit, open, is_option));
}

void run_require(Edit& edit) {
  const Expr* condition = edit.arg(0).get<Expr>();
  if (!condition || !condition->dtype().is_bool())
    edit.refuse(code::S003, "the condition is not a Bool expression over factors");
  const Expr value = edit.decided(*condition);
  if (is_true(value)) return;
  if (!as_int(value))
    edit.refuse(code::S003, "the condition " + to_string(value) + " is over more than factors", {},
                "use literals and sampled factors");
  std::string values;
  for (const Var& v : free_vars(*condition)) {
    values += (values.empty() ? "" : ", ") + v.name() + " = " + to_string(edit.decided(v));
  }
  edit.refuse(code::S033, "the condition does not hold for " + values);
}

}  // namespace lathe::schedule

namespace lathe {

std::vector<std::vector<std::int64_t>> list_options(const OpenDecision& open, const std::string& op) {
  schedule::Options out;
  if (op == "sample_choice") {
    for (std::int64_t c : open.choices) out.push_back({c});
  } else if (op == "sample_compute_location") {
    for (std::int64_t i = -1; i < open.locations; ++i) out.push_back({i});
  } else {
    std::vector<std::int64_t> chosen(open.factors);
    if (op == "sample_perfect_tile") {
      schedule::factorise(std::max<std::int64_t>(open.extent, 1), 0, open.max_innermost, chosen, out);
    } else {
      schedule::choose_tiles(open, chosen.size() - 1, 1, chosen, out);
    }
  }
  return out;
}

}  // namespace lathe
