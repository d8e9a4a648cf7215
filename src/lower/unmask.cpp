// Masks that go, since nobody looks at the lanes that they leave out (such is every mask that `vectorize` makes).
//
//     load(S[ramp(8, 1, 8)], mask m)       =>      S[ramp(8, 1, 8)]
//     S[ramp(8, 1, 8)] = …, mask m         =>      S[ramp(8, 1, 8)] = …
//
// where S is a local buffer: no other thread sees it, all its accesses are whole vectors side by side under one mask, and its
// other lanes may hold anything. What is masked has to be in memory, and local buffers should live in registers.
//
//     load(A[broadcast(i, 8)], mask m)     =>      broadcast(A[i], 8)
//
// where some lane of m is known to be on, so that the element may be read.

#include <algorithm>
#include <unordered_set>

#include "lower/bounded_mutator.h"
#include "lower/passes.h"

namespace lathe::lower {
namespace {

/// Does the mask, if any, leave all lanes on?
bool is_open(const Expr& mask) {
  if (!mask.defined() || is_true(mask)) return true;
  const Broadcast* same = mask.as<Broadcast>();
  return same && is_true(same->value);
}

/// One lane of a vector of comparisons; nothing where it depends on memory.
std::optional<Expr> lane_of(const Expr& e, int lane) {
  if (!e.dtype().is_vector()) return e;
  if (const Broadcast* same = e.as<Broadcast>()) return same->value;
  if (const Ramp* ramp = e.as<Ramp>()) return ramp->base + ramp->stride * lane;
  if (const Not* n = e.as<Not>()) {
    const std::optional<Expr> a = lane_of(n->a, lane);
    return a ? std::optional(!*a) : std::nullopt;
  }
  if (const Binary* b = e.as<Binary>()) {
    const std::optional<Expr> x = lane_of(b->a, lane), y = lane_of(b->b, lane);
    return x && y ? std::optional(Expr(new Binary(b->op, *x, *y))) : std::nullopt;
  }
  return std::nullopt;
}

/// How a local buffer is accessed.
class Accesses {
 public:
  Accesses(const Buffer& buffer, const Stmt& body, arith::Analyzer& analyzer)
      : size_(as_int(buffer->shape[0])), analyzer_(analyzer) {
    walk(
        body,
        [&](const Stmt& s) {
          if (const For* loop = s.as<For>()) {
            analyzer_.bind_extent(loop->var, loop->extent);
            inside_.push_back(loop->var.node());
          } else if (const Let* let = s.as<Let>()) {
            inside_.push_back(let->var.node());
          } else if (const Store* store = s.as<Store>(); store && store->buffer.same_as(buffer)) {
            note(store->indices[0], store->mask, stores_);
          }
          return true;
        },
        [&](const Expr& e) {
          if (const Load* load = e.as<Load>(); load && load->buffer.same_as(buffer))
            note(load->indices[0], load->mask, loads_);
          // A surplus lane might divide by zero.
          const Binary* b = e.as<Binary>();
          whole_ &= !b || !b->dtype.is_vector() || b->dtype.is_float() || !divides(b->op);
          return true;
        });
  }

  /// May all masks go?
  bool need_no_mask() const {
    const auto masked = [](const std::vector<Expr>& masks) {
      return std::ranges::any_of(masks, [](const Expr& m) { return !is_open(m); });
    };
    if (!whole_ || !(masked(stores_) || masked(loads_))) return false;
    if (!masked(stores_)) return true;
    const Expr& mask = *std::ranges::find_if_not(stores_, is_open);
    const auto same = [&](const Expr& m) { return structural_equal(m, mask); };
    return std::ranges::all_of(stores_, [&](const Expr& m) { return is_open(m) || same(m); }) &&
           std::ranges::all_of(loads_, [&](const Expr& m) { return !is_open(m) && same(m); });
  }

 private:
  static bool divides(BinaryOp op) {
    return op == BinaryOp::Div || op == BinaryOp::Mod || op == BinaryOp::FloorDiv || op == BinaryOp::FloorMod;
  }

  /// Does the mask stay the same as long as the buffer lives? What memory holds may change.
  bool is_fixed(const Expr& mask) const {
    bool reads = false;
    walk(mask, [&](const Expr& e) {
      reads |= e.as<Load>() || e.as<Call>();
      return !reads;
    });
    return !reads &&
           !mentions_any(mask, [&](const VarNode* v) { return std::ranges::count(inside_, v) > 0; });
  }

  void note(const Expr& index, const Expr& mask, std::vector<Expr>& masks) {
    const Ramp* at = index.as<Ramp>();
    whole_ &= at && is_int(at->stride, 1) && (lanes_ == 0 || lanes_ == at->lanes()) && size_;
    if (!whole_) return;
    lanes_ = at->lanes();
    const arith::ModularSet first = analyzer_.modular(at->base);
    const arith::ConstBound bound = analyzer_.bound(at->base);
    whole_ &= first.coefficient % lanes_ == 0 && first.base % lanes_ == 0 && bound.min >= 0 &&
              bound.max <= *size_ - lanes_;
    whole_ &= is_open(mask) || is_fixed(mask);
    if (std::ranges::none_of(masks, [&](const Expr& m) {
          return m.defined() == mask.defined() && (!m.defined() || structural_equal(m, mask));
        }))
      masks.push_back(mask);
  }

  std::optional<std::int64_t> size_;
  arith::Analyzer& analyzer_;
  std::vector<const VarNode*> inside_;  ///< variables that change while the buffer lives
  bool whole_ = true;
  std::int64_t lanes_ = 0;
  std::vector<Expr> loads_, stores_;  ///< their masks
};

class Unmasking : public BoundedMutator {
 public:
  using BoundedMutator::BoundedMutator;

 protected:
  using BoundedMutator::mutate_node;

  Stmt mutate_node(const Allocate& n, const Stmt& self) override {
    if (n.buffer->scope == Scope::Local && Accesses(n.buffer, n.body, analyzer_).need_no_mask())
      unmasked_.insert(n.buffer.get());
    return BoundedMutator::mutate_node(n, self);
  }
  Expr mutate_node(const Load& n, const Expr& self) override {
    const Expr done = BoundedMutator::mutate_node(n, self);
    if (const Broadcast* same = n.indices[0].as<Broadcast>();
        same && n.mask.defined() && some_lane_is_on(n.mask))
      return broadcast(Expr(new Load(n.buffer, {mutate(same->value)}, Expr())), same->lanes());
    if (unmasked_.count(n.buffer.get()) == 0) return done;
    return Expr(new Load(n.buffer, done.as<Load>()->indices, Expr()));
  }
  Stmt mutate_node(const Store& n, const Stmt& self) override {
    const Stmt done = BoundedMutator::mutate_node(n, self);
    if (unmasked_.count(n.buffer.get()) == 0) return done;
    const Store* store = done.as<Store>();
    return make_stmt<Store>(n.buffer, store->value, store->indices, Expr(), store->streaming);
  }

 private:
  /// Is the first lane, or the last, on?
  bool some_lane_is_on(const Expr& mask) {
    for (const int lane : {0, mask.dtype().lanes - 1}) {
      const std::optional<Expr> bit = lane_of(mask, lane);
      if (bit && analyzer_.can_prove(*bit)) return true;
    }
    return false;
  }

  std::unordered_set<const BufferNode*> unmasked_;
};

}  // namespace

Program unmask(const Program& program, const Target&, const Options&) {
  return program.with_body(Unmasking(program).mutate(program->body));
}

}  // namespace lathe::lower
