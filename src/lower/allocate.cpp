// Allocations: each intermediate gets memory round the lowest statement that holds all its accesses.

#include <unordered_map>

#include "ir/visitor.h"
#include "lower/passes.h"

namespace lathe::lower {
namespace {

using Path = std::vector<const StmtNode*>;

/// For each buffer, the common path of all its accessing blocks: of those, too, whose regions leave it out because a condition
/// never holds. They keep the buffer that a loop accumulates in alive from one iteration to the next.
class AccessPaths : public Visitor {
 public:
  std::unordered_map<const BufferNode*, Path> paths;

 protected:
  using Visitor::visit_node;
  void visit_node(const For& n, const Stmt& self) override {
    enter(self, [&] { visit(n.body); });
  }
  void visit_node(const Seq& n, const Stmt& self) override {
    enter(self, [&] {
      for (const Stmt& s : n.stmts) visit(s);
    });
  }
  void visit_node(const If& n, const Stmt& self) override {
    enter(self, [&] {
      visit(n.then_case);
      if (n.else_case.defined()) visit(n.else_case);
    });
  }
  void visit_node(const Block& n, const Stmt& self) override {
    enter(self, [&] {
      for (const BufferRegion& r : n.reads) note(r.buffer);
      for (const BufferRegion& w : n.writes) note(w.buffer);
      visit(n.body);
    });
  }

  void visit_node(const Load& n, const Expr& self) override {
    note(n.buffer);
    Visitor::visit_node(n, self);
  }
  void visit_node(const Store& n, const Stmt& self) override {
    note(n.buffer);
    Visitor::visit_node(n, self);
  }

 private:
  void note(const Buffer& b) {
    auto [it, fresh] = paths.emplace(b.get(), path_);
    if (fresh) return;
    std::size_t common = 0;
    while (common < it->second.size() && common < path_.size() && it->second[common] == path_[common])
      ++common;
    it->second.resize(common);
  }
  template <class F>
  void enter(const Stmt& s, F&& inside) {
    path_.push_back(s.get());
    inside();
    path_.pop_back();
  }
  Path path_;
};

class Allocation : public Mutator {
 public:
  std::unordered_map<const StmtNode*, std::vector<Buffer>> at;

 protected:
  using Mutator::mutate_node;
  Stmt mutate_node(const For& n, const Stmt& self) override {
    return wrap(self, with_body(self, mutate(n.body)));
  }
  Stmt mutate_node(const Seq& n, const Stmt& self) override {
    return wrap(self, Mutator::mutate_node(n, self));
  }
  Stmt mutate_node(const If& n, const Stmt& self) override {
    return wrap(self, Mutator::mutate_node(n, self));
  }
  Stmt mutate_node(const Block& n, const Stmt& self) override {
    return wrap(self, Mutator::mutate_node(n, self));
  }

 private:
  Stmt wrap(const Stmt& old, Stmt fresh) {
    auto it = at.find(old.get());
    if (it == at.end()) return fresh;
    for (std::size_t i = it->second.size(); i-- > 0;) fresh = make_stmt<Allocate>(it->second[i], fresh);
    return fresh;
  }
};

}  // namespace

Program allocate(const Program& program, const Target&, const Options&) {
  AccessPaths found;
  found.visit(program->body);
  Allocation allocation;
  for (const Buffer& temp : program->temps) {
    auto it = found.paths.find(temp.get());
    if (it == found.paths.end()) continue;  // never accessed
    Path path = it->second;
    // A loop is no place: its iterations have instances of their own, so the memory goes round its body.
    while (!path.empty() && path.back()->kind == StmtKind::For) path.pop_back();
    const StmtNode* place = path.empty() ? program->body.get() : path.back();
    if (!it->second.empty() && it->second.back()->kind == StmtKind::For)
      place = static_cast<const For*>(it->second.back())->body.get();
    allocation.at[place].push_back(temp);
  }
  return program.with_body(allocation.mutate(program->body), {});
}

}  // namespace lathe::lower
