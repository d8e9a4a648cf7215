// Unique printed names.

#include "ir/printer.h"
#include "ir/visitor.h"

namespace lathe {

const std::string& Names::unique(const void* node, const std::string& wanted, Taken& taken) {
  auto [at, is_new] = names_.try_emplace(node);
  if (!is_new) return at->second;
  std::string name = wanted.empty() ? "v" : wanted;
  const std::string base = name;
  while (!taken.emplace(name, 0).second) name = base + "_" + std::to_string(++taken[base]);
  // A reference into an unordered_map survives later insertions.
  return at->second = std::move(name);
}

Names::Names(const Program& program) {
  for (const Param& p : program->params) {
    if (p.size.defined()) of(p.size);
  }
  for (const Param& p : program->params) {
    if (p.buffer.defined()) of(p.buffer);
  }
  for (const Buffer& b : program->temps) of(b);
  if (program->body.defined()) add(program->body);
}

Names::Names(const Stmt& stmt) { add(stmt); }

void Names::add(const Stmt& stmt) {
  walk(
      stmt,
      [this](const Stmt& s) {
        if (const For* loop = s.as<For>()) of(loop->var);
        if (const Let* let = s.as<Let>()) of(let->var);
        if (const Allocate* a = s.as<Allocate>()) of(a->buffer);
        if (const Store* store = s.as<Store>()) of(store->buffer);
        if (const Block* b = s.as<Block>()) {
          of(b->label);
          for (const IterVar& i : b->iters) of(i.var);
        }
        return true;
      },
      [this](const Expr& e) {
        if (const VarNode* v = e.as<VarNode>()) of(v);
        if (const Load* l = e.as<Load>()) of(l->buffer);
        return true;
      });
}

}  // namespace lathe
