// The excerpt of the loop nest in a schedule error, and the call as the user wrote it.

#include "schedule/edit.h"

namespace lathe::schedule {
namespace {

class Outline {
 public:
  explicit Outline(const std::vector<Mark>& marks) : marks_(marks) {}

  void print(const Stmt& s, int depth) {
    if (const Seq* seq = s.as<Seq>()) {
      bool skipped = false;
      for (const Stmt& child : seq->stmts) {
        if (interesting(child)) {
          print(child, depth);
        } else if (!skipped) {
          skipped = true;
          line(depth, "…", nullptr);
        }
      }
      return;
    }
    if (const For* loop = s.as<For>()) {
      // Unmarked loops with a single loop inside share a line: "for y, oo".
      std::string names = loop->var.name();
      const StmtNode* last = s.get();
      Stmt inner = loop->body;
      while (!note(last) && inner.as<For>() && !note(inner.get())) {
        names += ", " + inner.as<For>()->var.name();
        last = inner.get();
        inner = inner.as<For>()->body;
      }
      line(depth, "for " + names, note(last));
      return print(inner, depth + 1);
    }
    if (const Block* block = s.as<Block>()) {
      std::string text = "block \"" + block->name() + "\"";
      if (!block->reads.empty()) text += " reads " + list(block->reads);
      if (!block->writes.empty()) text += " writes " + list(block->writes);
      line(depth, text, note(s.get()));
      if (has_mark_below(block->body)) print(block->body, depth + 1);
      return;
    }
    if (const If* n = s.as<If>()) {
      line(depth, "if " + to_string(n->condition), note(s.get()));
      return print(n->then_case, depth + 1);
    }
  }

  std::string text;

 private:
  const std::string* note(const StmtNode* s) const {
    for (const Mark& m : marks_) {
      if (m.place == s) return &m.note;
    }
    return nullptr;
  }
  bool has_mark_below(const Stmt& s) const {
    for (const Mark& m : marks_) {
      if (contains(s, m.place)) return true;
    }
    return false;
  }
  bool interesting(const Stmt& s) const { return has_mark_below(s); }

  static std::string list(const std::vector<BufferRegion>& regions) {
    std::string out;
    for (const BufferRegion& r : regions) out += (out.empty() ? "" : ", ") + r.buffer->name;
    return out;
  }

  void line(int depth, const std::string& what, const std::string* mark) {
    if (!text.empty()) text += "\n";
    text += std::string(2 + 2 * static_cast<std::size_t>(depth), ' ') + what;
    if (mark) text += "    <-- " + *mark;
  }

  const std::vector<Mark>& marks_;
};

std::string name_of(const HandleEntry& e, Names* names) {
  if (e.kind == HandleKind::Block) {
    const Label label(static_cast<const LabelNode*>(e.node.get()));
    return names ? names->of(label) : label->name;
  }
  const auto* var = static_cast<const VarNode*>(e.node.get());
  return names ? names->of(var) : var->name;
}

std::string describe(const Arg& arg, const std::vector<HandleEntry>& handles, Names* names) {
  auto handle = [&](const char* kind, std::uint32_t id) {
    if (id >= handles.size()) return std::string("an empty ") + kind;
    return std::string(kind) + " \"" + name_of(handles[id], names) + "\"";
  };
  if (arg.get<Inferred>()) return "_";
  if (const auto* v = arg.get<std::int64_t>()) return std::to_string(*v);
  if (const auto* s = arg.get<std::string>()) return "\"" + *s + "\"";
  if (const auto* s = arg.get<Symbol>()) return s->text;
  if (const auto* l = arg.get<LoopRef>()) return handle("loop", l->id());
  if (const auto* b = arg.get<BlockRef>()) return handle("block", b->id());
  if (const auto* e = arg.get<Expr>()) return to_string(*e);
  if (const auto* m = arg.get<IndexMap>()) {
    std::string from, to;
    for (const Var& v : m->from) from += (from.empty() ? "" : ", ") + v.name();
    for (const Expr& e : m->to) to += (to.empty() ? "" : ", ") + to_string(e);
    return "{" + from + "} to {" + to + "}";
  }
  std::string out;
  for (const Arg& a : *arg.get<ArgList>()) out += (out.empty() ? "" : ", ") + describe(a, handles, names);
  return "{" + out + "}";
}

}  // namespace

std::string describe_call(const Instruction& step, const std::vector<HandleEntry>& handles, Names* names) {
  std::string args;
  for (const Arg& a : step.args) args += (args.empty() ? "" : ", ") + describe(a, handles, names);
  if (step.op == "get_block") return "blocks()[" + args + "]";
  return (step.op == "get_loops" ? "loops" : step.op) + "(" + args + ")";
}

std::string outline(const Stmt& root, const std::vector<Mark>& marks) {
  Outline o(marks);
  o.print(root, 0);
  return o.text;
}

}  // namespace lathe::schedule
