// prepare: a block that depends on one constant parameter alone runs once, ahead of the calls.

#include "schedule/prepare.h"

#include <algorithm>

#include "schedule/edit.h"
#include "schedule/legality.h"

namespace lathe::schedule {

bool is_marked_prepared(const Block& block) {
  const auto found = block.annotations.find(kPreparedKey);
  if (found == block.annotations.end()) return false;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  return value && *value != 0;
}

Stmt marked_prepared(const Stmt& nest, const Label& label) {
  const Path path = path_to_block(nest, label.get());
  auto block = copy(*path.back().as<Block>());
  block->annotations[kPreparedKey] = std::int64_t{1};
  return replace(path, Stmt(block.release()));
}

Stmt without_mark(const Stmt& nest) {
  const Path path = path_to_block(nest, blocks_below(nest)[0].as<Block>()->label.get());
  auto block = copy(*path.back().as<Block>());
  block->annotations.erase(kPreparedKey);
  return replace(path, Stmt(block.release()));
}

namespace {

const Param* parameter_of(const Program& program, const Buffer& buffer) {
  for (const Param& p : program->params)
    if (p.buffer.same_as(buffer)) return &p;
  return nullptr;
}

}  // namespace

std::string why_not_prepared(const Program& program, const Block& block, Preparation& out) {
  if (block.reads.size() != 1 || block.writes.size() != 1)
    return "it reads " + std::to_string(block.reads.size()) + " buffers and writes " +
           std::to_string(block.writes.size()) + ", not one each";
  const Buffer from = block.reads[0].buffer, to = block.writes[0].buffer;
  const Param* source = parameter_of(program, from);
  if (!source || source->role != ParamRole::Constant)
    return "it reads \"" + from->name + "\", which is no constant parameter";
  if (is_param(program, to) || to->scope != Scope::Global)
    return "it writes \"" + to->name + "\", which is no intermediate in global memory";
  if (writers_of(program->body, to).size() != 1) return "another block writes \"" + to->name + "\", too";
  if (readers_of(program->body, from).size() != 1)
    return "another block reads \"" + from->name + "\", too, and would need it as it is";
  const Seq* seq = program->body.as<Seq>();
  const std::vector<Stmt> roots = seq ? seq->stmts : std::vector<Stmt>{program->body};
  for (const Stmt& root : roots) {
    const std::vector<Stmt> below = blocks_below(root);
    if (below.size() != 1 || below[0].as<Block>() != &block) continue;
    out = {root, from, to};
    return {};
  }
  return "it does not stand alone at the root of the program";
}

std::vector<Preparation> preparations(const Program& program) {
  std::vector<Preparation> out;
  for_each_block(program->body, [&](const Block& block, const Stmt&) {
    if (!is_marked_prepared(block)) return true;
    const std::string why = why_not_prepared(program, block, out.emplace_back());
    internal_check(why.empty(), "a block that `verify` let pass can be prepared");
    return true;
  });
  return out;
}

void run_prepare(Edit& edit) {
  const Path path = edit.block(0);
  const Block& block = *path.back().as<Block>();
  Preparation ignored;
  if (const std::string why = why_not_prepared(edit.program(), block, ignored); !why.empty())
    edit.refuse(code::S075, "block \"" + block.name() + "\" cannot run ahead of the calls: " + why,
                {{path.back().get(), "here"}},
                "cache_read a constant parameter in all blocks that read it, and prepare the copy");
  edit.set_body(marked_prepared(edit.body(), block.label));
}

}  // namespace lathe::schedule
