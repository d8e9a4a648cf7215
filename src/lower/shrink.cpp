// Intermediates shrink to what one instance is accessed in.
//
//     allocate T[64, 64]                         allocate T[8, 10]
//       for a in 0..8: T[i*8 + a, …] = …    =>     for a in 0..8: T[a, …] = …
//
// A dimension whose accessed range does not have a constant extent relative to the loops round the allocation keeps its
// full size. The rows of a local buffer are made as long as the vectors that will hold them: seven lanes take eight, so that a
// vector of one row overlaps no other and all of them may live in registers.

#include <algorithm>
#include <bit>

#include "arith/block_access.h"
#include "lower/bounded_mutator.h"
#include "lower/passes.h"
#include "lower/renew.h"

namespace lathe::lower {
namespace {

/// The union of the regions that blocks below `root` access of one buffer.
class AccessedRegion : public Visitor {
 public:
  AccessedRegion(const Buffer& buffer, arith::Analyzer& analyzer) : buffer_(buffer), analyzer_(analyzer) {}
  std::optional<arith::Region> region;

 protected:
  using Visitor::visit_node;
  void visit_node(const For& n, const Stmt&) override {
    over_.push_back({n.var, n.extent});
    visit(n.body);
    over_.pop_back();
  }
  void visit_node(const Block& n, const Stmt&) override {
    for (const std::vector<BufferRegion>* list : {&n.reads, &n.writes}) {
      for (const BufferRegion& r : *list) {
        if (!r.buffer.same_as(buffer_)) continue;
        arith::Region touched = arith::access_over(n, r, over_, analyzer_);
        region = region ? arith::unite(*region, touched, analyzer_) : touched;
      }
    }
  }

 private:
  const Buffer& buffer_;
  arith::Analyzer& analyzer_;
  std::vector<arith::Domain> over_;
};

class Shrinking : public BoundedMutator {
 public:
  Shrinking(const Program& program, const Target& target) : BoundedMutator(program) {
    if (const auto* cpu = std::get_if<CpuTarget>(&target.device)) vector_bits_ = cpu->vector_bits;
  }

 protected:
  using BoundedMutator::mutate_node;

  Stmt mutate_node(const Allocate& n, const Stmt&) override {
    AccessedRegion accessed(n.buffer, analyzer_);
    accessed.visit(n.body);
    if (accessed.region) plan(n.buffer, accessed.region->region);
    Stmt body = mutate(n.body);
    auto it = plans_.find(n.buffer.get());
    return make_stmt<Allocate>(it == plans_.end() ? n.buffer : it->second.buffer, body);
  }

  /// Subscripts inside a block are over its variables; offsets are over the loops outside. The block gets its regions and
  /// body shifted by offsets written as loop expressions, which is what lowering its variables to bindings gives anyway.
  Expr mutate_node(const Load& n, const Expr& self) override {
    Expr done = Mutator::mutate_node(n, self);
    auto it = plans_.find(n.buffer.get());
    if (it == plans_.end()) return done;
    const Load* load = done.as<Load>();
    return Expr(new Load(it->second.buffer, shifted(load->indices, it->second), load->mask));
  }
  Stmt mutate_node(const Store& n, const Stmt& self) override {
    Stmt done = Mutator::mutate_node(n, self);
    auto it = plans_.find(n.buffer.get());
    if (it == plans_.end()) return done;
    const Store* store = done.as<Store>();
    return make_stmt<Store>(it->second.buffer, store->value, shifted(store->indices, it->second), store->mask,
                            store->streaming);
  }
  Stmt mutate_node(const Block& n, const Stmt&) override {
    auto out = copy(n);
    if (n.init.defined()) out->init = mutate(n.init);
    out->body = mutate(n.body);
    for (std::vector<BufferRegion>* list : {&out->reads, &out->writes}) {
      for (BufferRegion& r : *list) {
        auto it = plans_.find(r.buffer.get());
        if (it == plans_.end()) continue;
        r.buffer = it->second.buffer;
        for (std::size_t d = 0; d < r.ranges.size(); ++d)
          r.ranges[d].min = arith::sub(r.ranges[d].min, it->second.offsets[d]);
      }
    }
    return Stmt(out.release());
  }

 private:
  struct Plan {
    Buffer buffer;
    std::vector<Expr> offsets;
  };

  void plan(const Buffer& buffer, const BufferRegion& region) {
    std::vector<Expr> shape = buffer->shape, offsets(shape.size(), Expr(0));
    bool changed = false;
    for (std::size_t d = 0; d < region.ranges.size(); ++d) {
      std::optional<std::int64_t> extent = as_int(region.ranges[d].extent);
      if (!extent) {
        const std::int64_t most = analyzer_.bound(region.ranges[d].extent).max;
        if (most != arith::ConstBound::kPlusInf) extent = most;
      }
      const std::optional<std::int64_t> full = as_int(buffer->shape[d]);
      if (!extent || (full && *extent >= *full)) continue;
      shape[d] = make_index(std::max<std::int64_t>(*extent, 0));
      offsets[d] = region.ranges[d].min;
      changed = true;
    }
    if (buffer->scope == Scope::Local && !shape.empty() && buffer->strides.empty()) {
      const std::optional<std::int64_t> row = as_int(shape.back());
      if (const std::int64_t whole = row ? whole_vectors(*row, buffer->dtype) : 0; row && whole > *row) {
        shape.back() = make_index(whole);
        changed = true;
      }
    }
    if (changed) plans_.emplace(buffer.get(), Plan{reshaped(buffer, std::move(shape)), std::move(offsets)});
  }

  /// The lanes that a row of so many elements takes.
  std::int64_t whole_vectors(std::int64_t row, DataType type) const {
    const std::int64_t lanes = vector_bits_ / (8 * type.bytes());
    if (lanes < 2 || row < 2) return row;
    if (row < lanes) return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(row)));
    return (row + lanes - 1) / lanes * lanes;
  }

  static std::vector<Expr> shifted(std::vector<Expr> indices, const Plan& plan) {
    for (std::size_t d = 0; d < indices.size(); ++d) indices[d] = arith::sub(indices[d], plan.offsets[d]);
    return indices;
  }

  std::unordered_map<const BufferNode*, Plan> plans_;
  std::int64_t vector_bits_ = 0;
};

}  // namespace

Program shrink(const Program& program, const Target& target, const Options&) {
  return program.with_body(Shrinking(program, target).mutate(program->body));
}

}  // namespace lathe::lower
