// Prefetches that loops ask for: at the head of the body, one instruction a cache line of what the body reads of the buffer
// some iterations later.
//
//     for i in 0..n   prefetch A: 2        for i in 0..n:
//       … A[i, 0..32] …              =>      for line in 0..2 unrolled:
//                                              prefetch(A[i + 2, line*16])
//                                            … A[i, 0..32] …
//
// The last iterations ask for what lies beyond the end; a prefetch of any address is harmless.

#include <optional>

#include "arith/regions.h"
#include "lower/bounded_mutator.h"
#include "lower/passes.h"

namespace lathe::lower {
namespace {

constexpr std::int64_t kLineBytes = 64;
constexpr std::string_view kNote = "prefetch ";

bool allocates(const Stmt& s, const Buffer& buffer) {
  bool found = false;
  walk(s, [&](const Stmt& x) {
    const Allocate* a = x.as<Allocate>();
    found |= a && a->buffer.same_as(buffer);
    return !found;
  });
  return found;
}

/// One prefetch for each line of the box; nothing when its size is not a constant.
Stmt prefetch_lines(const BufferRegion& box) {
  const std::int64_t per_line = std::max<std::int64_t>(1, kLineBytes / box.buffer->dtype.bytes());
  std::vector<Var> vars;
  std::vector<std::int64_t> counts;
  std::vector<Expr> at;
  for (std::size_t d = 0; d < box.ranges.size(); ++d) {
    const std::optional<std::int64_t> extent = as_int(box.ranges[d].extent);
    if (!extent) return {};
    const std::int64_t step = d + 1 == box.ranges.size() ? per_line : 1;
    const Var line("line");
    vars.push_back(line);
    counts.push_back((*extent + step - 1) / step);
    at.push_back(arith::add(box.ranges[d].min, arith::mul(line, make_index(step))));
  }
  Stmt body =
      make_stmt<Evaluate>(Expr(new Call(boolean, Intrinsic::Prefetch, {Expr(new Load(box.buffer, at))})));
  for (std::size_t d = vars.size(); d-- > 0;)
    body = make_stmt<For>(vars[d], make_index(counts[d]), ForKind::Unrolled, body);
  return body;
}

class Prefetching : public BoundedMutator {
 public:
  using BoundedMutator::BoundedMutator;

 protected:
  using BoundedMutator::mutate_node;
  Stmt mutate_node(const For& n, const Stmt& self) override {
    analyzer_.bind_extent(n.var, n.extent);
    Stmt body = mutate(n.body);
    std::vector<Stmt> stmts;
    for (const auto& [key, value] : n.annotations) {
      const std::int64_t* distance = std::get_if<std::int64_t>(&value);
      if (!distance || !key.starts_with(kNote)) continue;
      for (const arith::Region& read : arith::accesses(n.body, {}, analyzer_).reads) {
        if (read.region.buffer->name != key.substr(kNote.size()) || allocates(n.body, read.region.buffer))
          continue;
        BufferRegion later = read.region;
        for (Range& r : later.ranges)
          r.min = substitute(r.min, {{n.var.node(), arith::add(n.var, make_index(*distance))}});
        if (Stmt lines = prefetch_lines(later); lines.defined()) stmts.push_back(lines);
      }
    }
    if (stmts.empty()) return with_body(self, body);
    stmts.push_back(body);
    return with_body(self, make_seq(std::move(stmts)));
  }
};

}  // namespace

Program insert_prefetches(const Program& program, const Target&, const Options&) {
  return program.with_body(Prefetching(program).mutate(program->body));
}

}  // namespace lathe::lower
