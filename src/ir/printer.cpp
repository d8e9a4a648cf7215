#include "ir/printer.h"

#include <algorithm>
#include <numeric>

#include "ir/visitor.h"

namespace lathe {
namespace {

struct Line {
  int indent;
  int parent;  ///< the line that encloses this one, or -1
  std::string text;
  std::optional<std::string> mark;
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string annotations_text(const Annotations& annotations) {
  if (annotations.empty()) return {};
  std::string out;
  for (const auto& [key, value] : annotations) {
    out += out.empty() ? " {" : ", ";
    out += key + " = ";
    out += std::holds_alternative<std::string>(value) ? quoted(std::get<std::string>(value))
                                                      : std::to_string(std::get<std::int64_t>(value));
  }
  return out + "}";
}

class StmtPrinter : Visitor {
 public:
  StmtPrinter(const PrintOptions& options, Names& names) : options_(options), names_(names) {}

  void header(std::string text) {
    line(std::move(text), std::nullopt);
    enter();
  }
  void temp(const Buffer& b) { line("temp " + declaration(b), std::nullopt); }
  void stmt(const Stmt& s) {
    if (!s.defined()) return line("<undefined>", std::nullopt);
    pending_ = options_.mark ? options_.mark(s) : std::nullopt;
    visit(s);
  }

  /// "A: f32[8, n]", with scope, strides and alignment where they are not the usual ones.
  std::string declaration(const Buffer& b, const std::string& role = {}) {
    std::string out = names_.of(b) + ": " + role + b->dtype.str();
    out += "[" + list(b->shape) + "]";
    if (b->scope != Scope::Global) out += std::string(" ") + spelling(b->scope);
    if (!b->strides.empty()) out += " strides [" + list(b->strides) + "]";
    if (b->alignment != BufferNode().alignment) out += " align " + std::to_string(b->alignment);
    return out;
  }

  std::string finish();

 private:
  std::string text(const Expr& e) { return to_string(e, names_); }
  std::string list(const std::vector<Expr>& all) {
    std::string out;
    for (const Expr& e : all) out += (out.empty() ? "" : ", ") + text(e);
    return out;
  }

  void line(std::string text, std::optional<std::string> mark) {
    lines_.push_back({static_cast<int>(open_.size()), open_.empty() ? -1 : open_.back(), std::move(text),
                      std::move(mark)});
  }
  /// A line that belongs to the statement being visited.
  void line(std::string text) {
    line(std::move(text), std::move(pending_));
    pending_.reset();
  }
  void enter() { open_.push_back(static_cast<int>(lines_.size()) - 1); }
  void leave() { open_.pop_back(); }
  void below(const Stmt& s) {
    enter();
    stmt(s);
    leave();
  }

  void visit_node(const For& n, const Stmt&) override {
    std::string out = "for " + names_.of(n.var);
    out += " in 0.." + range_end(n.extent);
    if (n.for_kind == ForKind::ThreadBound) {
      out += std::string(" bound to ") + spelling(n.axis);
    } else if (n.for_kind != ForKind::Serial) {
      out += std::string(" ") + spelling(n.for_kind);
    }
    line(out + annotations_text(n.annotations) + ":");
    below(n.body);
  }

  std::string range_end(const Expr& extent) {
    const std::string out = text(extent);
    const Binary* b = extent.as<Binary>();
    return b && b->op != BinaryOp::Min && b->op != BinaryOp::Max ? "(" + out + ")" : out;
  }

  void visit_node(const Block& n, const Stmt&) override {
    std::string iters;
    for (std::size_t i = 0; i < n.iters.size(); ++i) {
      if (i) iters += ", ";
      iters += names_.of(n.iters[i].var) + ": ";
      if (n.iters[i].kind == IterKind::Reduce) iters += "reduce ";
      if (options_.regions) iters += "0.." + range_end(n.iters[i].extent) + " = ";
      iters += i < n.bindings.size() ? text(n.bindings[i]) : "<unbound>";
    }
    std::string out = "block " + names_.of(n.label);
    out += "(" + iters + ")";
    if (n.predicate.defined() && !is_true(n.predicate)) out += " where " + text(n.predicate);
    line(out + annotations_text(n.annotations));
    enter();
    if (options_.regions) details(n);
    if (n.init.defined()) {
      line("init:", std::nullopt);
      below(n.init);
    }
    stmt(n.body);
    leave();
  }

  void details(const Block& n) {
    auto regions = [&](const char* what, const std::vector<BufferRegion>& all) {
      std::string out;
      for (const BufferRegion& r : all) out += (out.empty() ? " " : ", ") + to_string(r, names_);
      if (!all.empty()) line(what + out, std::nullopt);
    };
    regions("reads", n.reads);
    regions("writes", n.writes);
    if (n.reducer.defined()) line(reducer_text(*n.reducer), std::nullopt);
    if (n.partner.defined()) line("partner " + names_.of(n.partner), std::nullopt);
  }

  std::string reducer_text(const ReducerNode& r) {
    auto vars = [&](const std::vector<Var>& all) {
      std::string out;
      for (const Var& v : all) out += (out.empty() ? "" : ", ") + names_.of(v);
      return out;
    };
    std::string out = "reducer " + r.name + ": (" + vars(r.a);
    out += "; " + vars(r.b) + ")";
    out += " -> (" + list(r.result) + ")";
    out += " from (" + list(r.identity) + ")";
    if (r.associative) out += " associative";
    if (r.commutative) out += " commutative";
    return out;
  }

  void visit_node(const Store& n, const Stmt&) override {
    std::string out = names_.of(n.buffer);
    out += "[" + list(n.indices) + "]";
    out += " = " + text(n.value);
    if (n.mask.defined()) out += " mask " + text(n.mask);
    if (n.streaming) out += " streaming";
    line(std::move(out));
  }
  void visit_node(const Seq& n, const Stmt&) override {
    if (n.stmts.empty()) line("pass");
    std::optional<std::string> mark = std::move(pending_);
    for (const Stmt& s : n.stmts) {
      stmt_with(s, mark);
      mark.reset();
    }
  }
  /// `outer`: the mark of a statement without a line of its own, shown on its first part.
  void stmt_with(const Stmt& s, const std::optional<std::string>& outer) {
    if (!s.defined()) return stmt(s);
    pending_ = options_.mark ? options_.mark(s) : std::nullopt;
    if (!pending_) pending_ = outer;
    visit(s);
  }
  void visit_node(const If& n, const Stmt&) override {
    line("if " + text(n.condition) + ":");
    below(n.then_case);
    if (!n.else_case.defined()) return;
    line("else:", std::nullopt);
    below(n.else_case);
  }
  void visit_node(const Let& n, const Stmt&) override {
    const std::string value = text(n.value);
    line("let " + names_.of(n.var) + " = " + value);
    stmt(n.body);
  }
  void visit_node(const Allocate& n, const Stmt&) override {
    line("allocate " + declaration(n.buffer));
    stmt(n.body);
  }
  void visit_node(const Evaluate& n, const Stmt&) override { line(text(n.value)); }

  std::vector<bool> chosen() const;

  const PrintOptions& options_;
  Names& names_;
  std::vector<Line> lines_;
  std::vector<int> open_;
  std::optional<std::string> pending_;
};

/// Which lines to show: marked ones with all that encloses them, then those nearest to a mark.
std::vector<bool> StmtPrinter::chosen() const {
  const int count = static_cast<int>(lines_.size());
  std::vector<bool> keep(count, options_.max_lines <= 0 || count <= options_.max_lines);
  if (count == 0 || keep[0]) return keep;
  int kept = 0;
  auto take = [&](int i) {
    for (; i >= 0 && !keep[i]; i = lines_[i].parent) {
      keep[i] = true;
      ++kept;
    }
  };
  std::vector<int> distance(count, count);
  for (int i = 0; i < count; ++i) {
    if (!lines_[i].mark) continue;
    take(i);
    for (int j = 0; j < count; ++j) distance[j] = std::min(distance[j], std::abs(i - j));
  }
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return distance[a] < distance[b]; });
  for (const int i : order) {
    if (kept >= options_.max_lines) break;
    take(i);
  }
  return keep;
}

std::string StmtPrinter::finish() {
  const std::vector<bool> keep = chosen();
  std::string out;
  bool gap = false;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const Line& l = lines_[i];
    if (!keep[i] && gap) continue;
    out.append(2 * l.indent, ' ');
    out += keep[i] ? l.text : "...";
    if (keep[i] && l.mark) out += "    <-- " + *l.mark;
    out += '\n';
    gap = !keep[i];
  }
  return out;
}

}  // namespace

std::string to_string(const Program& program, const PrintOptions& options) {
  if (!program.defined()) return "<undefined>\n";
  Names names(program);
  return to_string(program, options, names);
}

std::string to_string(const Program& program, const PrintOptions& options, Names& names) {
  StmtPrinter printer(options, names);
  std::string params;
  for (const Param& p : program->params) {
    if (!params.empty()) params += ", ";
    params += p.size.defined() ? names.of(p.size) + ": size"
                               : printer.declaration(p.buffer, spelling(p.role) + std::string(" "));
  }
  printer.header("program " + program->name + "(" + params + ")");
  for (const Buffer& b : program->temps) printer.temp(b);
  printer.stmt(program->body);
  return printer.finish();
}

std::string to_string(const Stmt& stmt, const PrintOptions& options, Names& names) {
  StmtPrinter printer(options, names);
  printer.stmt(stmt);
  return printer.finish();
}

std::string to_string(const Stmt& stmt, const PrintOptions& options) {
  if (!stmt.defined()) return "<undefined>\n";
  Names names(stmt);
  return to_string(stmt, options, names);
}

std::string to_string(const Program& program) { return to_string(program, PrintOptions()); }
std::string to_string(const Stmt& stmt) { return to_string(stmt, PrintOptions()); }

}  // namespace lathe
