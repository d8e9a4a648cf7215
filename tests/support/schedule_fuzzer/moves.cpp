#include "support/schedule_fuzzer/moves.h"

#include <algorithm>

#include "schedule/tree.h"
#include "support/schedule_fuzzer/intrinsics.h"

namespace lathe::fuzz {
namespace {

/// The operands of one move.
class Hand {
 public:
  Hand(Schedule& s, Scene& scene, std::uint64_t seed) : s_(s), scene_(scene), random_(seed), seed_(seed) {}

  Random& random() { return random_; }

  /// The element whose name has the smallest hash.
  template <class T>
  T by_name(const std::vector<T>& from) {
    T best;
    std::uint64_t least = UINT64_MAX;
    const std::uint64_t salt = Random::mix(seed_ + ++draws_);
    for (const T& x : from) {
      const std::uint64_t h = Random::mix(Random::hash(s_.name(x)) ^ salt);
      if (h <= least) {
        least = h;
        best = x;
      }
    }
    return best;
  }

  BlockRef block() {
    if (random_.chance(2) && !scene_.blocks.empty()) return random_.pick(scene_.blocks);
    if (random_.chance(1)) return BlockRef();
    return by_name(s_.blocks());
  }
  /// A block that is a reduction, when there is one.
  BlockRef reduction() {
    std::vector<BlockRef> all;
    for (BlockRef b : s_.blocks()) {
      if (s_.get(b).is_reduction()) all.push_back(b);
    }
    return all.empty() || random_.chance(5) ? block() : by_name(all);
  }
  LoopRef loop_of(BlockRef b) {
    if (random_.chance(2)) return loop();
    const std::vector<LoopRef> all = s_.loops(b);
    return all.empty() ? LoopRef() : by_name(all);
  }
  LoopRef loop() {
    if (random_.chance(3) && !scene_.loops.empty()) return random_.pick(scene_.loops);
    if (random_.chance(1)) return LoopRef();
    const std::vector<LoopRef> all = s_.loops(by_name(s_.blocks()));
    return all.empty() ? LoopRef() : by_name(all);
  }
  /// A loop of some other block.
  LoopRef place_for(BlockRef b, bool consumer) {
    std::vector<BlockRef> others = consumer ? s_.consumers(b) : s_.producers(b);
    others.erase(std::remove(others.begin(), others.end(), b), others.end());
    return others.empty() || random_.chance(8) ? loop() : loop_of(by_name(others));
  }
  /// A loop that a mark can multiply by without the program becoming huge.
  LoopRef short_loop() {
    std::vector<LoopRef> all;
    for (LoopRef l : s_.loops(by_name(s_.blocks()))) {
      if (s_.extent(l).value_or(99) <= 8) all.push_back(l);
    }
    return all.empty() ? LoopRef() : by_name(all);
  }

  std::int64_t number() {
    static const std::vector<std::int64_t> usual = {1, 2, 3, 4, 5, 6, 7, 8}, rare = {16, 32, 0, -1, 13, 64};
    return random_.pick(random_.chance(90) ? usual : rare);
  }
  SplitFactor factor() {
    if (random_.chance(6) && !scene_.factors.empty())
      return scene_.factors[random_.below(scene_.factors.size())];
    return number();
  }
  Scope scope() {
    const std::size_t k = random_.below(10);
    return k < 5 ? Scope::Local : k < 9 ? Scope::Global : Scope::Shared;
  }
  Tail tail() {
    const std::size_t k = random_.below(10);
    return k < 6 ? Tail::Guard : k < 8 ? Tail::Peel : Tail::Pad;
  }

  Schedule& s_;
  Scene& scene_;

 private:
  Random random_;
  std::uint64_t seed_, draws_ = 0;
};

void split(Hand& h) {
  std::vector<SplitFactor> factors;
  const std::size_t count = h.random().chance(75) ? 2 : h.random().chance(80) ? 3 : 1;
  const std::size_t open = h.random().chance(80) ? 0 : h.random().below(count + 1);
  for (std::size_t k = 0; k < count; ++k) factors.push_back(k == open ? SplitFactor(_) : h.factor());
  h.s_.split(h.loop(), factors, h.tail());
}

void fuse(Hand& h) {
  const std::vector<LoopRef> all = h.s_.loops(h.block());
  std::vector<LoopRef> some;
  if (h.random().chance(90) && all.size() >= 2) {
    const std::size_t from = h.random().below(all.size() - 1);
    some = {all[from], all[from + 1]};
    if (from + 2 < all.size() && h.random().chance(30)) some.push_back(all[from + 2]);
  } else {
    for (std::size_t k = h.random().below(4); k > 0; --k) some.push_back(h.loop());
  }
  h.s_.fuse(some);
}

void reorder(Hand& h) {
  std::vector<LoopRef> order = h.s_.loops(h.block());
  for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[h.random().below(k)]);
  if (h.random().chance(60) && order.size() > 2) order.resize(2 + h.random().below(order.size() - 2));
  if (h.random().chance(3)) order.push_back(h.loop());
  h.s_.reorder(order);
}

void bind(Hand& h) {
  static const std::vector<ThreadAxis> axes = {ThreadAxis::BlockX, ThreadAxis::BlockY, ThreadAxis::ThreadX,
                                               ThreadAxis::ThreadY, ThreadAxis::VThread};
  if (h.random().chance(15)) h.s_.bind(h.loop(), h.random().pick(axes));
}

void annotate(Hand& h) {
  if (h.random().chance(50))
    h.s_.annotate(h.loop(), "hint", h.number());
  else
    h.s_.annotate(h.block(), "hint", h.number());
}

void compute_at(Hand& h) {
  const BlockRef b = h.block();
  h.s_.compute_at(b, h.place_for(b, true));
}
void reverse_compute_at(Hand& h) {
  const BlockRef b = h.block();
  h.s_.reverse_compute_at(b, h.place_for(b, false));
}

void cache_read(Hand& h) {
  const BlockRef b = h.block();
  const int read = static_cast<int>(h.random().between(h.random().chance(3) ? -1 : 0, 1));
  const BlockRef copy = h.random().chance(25)
                            ? h.s_.cache_read(b, read, h.scope(), static_cast<int>(h.random().between(0, 2)))
                            : h.s_.cache_read(b, read, h.scope());
  if (h.random().chance(40)) h.s_.compute_at(copy, h.loop_of(b));
}
void cache_write(Hand& h) {
  const BlockRef b = h.random().chance(50) ? h.reduction() : h.block();
  if (h.random().chance(40)) {
    const BlockRef copy = h.s_.cache_write(b, h.scope());
    if (h.random().chance(40)) h.s_.reverse_compute_at(copy, h.loop_of(b));
  } else {
    h.s_.cache_write(b, h.scope(), h.loop_of(b));
  }
}

void rfactor(Hand& h) {
  const BlockRef b = h.reduction();
  h.s_.rfactor(b, h.loop_of(b), static_cast<int>(h.random().between(h.random().chance(5) ? -1 : 0, 2)));
}
void decompose_reduction(Hand& h) {
  const BlockRef b = h.reduction();
  h.s_.decompose_reduction(b, h.loop_of(b));
}

/// A permutation of the dimensions, one of them cut in two, sometimes wrong.
void transform_layout(Hand& h) {
  const BlockRef b = h.block();
  const Block& block = h.s_.get(b);
  const int which = static_cast<int>(h.random().between(-1, 1));
  const int rank = which < 0                                      ? block.writes[0].buffer->rank()
                   : which < static_cast<int>(block.reads.size()) ? block.reads[which].buffer->rank()
                                                                  : 2;
  IndexMap map;
  for (int k = 0; k < rank; ++k) map.from.push_back(Var("i" + std::to_string(k)));
  map.to = {map.from.begin(), map.from.end()};
  if (rank > 0 && h.random().chance(60)) {
    const std::size_t d = h.random().below(rank);
    const std::int64_t f = h.random().between(2, 8);
    map.to[d] = floordiv(map.from[d], f);
    map.to.push_back(floormod(map.from[d], h.random().chance(95) ? f : f + 1));
  }
  for (std::size_t k = map.to.size(); k > 1; --k) std::swap(map.to[k - 1], map.to[h.random().below(k)]);
  if (h.random().chance(4) && !map.to.empty()) map.to.pop_back();
  h.s_.transform_layout(b, which, map);
}

void pad_einsum(Hand& h) {
  const BlockRef b = h.random().chance(80) ? h.reduction() : h.block();
  std::vector<Expr> multiples;
  for (std::size_t k = h.s_.get(b).iters.size(); k > 0; --k)
    multiples.push_back(h.random().chance(50) ? Expr(1) : Expr(h.number()));
  if (h.random().chance(3)) multiples.push_back(1);
  const std::vector<BlockRef> copies = h.s_.pad_einsum(b, multiples);
  if (!copies.empty() && h.random().chance(30)) h.s_.compute_at(h.by_name(copies), h.loop_of(b));
}

void prefetch(Hand& h) {
  const BlockRef b = h.block();
  h.s_.prefetch(b, static_cast<int>(h.random().between(h.random().chance(3) ? -1 : 0, 1)), h.loop_of(b),
                static_cast<int>(h.random().between(h.random().chance(5) ? 0 : 1, 4)));
}

/// Cuts the innermost loops of a block into tiles of a function that fits its type, and has it compute them.
void tensorize(Hand& h) {
  const BlockRef b = h.block();
  const Block& block = h.s_.get(b);
  const std::vector<LoopRef> loops = h.s_.loops(b);
  std::vector<TileFunction> fitting;
  for (const TileFunction& f : tile_functions()) {
    bool fits = f.dtype == block.writes[0].buffer->dtype && f.reduces == block.is_reduction() &&
                f.tile.size() <= loops.size();
    for (std::size_t k = 0; fits && k < f.tile.size(); ++k)
      fits = h.s_.extent(loops[loops.size() - f.tile.size() + k]).value_or(1) % f.tile[k] == 0;
    if (fits) fitting.push_back(f);
  }
  if (fitting.empty() || h.random().chance(5))
    return h.s_.tensorize(h.loop_of(b), h.random().pick(tile_functions()).name);
  const TileFunction f = h.random().pick(fitting);
  std::vector<LoopRef> outer, inner;
  for (std::size_t k = 0; k < f.tile.size(); ++k) {
    const auto parts = h.s_.split(loops[loops.size() - f.tile.size() + k], {_, f.tile[k]});
    outer.push_back(parts[0]);
    inner.push_back(parts[1]);
  }
  outer.insert(outer.end(), inner.begin(), inner.end());
  h.s_.reorder(outer);
  h.s_.tensorize(inner[0], f.name);
}

void assume_aligned(Hand& h) {
  const std::vector<Param>& params = h.s_.program()->params;
  h.s_.assume_aligned(h.random().chance(95) ? params[h.random().below(params.size())].name() : "nothing",
                      h.random().pick(std::vector<std::int64_t>{16, 32, 64, 3, 0, -4}));
}

void math(Hand& h) {
  h.s_.math(h.block(),
            h.random().pick(std::vector<MathMode>{MathMode::Exact, MathMode::Contract, MathMode::Fast}));
}

void sample_tile(Hand& h) {
  const LoopRef l = h.loop();
  const int n = static_cast<int>(h.random().between(1, 3));
  const std::vector<Factor> f =
      h.random().chance(50) ? h.s_.sample_perfect_tile(l, n, h.number()) : h.s_.sample_tile(l, n, h.number());
  h.scene_.factors.insert(h.scene_.factors.end(), f.begin(), f.end());
  if (h.random().chance(80)) h.s_.split(l, std::vector<SplitFactor>(f.begin(), f.end()), h.tail());
}
void sample_choice(Hand& h) {
  std::vector<std::int64_t> choices;
  for (std::size_t k = h.random().below(5); k > 0; --k) choices.push_back(h.number());
  h.scene_.factors.push_back(h.s_.sample_choice(choices));
}
void sample_compute_location(Hand& h) {
  const BlockRef b = h.block();
  const LoopRef l = h.s_.sample_compute_location(b);
  if (h.random().chance(80)) h.s_.compute_at(b, l);
}
void require(Hand& h) {
  if (h.scene_.factors.empty()) return;
  const Factor f = h.scene_.factors[h.random().below(h.scene_.factors.size())];
  const Factor g = h.scene_.factors[h.random().below(h.scene_.factors.size())];
  h.s_.require(f * g <= h.random().pick(std::vector<std::int64_t>{4, 16, 64}));
}

struct Kind {
  const char* name;
  int weight;
  void (*run)(Hand&);
};
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = {
      {"split", 14, split},
      {"fuse", 6, fuse},
      {"reorder", 8, reorder},
      {"parallel", 4, [](Hand& h) { h.s_.parallel(h.loop()); }},
      {"vectorize", 6, [](Hand& h) { h.s_.vectorize(h.loop()); }},
      {"unroll", 4, [](Hand& h) { h.s_.unroll(h.short_loop()); }},
      {"bind", 2, bind},
      {"annotate", 1, annotate},
      {"partition", 3, [](Hand& h) { h.s_.partition(h.loop()); }},
      {"compute_at", 12, compute_at},
      {"reverse_compute_at", 7, reverse_compute_at},
      {"compute_inline", 4, [](Hand& h) { h.s_.compute_inline(h.block()); }},
      {"reverse_compute_inline", 3, [](Hand& h) { h.s_.reverse_compute_inline(h.block()); }},
      {"cache_read", 5, cache_read},
      {"cache_write", 8, cache_write},
      {"set_scope", 2, [](Hand& h) { h.s_.set_scope(h.block(), h.scope()); }},
      {"rfactor", 6, rfactor},
      {"decompose_reduction", 4, decompose_reduction},
      {"transform_layout", 5, transform_layout},
      {"store_hint", 1, [](Hand& h) { h.s_.store_hint(h.block(), h.random().chance(80)); }},
      {"math", 1, math},
      {"pad_einsum", 4, pad_einsum},
      {"prefetch", 3, prefetch},
      {"blockize", 4, [](Hand& h) { h.s_.blockize(h.loop_of(h.block())); }},
      {"tensorize", 6, tensorize},
      {"prepare", 1, [](Hand& h) { h.s_.prepare(h.block()); }},
      {"assume_aligned", 1, assume_aligned},
      {"sample_tile", 4, sample_tile},
      {"sample_choice", 1, sample_choice},
      {"sample_compute_location", 2, sample_compute_location},
      {"require", 1, require},
  };
  return table;
}

}  // namespace

std::vector<Move> random_moves(std::uint64_t seed, std::size_t longest) {
  Random random(Random::mix(seed ^ 0x5eed));
  int total = 0;
  for (const Kind& k : kinds()) total += k.weight;
  std::vector<Move> out(1 + random.below(longest));
  for (Move& m : out) {
    int at = static_cast<int>(random.below(total));
    while (at >= kinds()[m.kind].weight) at -= kinds()[m.kind++].weight;
    m.seed = random.next();
  }
  return out;
}

const char* name_of(const Move& move) { return kinds()[move.kind].name; }

void look_round(Schedule& s, Scene& scene) {
  auto note = [](auto& list, auto handle) {
    if (std::find(list.begin(), list.end(), handle) == list.end()) list.push_back(handle);
  };
  for (BlockRef b : s.blocks()) {
    note(scene.blocks, b);
    for (LoopRef l : s.loops(b)) note(scene.loops, l);
  }
}

void apply(const Move& move, Schedule& s, Scene& scene) {
  Hand hand(s, scene, move.seed);
  kinds()[move.kind].run(hand);
}

}  // namespace lathe::fuzz
