#include "schedule/tree.h"

#include <algorithm>
#include <set>

namespace lathe::schedule {
namespace {

/// Depth-first search by a predicate on nodes; `path` ends at the first that satisfies it. (Every lookup of a handle comes here.)
template <class Wanted>
bool find(const Stmt& at, const Wanted& wanted, std::vector<const Stmt*>& path) {
  path.push_back(&at);
  if (wanted(*at.get())) return true;
  bool found = false;
  switch (at.kind()) {
    case StmtKind::For: found = find(at.as<For>()->body, wanted, path); break;
    case StmtKind::Block: found = find(at.as<Block>()->body, wanted, path); break;
    case StmtKind::Seq:
      for (const Stmt& s : at.as<Seq>()->stmts) {
        if ((found = find(s, wanted, path))) break;
      }
      break;
    case StmtKind::If:
      found = find(at.as<If>()->then_case, wanted, path) ||
              (at.as<If>()->else_case.defined() && find(at.as<If>()->else_case, wanted, path));
      break;
    case StmtKind::Let: found = find(at.as<Let>()->body, wanted, path); break;
    case StmtKind::Allocate: found = find(at.as<Allocate>()->body, wanted, path); break;
    case StmtKind::Store:
    case StmtKind::Evaluate: break;
  }
  if (!found) path.pop_back();
  return found;
}

template <class Wanted>
Path path_where(const Stmt& root, const Wanted& wanted) {
  std::vector<const Stmt*> found;
  find(root, wanted, found);
  Path path;
  path.reserve(found.size());
  for (const Stmt* s : found) path.push_back(*s);
  return path;
}

/// `parent` with `child` replaced. An undefined `fresh` removes it; the result is undefined when nothing is left.
Stmt with_child(const Stmt& parent, const Stmt& child, const Stmt& fresh) {
  switch (parent.kind()) {
    case StmtKind::For: return fresh.defined() ? with_body(parent, fresh) : Stmt();
    case StmtKind::Block: {
      auto block = copy(*parent.as<Block>());
      block->body = fresh.defined() ? fresh : make_seq({});
      return Stmt(block.release());
    }
    case StmtKind::Seq: {
      std::vector<Stmt> stmts;
      for (const Stmt& s : parent.as<Seq>()->stmts) {
        if (!s.same_as(child)) {
          stmts.push_back(s);
        } else if (fresh.defined()) {
          stmts.push_back(fresh);
        }
      }
      return stmts.empty() ? Stmt() : make_seq(std::move(stmts));
    }
    case StmtKind::If: {
      const If* n = parent.as<If>();
      if (n->then_case.same_as(child)) {
        return make_stmt<If>(n->condition, fresh.defined() ? fresh : make_seq({}), n->else_case);
      }
      return make_stmt<If>(n->condition, n->then_case, fresh);
    }
    case StmtKind::Let: {
      const Let* n = parent.as<Let>();
      return fresh.defined() ? make_stmt<Let>(n->var, n->value, fresh) : Stmt();
    }
    case StmtKind::Allocate:
      return fresh.defined() ? make_stmt<Allocate>(parent.as<Allocate>()->buffer, fresh) : Stmt();
    default: throw InternalError("a leaf statement has no children");
  }
}

}  // namespace

Path path_to(const Stmt& root, const StmtNode* node) {
  return path_where(root, [&](const StmtNode& s) { return &s == node; });
}

Path path_to_loop(const Stmt& root, const VarNode* loop) {
  return path_where(root, [&](const StmtNode& s) {
    return s.kind == StmtKind::For && static_cast<const For&>(s).var.node() == loop;
  });
}

Path path_to_block(const Stmt& root, const LabelNode* block) {
  return path_where(root, [&](const StmtNode& s) {
    return s.kind == StmtKind::Block && static_cast<const Block&>(s).label.get() == block;
  });
}

Stmt replace(const Path& path, Stmt replacement) {
  for (std::size_t i = path.size() - 1; i > 0; --i)
    replacement = with_child(path[i - 1], path[i], replacement);
  return replacement;
}

Stmt replace(const Stmt& root, const StmtNode* node, Stmt replacement) {
  return replace(path_to(root, node), std::move(replacement));
}

std::vector<Stmt> loops_on(const Path& path) {
  std::vector<Stmt> loops;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool is_target = i + 1 == path.size();
    if (path[i].as<Block>() && !is_target) loops.clear();
    if (path[i].as<For>()) loops.push_back(path[i]);
  }
  return loops;
}

std::vector<arith::Domain> domains_of(const std::vector<Stmt>& loops) {
  std::vector<arith::Domain> domains;
  for (const Stmt& s : loops) domains.push_back({s.as<For>()->var, s.as<For>()->extent});
  return domains;
}

void for_each_block(const Stmt& root, const std::function<bool(const Block&, const Stmt&)>& f) {
  switch (root.kind()) {
    case StmtKind::For: return for_each_block(root.as<For>()->body, f);
    case StmtKind::Block:
      if (f(*root.as<Block>(), root)) for_each_block(root.as<Block>()->body, f);
      return;
    case StmtKind::Seq:
      for (const Stmt& s : root.as<Seq>()->stmts) for_each_block(s, f);
      return;
    case StmtKind::If:
      for_each_block(root.as<If>()->then_case, f);
      if (root.as<If>()->else_case.defined()) for_each_block(root.as<If>()->else_case, f);
      return;
    case StmtKind::Let: return for_each_block(root.as<Let>()->body, f);
    case StmtKind::Allocate: return for_each_block(root.as<Allocate>()->body, f);
    case StmtKind::Store:
    case StmtKind::Evaluate: return;
  }
}

std::vector<Stmt> blocks_below(const Stmt& root) {
  std::vector<Stmt> blocks;
  for_each_block(root, [&](const Block&, const Stmt& self) {
    blocks.push_back(self);
    return false;
  });
  return blocks;
}

bool contains(const Stmt& root, const StmtNode* node) { return !path_to(root, node).empty(); }

void bind_path(arith::Analyzer& analyzer, const Path& path) {
  for (const Stmt& s : path) {
    if (const For* loop = s.as<For>()) analyzer.bind_extent(loop->var, loop->extent);
    if (const Block* block = s.as<Block>()) {
      for (const IterVar& i : block->iters) analyzer.bind_extent(i.var, i.extent);
    }
  }
}

void bind_sizes(arith::Analyzer& analyzer, const Program& program) {
  for (const Param& p : program->params) {
    if (p.role == ParamRole::Size) analyzer.bind_size(p.size);
  }
}

bool is_size(const Program& program, const Var& var) {
  return std::any_of(program->params.begin(), program->params.end(),
                     [&](const Param& p) { return p.role == ParamRole::Size && p.size.same_as(var); });
}

Stmt rebind(const Stmt& stmt, const VarMap& map, const Expr& guard, arith::Analyzer& analyzer) {
  auto renew = [&](const Expr& e) {
    Expr fresh = substitute(e, map);
    return fresh.same_as(e) ? e : analyzer.simplify(fresh);
  };
  switch (stmt.kind()) {
    case StmtKind::For: {
      const For* loop = stmt.as<For>();
      Expr extent = renew(loop->extent);
      analyzer.bind_extent(loop->var, extent);
      Stmt body = rebind(loop->body, map, guard, analyzer);
      if (extent.same_as(loop->extent)) return with_body(stmt, std::move(body));
      auto fresh = copy(*loop);
      fresh->extent = std::move(extent);
      fresh->body = std::move(body);
      return Stmt(fresh.release());
    }
    case StmtKind::Seq: {
      std::vector<Stmt> stmts;
      for (const Stmt& s : stmt.as<Seq>()->stmts) stmts.push_back(rebind(s, map, guard, analyzer));
      return make_seq(std::move(stmts));
    }
    case StmtKind::If: {
      const If* n = stmt.as<If>();
      return make_stmt<If>(renew(n->condition), rebind(n->then_case, map, guard, analyzer),
                           n->else_case.defined() ? rebind(n->else_case, map, guard, analyzer) : Stmt());
    }
    case StmtKind::Block: {
      const Block* n = stmt.as<Block>();
      auto block = copy(*n);
      for (Expr& b : block->bindings) b = renew(b);
      block->predicate = renew(block->predicate);
      if (!is_true(guard)) block->predicate = analyzer.simplify(arith::conjunction(block->predicate, guard));
      return Stmt(block.release());
    }
    default: throw InternalError("block form has loops and blocks alone");
  }
}

std::string unique_block_name(const Program& program, const std::string& name) {
  std::set<std::string> taken;
  for_each_block(program->body, [&](const Block& b, const Stmt&) {
    taken.insert(b.name());
    return true;
  });
  if (!taken.count(name)) return name;
  for (int i = 1;; ++i) {
    std::string candidate = name + "_" + std::to_string(i);
    if (!taken.count(candidate)) return candidate;
  }
}

}  // namespace lathe::schedule
