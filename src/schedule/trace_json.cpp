// Traces as JSON.
//
//   {"format": "lathe-trace", "version": 1, "steps": [
//     ["get_block", [2], ["b0"], {"comment": "conv", "site": "conv.cpp:31"}],
//     ["split", ["l3", ["_", 6], {"symbol": "Tail::Guard"}], ["l7", "l8"]],
//     ["sample_tile", ["l3", 2, 64, []], ["f9", "f10"], {"decision": [7, 8]}] ]}
//
// A step is [name, arguments, outputs, notes]. Handles are strings of a letter (l loop, b block, f factor) and a number, "_"
// is an inferred argument, "l" alone no loop; texts and enumerators are {"text": …} and {"symbol": …}; an expression over
// factors is {"expr": …} with nested [operator, operand, …].

#include <nlohmann/json.hpp>

#include "lathe/trace.h"
#include "support/error_codes/files.h"
#include "support/json_depth.h"

namespace lathe {
namespace {

using nlohmann::ordered_json;
constexpr int kVersion = 1;
constexpr int kMaxDepth = kMaxExprDepth + 4;  // what is written can be read

// ---- writing -----------------------------------------------------------------------------------------------------

std::string handle_text(char letter, std::uint32_t id) {
  return id == LoopRef().id() ? std::string(1, letter) : letter + std::to_string(id);
}

ordered_json expr_json(const Expr& e) {
  if (auto v = as_int(e)) return e.dtype().is_bool() ? ordered_json(*v != 0) : ordered_json(*v);
  if (const VarNode* v = e.as<VarNode>()) return v->name;
  if (const Binary* b = e.as<Binary>())
    return ordered_json::array({spelling(b->op), expr_json(b->a), expr_json(b->b)});
  if (const Not* n = e.as<Not>()) return ordered_json::array({"!", expr_json(n->a)});
  if (const Select* s = e.as<Select>()) {
    return ordered_json::array(
        {"select", expr_json(s->condition), expr_json(s->if_true), expr_json(s->if_false)});
  }
  throw InternalError("an expression of a trace has integer operators alone, not " + to_string(e));
}

ordered_json arg_json(const Arg& arg) {
  if (arg.get<Inferred>()) return "_";
  if (const auto* v = arg.get<std::int64_t>()) return *v;
  if (const auto* s = arg.get<std::string>()) return {{"text", *s}};
  if (const auto* s = arg.get<Symbol>()) return {{"symbol", s->text}};
  if (const auto* l = arg.get<LoopRef>()) return handle_text('l', l->id());
  if (const auto* b = arg.get<BlockRef>()) return handle_text('b', b->id());
  if (const auto* e = arg.get<Expr>()) return {{"expr", expr_json(*e)}};
  if (const auto* m = arg.get<IndexMap>()) {
    ordered_json from = ordered_json::array(), to = ordered_json::array();
    for (const Var& v : m->from) from.push_back(v.name());
    for (const Expr& e : m->to) to.push_back(expr_json(e));
    return {{"from", from}, {"to", to}};
  }
  ordered_json list = ordered_json::array();
  for (const Arg& a : *arg.get<ArgList>()) list.push_back(arg_json(a));
  return list;
}

ordered_json step_json(const Instruction& step, bool bare) {
  ordered_json args = ordered_json::array(), outputs = ordered_json::array(), notes = ordered_json::object();
  for (const Arg& a : step.args) args.push_back(arg_json(a));
  for (const Handle& h : step.outputs) outputs.push_back(handle_text("lbf"[static_cast<int>(h.kind)], h.id));
  if (!step.decision.empty()) notes["decision"] = step.decision;
  if (!bare && !step.comment.empty()) notes["comment"] = step.comment;
  if (!bare && !step.site.empty()) notes["site"] = step.site;
  ordered_json out = ordered_json::array({step.op, args, outputs});
  if (!notes.empty()) out.push_back(notes);
  return out;
}

// ---- reading -----------------------------------------------------------------------------------------------------

class Reader {
 public:
  Trace read(const std::string& text) {
    if (too_deep(text)) fail(code::F020, "the text is nested too deeply");
    ordered_json root;
    try {
      root = ordered_json::parse(text);
    } catch (const nlohmann::json::parse_error& e) {
      fail(code::F020, "the text is no JSON: it breaks off or is wrong at byte " + std::to_string(e.byte));
    } catch (const nlohmann::json::exception&) {
      fail(code::F020, "the text is no JSON: a number in it is out of range");
    }
    if (!root.is_object() || !root.contains("format") || root["format"] != "lathe-trace") {
      fail(code::F020, "the document is no trace: \"format\" is not \"lathe-trace\"");
    }
    if (!root.contains("version") || !root["version"].is_number_integer())
      fail(code::F020, "\"version\" is missing");
    if (root["version"] != kVersion) {
      fail(code::F021, "the trace has version " + root["version"].dump() + ", this program reads version " +
                           std::to_string(kVersion));
    }
    if (!root.contains("steps") || !root["steps"].is_array()) fail(code::F020, "\"steps\" is no list");
    Trace trace;
    for (const ordered_json& step : root["steps"]) {
      where_ = "step " + std::to_string(trace.steps.size() + 1);
      trace.steps.push_back(read_step(step));
    }
    return trace;
  }

 private:
  [[noreturn]] void fail(Code code, const std::string& what) const {
    throw UserError(code, "trace: " + (where_.empty() ? "" : where_ + ": ") + what);
  }

  Instruction read_step(const ordered_json& j) {
    if (!j.is_array() || j.size() < 3 || j.size() > 4 || !j[0].is_string() || !j[1].is_array() ||
        !j[2].is_array()) {
      fail(code::F020, "a step is [name, arguments, outputs, notes], not " + excerpt(j));
    }
    Instruction step;
    step.op = j[0].get<std::string>();
    for (const ordered_json& a : j[1]) step.args.push_back(read_arg(a, 0));
    for (const ordered_json& h : j[2]) {
      std::optional<Handle> handle = h.is_string() ? read_handle(h.get<std::string>()) : std::nullopt;
      if (!handle) fail(code::F020, "an output is a handle such as \"l3\", not " + excerpt(h));
      step.outputs.push_back(*handle);
    }
    if (j.size() == 4) read_notes(j[3], step);
    return step;
  }

  void read_notes(const ordered_json& j, Instruction& step) {
    if (!j.is_object()) fail(code::F020, "notes are an object, not " + excerpt(j));
    for (const auto& [key, value] : j.items()) {
      if (key == "decision" && value.is_array()) {
        for (const ordered_json& v : value) {
          if (!v.is_number_integer())
            fail(code::F020, "a decision is a list of integers, not " + excerpt(value));
          step.decision.push_back(v.get<std::int64_t>());
        }
      } else if (key == "comment" && value.is_string()) {
        step.comment = value.get<std::string>();
      } else if (key == "site" && value.is_string()) {
        step.site = value.get<std::string>();
      } else {
        fail(code::F020, "unknown note " + excerpt(ordered_json(key)) + ": " + excerpt(value));
      }
    }
  }

  std::optional<Handle> read_handle(const std::string& text) const {
    const std::string letters = "lbf";
    const std::size_t kind = text.empty() ? std::string::npos : letters.find(text[0]);
    if (kind == std::string::npos) return std::nullopt;
    if (text == "l") return Handle{HandleKind::Loop, LoopRef().id()};
    if (text.size() < 2 || text.size() > 9 || text.find_first_not_of("0123456789", 1) != std::string::npos)
      return std::nullopt;
    return Handle{static_cast<HandleKind>(kind), static_cast<std::uint32_t>(std::stoul(text.substr(1)))};
  }

  Arg read_arg(const ordered_json& j, int depth) {
    if (depth > kMaxDepth) fail(code::F020, "an argument is nested too deeply");
    if (j.is_number_integer()) return Arg(j.get<std::int64_t>());
    if (j.is_array()) {
      ArgList list;
      for (const ordered_json& a : j) list.push_back(read_arg(a, depth + 1));
      return Arg(std::move(list));
    }
    if (j.is_string()) {
      const std::string text = j.get<std::string>();
      if (text == "_") return Arg(Inferred{});
      if (auto handle = read_handle(text)) {
        if (handle->kind == HandleKind::Loop) return Arg(LoopRef(handle->id));
        if (handle->kind == HandleKind::Block) return Arg(BlockRef(handle->id));
        return Arg(Expr(Var(text)));
      }
    }
    if (j.is_object()) {
      if (j.contains("text") && j["text"].is_string()) return Arg(j["text"].get<std::string>());
      if (j.contains("symbol") && j["symbol"].is_string()) return Arg(Symbol{j["symbol"].get<std::string>()});
      if (j.contains("expr")) {
        vars_.clear();
        return Arg(read_expr(j["expr"], 0));
      }
      if (j.contains("from") && j.contains("to") && j["from"].is_array() && j["to"].is_array())
        return Arg(read_map(j));
    }
    fail(code::F020, "not an argument: " + excerpt(j));
  }

  IndexMap read_map(const ordered_json& j) {
    IndexMap map;
    vars_.clear();
    for (const ordered_json& v : j["from"]) {
      if (!v.is_string()) fail(code::F020, "an index is a name, not " + excerpt(v));
      map.from.push_back(variable(v.get<std::string>()));
    }
    for (const ordered_json& e : j["to"]) map.to.push_back(read_expr(e, 0));
    return map;
  }

  Var variable(const std::string& name) {
    for (const Var& v : vars_) {
      if (v.name() == name) return v;
    }
    vars_.push_back(Var(name));
    return vars_.back();
  }

  Expr read_expr(const ordered_json& j, int depth) {
    if (depth > kMaxDepth) fail(code::F020, "an expression is nested too deeply");
    if (j.is_number_integer()) return make_index(j.get<std::int64_t>());
    if (j.is_boolean()) return Expr(j.get<bool>());
    if (j.is_string()) return variable(j.get<std::string>());
    if (!j.is_array() || j.size() < 2 || !j[0].is_string())
      fail(code::F020, "not an expression: " + excerpt(j));
    const std::string op = j[0].get<std::string>();
    std::vector<Expr> operands;
    for (std::size_t i = 1; i < j.size(); ++i) operands.push_back(read_expr(j[i], depth + 1));
    try {
      if (op == "!" && operands.size() == 1) return !operands[0];
      if (op == "select" && operands.size() == 3) return select(operands[0], operands[1], operands[2]);
      for (int o = 0; o <= static_cast<int>(BinaryOp::Or); ++o) {
        if (op == spelling(static_cast<BinaryOp>(o)) && operands.size() == 2)
          return binary(static_cast<BinaryOp>(o), operands[0], operands[1]);
      }
    } catch (const UserError& e) {
      fail(code::F020, e.what());
    }
    fail(code::F020, "unknown operator in " + excerpt(j));
  }

  static std::string excerpt(const ordered_json& j) {
    std::string text = j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return text.size() <= 60 ? text : text.substr(0, 57) + "...";
  }

  std::string where_;
  std::vector<Var> vars_;
};

}  // namespace

std::string Trace::to_json(bool bare) const {
  std::string out = "{\"format\":\"lathe-trace\",\"version\":" + std::to_string(kVersion) + ",\"steps\":[";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    out += (i == 0 ? "\n " : ",\n ") +
           step_json(steps[i], bare).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return out + "]}";
}

Trace Trace::from_json(const std::string& text) { return Reader().read(text); }

std::vector<std::size_t> Trace::decisions() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].decision.empty()) out.push_back(i);
  }
  return out;
}

}  // namespace lathe
