#include "interp/scopes.h"

#include <algorithm>
#include <unordered_set>

#include "ir/visitor.h"

namespace lathe::interp {

LoopVars::LoopVars(const Stmt& body) {
  walk(body, [&](const Stmt& s) {
    if (const Block* b = s.as<Block>()) {
      for (std::size_t i = 0; i < b->iters.size(); ++i) bindings_[b->iters[i].var.node()] = b->bindings[i];
    } else if (const Let* l = s.as<Let>()) {
      bindings_[l->var.node()] = l->value;
    }
    return true;
  });
}

const std::vector<const VarNode*>& LoopVars::of(const Expr& e) {
  auto [at, fresh] = known_.try_emplace(e.get());
  if (!fresh) return at->second;
  std::vector<const VarNode*> found;
  for (const Var& v : free_vars(e)) {
    auto bound = bindings_.find(v.node());
    if (bound == bindings_.end()) {
      found.push_back(v.node());
    } else {
      const auto inner = of(bound->second);
      found.insert(found.end(), inner.begin(), inner.end());
    }
  }
  return known_[e.get()] = found;
}

bool LoopVars::mentions(const Expr& e, const VarNode* loop) {
  const auto& vars = of(e);
  return std::find(vars.begin(), vars.end(), loop) != vars.end();
}

bool encloses_blocks(const StmtNode& s) {
  bool found = false;
  walk(Stmt(&s), [&](const Stmt& inner) {
    found = found || (inner.get() != &s && inner.kind() == StmtKind::Block);
    return !found;
  });
  return found;
}

namespace {

using Path = std::vector<const StmtNode*>;

class Accesses : public Visitor {
 public:
  Accesses(const Program& program, LoopVars& loop_vars) : loop_vars_(loop_vars) {
    for (const Buffer& b : program->temps) temps_.insert(b.get());
    visit(program->body);
  }

  Scopes scopes(const Program& program) {
    Scopes result;
    for (const Buffer& b : program->temps) {
      auto found = paths_.find(b.get());
      if (found == paths_.end()) continue;  // never accessed
      result[place(found->second)].push_back(b);
    }
    return result;
  }

 protected:
  void visit_node(const For& n, const Stmt& self) override {
    visit(n.extent);
    enter(n, [&] { Visitor::visit(n.body); });
    (void)self;
  }
  void visit_node(const Block& n, const Stmt&) override {
    enter(n, [&] {
      for (const Expr& b : n.bindings) visit(b);
      visit(n.predicate);
      if (n.init) visit(n.init);
      visit(n.body);
    });
  }
  void visit_node(const Seq& n, const Stmt&) override {
    enter(n, [&] {
      for (const Stmt& s : n.stmts) visit(s);
    });
  }
  void visit_node(const If& n, const Stmt&) override {
    enter(n, [&] {
      visit(n.condition);
      visit(n.then_case);
      if (n.else_case) visit(n.else_case);
    });
  }
  void visit_node(const Let& n, const Stmt&) override {
    enter(n, [&] {
      visit(n.value);
      visit(n.body);
    });
  }
  void visit_node(const Store& n, const Stmt& self) override {
    enter(n, [&] {
      access(n.buffer);
      Visitor::visit_node(n, self);
    });
  }
  void visit_node(const Load& n, const Expr& self) override {
    access(n.buffer);
    Visitor::visit_node(n, self);
  }

 private:
  using Visitor::visit;
  template <class F>
  void enter(const StmtNode& n, F inside) {
    path_.push_back(&n);
    inside();
    path_.pop_back();
  }
  void access(const Buffer& b) {
    if (!temps_.count(b.get())) return;
    auto [at, first] = paths_.try_emplace(b.get(), path_);
    if (first) return;
    Path& common = at->second;
    std::size_t n = 0;
    while (n < common.size() && n < path_.size() && common[n] == path_[n]) ++n;
    common.resize(n);
  }

  const StmtNode* place(const Path& path) {
    if (path.empty()) return nullptr;
    // The innermost block above the accesses; when the accesses are all its own, its reduce loops stay inside.
    auto inner = std::find_if(path.rbegin(), path.rend(),
                              [](const StmtNode* s) { return s->kind == StmtKind::Block; });
    if (inner == path.rend() || encloses_blocks(**inner)) return path.back();
    const Block& block = static_cast<const Block&>(**inner);
    const StmtNode* result = path.back();
    for (auto at = inner; at != path.rend(); ++at) {
      if ((*at)->kind != StmtKind::For) continue;
      const VarNode* var = static_cast<const For*>(*at)->var.node();
      for (std::size_t i = 0; i < block.iters.size(); ++i) {
        if (block.iters[i].kind != IterKind::Reduce || !loop_vars_.mentions(block.bindings[i], var)) continue;
        result = at + 1 == path.rend() ? nullptr : *(at + 1);
      }
    }
    return result;
  }

  LoopVars& loop_vars_;
  std::unordered_set<const BufferNode*> temps_;
  std::unordered_map<const BufferNode*, Path> paths_;
  Path path_;
};

}  // namespace

Scopes scopes_of(const Program& program) {
  LoopVars loop_vars(program->body);
  return Accesses(program, loop_vars).scopes(program);
}

}  // namespace lathe::interp
