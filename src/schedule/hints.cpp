// store_hint, math, assume_aligned: what a block's code may do, and what callers promise.

#include "schedule/edit.h"

namespace lathe::schedule {

void run_store_hint(Edit& edit) {
  const Path from = edit.block(0);
  const bool streaming = edit.integer(1) != 0;
  auto block = copy(*from.back().as<Block>());
  block->body = rewrite(block->body, [&](const Stmt& s) -> Stmt {
    const Store* store = s.as<Store>();
    if (!store) return {};
    return make_stmt<Store>(store->buffer, store->value, store->indices, store->mask, streaming);
  });
  if (block->is_reduction() && streaming) {
    edit.refuse(code::S064, "block \"" + block->name() + "\" reads back what it stores",
                {{from.back().get(), "here"}}, "give the hint to the block that stores the final value");
  }
  edit.set_body(replace(from, Stmt(block.release())));
}

void run_math(Edit& edit) {
  const Path from = edit.block(0);
  const std::string& mode = edit.symbol(1);
  if (mode != "MathMode::Exact" && mode != "MathMode::Contract" && mode != "MathMode::Fast") {
    edit.refuse(code::S003, mode + " is no MathMode", {},
                "MathMode::Exact, MathMode::Contract or MathMode::Fast");
  }
  auto block = copy(*from.back().as<Block>());
  block->annotations["math"] = mode;
  edit.set_body(replace(from, Stmt(block.release())));
}

void run_assume_aligned(Edit& edit) {
  const std::string& name = edit.text(0);
  const std::int64_t bytes = edit.integer(1);
  if (bytes < 1 || (bytes & (bytes - 1)) != 0 || bytes > 4096) {
    edit.refuse(code::S065, std::to_string(bytes) + " is no alignment", {}, "give a power of two up to 4096");
  }
  for (const Param& p : edit.program()->params) {
    if (p.role == ParamRole::Size || p.name() != name) continue;
    auto* node = new BufferNode;
    node->name = p.buffer->name;
    node->dtype = p.buffer->dtype;
    node->shape = p.buffer->shape;
    node->scope = p.buffer->scope;
    node->strides = p.buffer->strides;
    node->alignment = static_cast<int>(bytes);
    const Buffer aligned(node);
    edit.replace_param(p.buffer, aligned);
    edit.set_body(replace_buffers(edit.body(), {{p.buffer.get(), aligned}}));
    return;
  }
  edit.refuse(code::S065, "the program has no tensor parameter \"" + name + "\"");
}

}  // namespace lathe::schedule
