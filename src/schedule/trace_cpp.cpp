// Traces as C++ source: what a person can paste into a program and go on editing.

#include <map>

#include "lathe/trace.h"

namespace lathe {
namespace {

constexpr std::uint32_t kNoLoop = UINT32_MAX;

class Writer {
 public:
  std::string write(const Trace& trace) {
    for (const Instruction& step : trace.steps) line(step);
    return std::move(out_);
  }

 private:
  std::string handle(char letter, std::uint32_t id) const {
    return id == kNoLoop ? "LoopRef()" : letter + std::to_string(id);
  }

  std::string expr(const Expr& e) const {
    if (auto v = as_int(e))
      return e.dtype().is_bool() ? (*v ? "Expr(true)" : "Expr(false)") : "Expr(" + std::to_string(*v) + ")";
    if (const VarNode* v = e.as<VarNode>()) return v->name;
    if (const Binary* b = e.as<Binary>()) {
      const std::string op = spelling(b->op);
      if (std::isalpha(static_cast<unsigned char>(op[0])))
        return op + "(" + expr(b->a) + ", " + expr(b->b) + ")";
      return "(" + expr(b->a) + " " + op + " " + expr(b->b) + ")";
    }
    if (const Not* n = e.as<Not>()) return "!" + expr(n->a);
    const Select* s = e.as<Select>();
    internal_check(s != nullptr, "an expression of a trace has integer operators alone");
    return "select(" + expr(s->condition) + ", " + expr(s->if_true) + ", " + expr(s->if_false) + ")";
  }

  static std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      if (c == '\n')
        out += "\\n";
      else
        out += c;
    }
    return out + "\"";
  }

  std::string index_map(const IndexMap& map) const {
    std::string from, to;
    for (const Var& v : map.from) from += (from.empty() ? "" : ", ") + v.name();
    for (const Expr& e : map.to) to += (to.empty() ? "" : ", ") + expr(e);
    std::string vars;
    for (const Var& v : map.from) vars += "Var " + v.name() + "(" + quoted(v.name()) + "); ";
    return "[&] { " + vars + "return IndexMap{{" + from + "}, {" + to + "}}; }()";
  }

  /// `list` is the C++ type of a list argument.
  std::string arg(const Arg& a, const char* list) const {
    if (a.get<Inferred>()) return "_";
    if (const auto* v = a.get<std::int64_t>()) return std::to_string(*v);
    if (const auto* s = a.get<std::string>()) return quoted(*s);
    if (const auto* s = a.get<Symbol>()) return s->text;
    if (const auto* l = a.get<LoopRef>()) return handle('l', l->id());
    if (const auto* b = a.get<BlockRef>()) return handle('b', b->id());
    if (const auto* e = a.get<Expr>()) return expr(*e);
    if (const auto* m = a.get<IndexMap>()) return index_map(*m);
    std::string out;
    for (const Arg& x : *a.get<ArgList>()) out += (out.empty() ? "" : ", ") + arg(x, "");
    return std::string(list) + "{" + out + "}";
  }

  std::string call(const Instruction& step) const {
    if (step.op == "get_block") return "s.blocks()[" + arg(step.args.at(0), "") + "]";
    if (step.op == "get_loops") return "s.loops(" + arg(step.args.at(0), "") + ")";
    const char* list = step.op == "split"                          ? "std::vector<SplitFactor>"
                       : step.op == "pad_einsum"                   ? "std::vector<Expr>"
                       : step.op == "fuse" || step.op == "reorder" ? "std::vector<LoopRef>"
                                                                   : "std::vector<std::int64_t>";
    std::string args;
    for (const Arg& a : step.args) args += (args.empty() ? "" : ", ") + arg(a, list);
    return "s." + step.op + "(" + args + ")";
  }

  void line(const Instruction& step) {
    if (!step.decision.empty()) {
      // The decision is part of the program that the trace makes, so it is set before the step asks for it.
      std::string values;
      for (std::int64_t v : step.decision) values += (values.empty() ? "" : ", ") + std::to_string(v);
      out_ += "  s.next_decision({" + values + "});\n";
    }
    std::string text = call(step);
    const bool returns_list = step.op == "get_loops" || step.op == "split" ||
                              step.op == "sample_perfect_tile" || step.op == "sample_tile" ||
                              step.op == "pad_einsum";
    std::vector<std::string> fresh;
    if (step.outputs.empty()) {
      out_ += "  " + text + ";";
    } else if (!returns_list) {
      const Handle& h = step.outputs[0];
      if (h.id == kNoLoop || !defined_.emplace(std::make_pair(h.kind, h.id), true).second) {
        out_ += "  " + text + ";";
      } else {
        out_ += "  " + std::string(type(h.kind)) + " " + name(h) + " = " + text + ";";
      }
    } else {
      const std::string list = "v" + std::to_string(lists_++);
      out_ += "  auto " + list + " = " + text + ";";
      for (std::size_t i = 0; i < step.outputs.size(); ++i) {
        const Handle& h = step.outputs[i];
        if (!defined_.emplace(std::make_pair(h.kind, h.id), true).second) continue;
        out_ +=
            " " + std::string(type(h.kind)) + " " + name(h) + " = " + list + "[" + std::to_string(i) + "];";
      }
    }
    out_ += step.comment.empty() ? "\n" : "  // " + step.comment + "\n";
  }

  static const char* type(HandleKind kind) {
    static const char* const names[] = {"LoopRef", "BlockRef", "Factor"};
    return names[static_cast<int>(kind)];
  }
  static std::string name(const Handle& h) { return "lbf"[static_cast<int>(h.kind)] + std::to_string(h.id); }

  std::string out_;
  std::map<std::pair<HandleKind, std::uint32_t>, bool> defined_;
  int lists_ = 0;
};

}  // namespace

std::string Trace::to_cpp() const { return Writer().write(*this); }

}  // namespace lathe
