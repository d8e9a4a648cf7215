// Loads and stores, with bounds always and shadow checks (initialised, rewritten, raced) where asked for.

#include "interp/kinds.h"

namespace lathe::interp {
namespace {

const Access& access_of(const Instr* p) { return *static_cast<const Access*>(p->ptr); }

std::vector<std::int64_t> subscripts(const Access& access, const Slot* r, std::uint32_t lane) {
  std::vector<std::int64_t> at;
  for (std::size_t d = 0; d < access.index.size(); ++d)
    at.push_back(r[access.index[d] + access.step[d] * lane].i);
  return at;
}

std::string shape_text(const Instance& b, bool flat) {
  std::string text;
  if (flat) return std::to_string(b.size);
  for (std::int64_t extent : b.shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return text;
}

[[gnu::cold, gnu::noinline]] const Instr* out_of_bounds(const Instr* p, Slot* r, Context& c,
                                                        std::uint32_t lane, bool store) {
  const Access& access = access_of(p);
  return violate(c, p, p + 1, ViolationKind::OutOfBounds, access.info, subscripts(access, r, lane),
                 std::string(store ? "a store" : "a load") + " outside its shape [" +
                     shape_text(*r[p->extra].instance, access.flat) + "]");
}
[[gnu::cold, gnu::noinline]] const Instr* at_element(const Instr* p, Slot* r, Context& c, std::uint32_t lane,
                                                     ViolationKind kind, std::string detail) {
  const Access& access = access_of(p);
  return violate(c, p, p + 1, kind, access.info, subscripts(access, r, lane), std::move(detail));
}

[[gnu::noinline]] bool check_race(const Instr* p, Slot* r, Context& c, Instance& b, std::int64_t offset,
                                  std::uint32_t lane, bool store, bool same) {
  Touched& t = b.touched[offset];
  const Toucher& self = c.self;
  const Toucher* other = nullptr;
  const char* what = store ? "is written by both of" : "is written by one and read by the other of";
  if (!same && !ordered(t.write, self)) other = &t.write;
  if (store && !other) {
    if (!ordered(t.read, self))
      other = &t.read;
    else if (!ordered(t.other_read, self))
      other = &t.other_read;
    if (other) what = "is read by one and written by the other of";
  }
  store ? void(t.write = self) : note_read(t, self);
  if (!other) return true;
  return at_element(p, r, c, lane, ViolationKind::Race,
                    std::string(what) + " two threads, iterations or lanes that nothing orders") != nullptr;
}

/// The shadow checks of a read. False: the run stops.
inline bool shadow_read(const Instr* p, Slot* r, Context& c, Instance& b, std::int64_t offset,
                        std::uint32_t lane) {
  if (b.state && !(b.state[offset] & kInitialized)) [[unlikely]] {
    b.state[offset] |= kInitialized;  // once an element is enough
    if (!at_element(p, r, c, lane, ViolationKind::Uninitialized, "read before anything is written there"))
      return false;
  }
  if ((c.self.kernel | c.self.vector) && b.touched && access_of(p).check_race)
    return check_race(p, r, c, b, offset, lane, false, false);
  return true;
}

template <class K>
bool same_value(Slot a, Slot b) {
  if constexpr (K::is_float) {
    if (K::get(a) != K::get(a) && K::get(b) != K::get(b)) return true;
  }
  return K::to_memory(a) == K::to_memory(b);
}

template <class K>
bool shadow_write(const Instr* p, Slot* r, Context& c, Instance& b, std::int64_t offset, std::uint32_t lane,
                  Slot old, Slot value) {
  if (b.state) {
    if (access_of(p).complete && (b.state[offset] & kWritten) && !same_value<K>(old, value)) [[unlikely]] {
      if (!at_element(p, r, c, lane, ViolationKind::Rewritten,
                      "written again by a complete block, with " + number_text(K::type, value) + " after " +
                          number_text(K::type, old))) {
        return false;
      }
    }
    b.state[offset] |= kInitialized | kWritten;
  }
  if ((c.self.kernel | c.self.vector) && b.touched && access_of(p).check_race) {
    return check_race(p, r, c, b, offset, lane, true,
                      c.machine->equal_writes_agree && same_value<K>(old, value));
  }
  return true;
}

// ---- addresses -----------------------------------------------------------------------------------------

/// Row-major position of a scalar access of rank 0 to 3, or -1 outside the shape.
template <int Rank>
std::int64_t position(const Instr* p, const Slot* r, const Instance& b) {
  const auto& shape = b.extents;
  if constexpr (Rank == 0) return 0;
  const auto inside = [&](std::int64_t i, int d) {
    return static_cast<std::uint64_t>(i) < static_cast<std::uint64_t>(shape[d]);
  };
  if constexpr (Rank == 1) return inside(r[p->a].i, 0) ? r[p->a].i : -1;
  if constexpr (Rank == 2) {
    const std::int64_t i = r[p->a].i, j = r[p->b].i;
    return inside(i, 0) & inside(j, 1) ? i * shape[1] + j : -1;
  }
  if constexpr (Rank == 3) {
    const std::int64_t i = r[p->a].i, j = r[p->b].i, k = r[p->c].i;
    return inside(i, 0) & inside(j, 1) & inside(k, 2) ? (i * shape[1] + j) * shape[2] + k : -1;
  }
  return -1;
}

std::int64_t general_position(const Access& access, const Slot* r, const Instance& b, std::uint32_t lane) {
  if (access.flat) {
    const std::int64_t i = r[access.index[0] + access.step[0] * lane].i;
    return static_cast<std::uint64_t>(i) < static_cast<std::uint64_t>(b.size) ? i : -1;
  }
  std::int64_t at = 0;
  if (access.info->strided) {
    for (std::size_t d = 0; d < access.index.size(); ++d) {
      const std::int64_t i = r[access.index[d] + access.step[d] * lane].i;
      if (static_cast<std::uint64_t>(i) >= static_cast<std::uint64_t>(b.shape[d])) return -1;
      at += i * b.strides[d];
    }
    return at;
  }
  for (std::size_t d = 0; d < access.index.size(); ++d) {
    const std::int64_t i = r[access.index[d] + access.step[d] * lane].i;
    if (static_cast<std::uint64_t>(i) >= static_cast<std::uint64_t>(b.shape[d])) return -1;
    at = at * b.shape[d] + i;
  }
  return at;
}

// ---- loads ---------------------------------------------------------------------------------------------

template <class K>
Slot fetch(const Instance& b, std::int64_t offset) {
  return K::from_memory(reinterpret_cast<const typename K::Stored*>(b.data)[offset]);
}
template <class K>
void put(Instance& b, std::int64_t offset, Slot value) {
  reinterpret_cast<typename K::Stored*>(b.data)[offset] = K::to_memory(value);
}

template <class K, int Rank, bool Shadow>
const Instr* load_scalar(const Instr* p, Slot* r, Context& c) {
  Instance& b = *r[p->extra].instance;
  const std::int64_t offset = Rank < 0 ? general_position(access_of(p), r, b, 0) : position<Rank>(p, r, b);
  if (offset < 0) [[unlikely]] {
    r[p->dst].i = 0;
    return out_of_bounds(p, r, c, 0, false);
  }
  if constexpr (Shadow) {
    if (!shadow_read(p, r, c, b, offset, 0)) return nullptr;
  }
  r[p->dst] = fetch<K>(b, offset);
  return p + 1;
}

template <class K, bool Shadow>
const Instr* load_lanes(const Instr* p, Slot* r, Context& c) {
  Instance& b = *r[p->extra].instance;
  const Access& access = access_of(p);
  for (std::uint32_t l = 0; l < p->lanes; ++l) {
    r[p->dst + l].i = 0;
    if (access.mask != kNone && !r[access.mask + l].i) continue;
    const std::int64_t offset = general_position(access, r, b, l);
    if (access.mask != kNone) c.machine->note_masked(access.info->id, false);
    if (offset < 0) {
      if (!out_of_bounds(p, r, c, l, false)) return nullptr;
      continue;
    }
    if constexpr (Shadow) {
      if (!shadow_read(p, r, c, b, offset, l)) return nullptr;
    }
    r[p->dst + l] = fetch<K>(b, offset);
  }
  return p + 1;
}

// ---- stores: `dst` is the register of the value --------------------------------------------------------

template <class K, bool Shadow>
bool store_at(const Instr* p, Slot* r, Context& c, Instance& b, std::int64_t offset, std::uint32_t lane) {
  const Slot value = r[p->dst + lane];
  if constexpr (Shadow) {
    if (!shadow_write<K>(p, r, c, b, offset, lane, fetch<K>(b, offset), value)) return false;
  }
  put<K>(b, offset, value);
  return true;
}

[[gnu::cold, gnu::noinline]] const Instr* read_only(const Instr* p, Slot* r, Context& c, std::uint32_t lane) {
  return at_element(p, r, c, lane, ViolationKind::WriteToInput, "a store to an input of the program");
}

template <class K, int Rank, bool Shadow>
const Instr* store_scalar(const Instr* p, Slot* r, Context& c) {
  Instance& b = *r[p->extra].instance;
  const std::int64_t offset = Rank < 0 ? general_position(access_of(p), r, b, 0) : position<Rank>(p, r, b);
  if (offset < 0) [[unlikely]]
    return out_of_bounds(p, r, c, 0, true);
  if (b.info->read_only) [[unlikely]]
    return read_only(p, r, c, 0);
  return store_at<K, Shadow>(p, r, c, b, offset, 0) ? p + 1 : nullptr;
}

template <class K, bool Shadow>
const Instr* store_lanes(const Instr* p, Slot* r, Context& c) {
  Instance& b = *r[p->extra].instance;
  const Access& access = access_of(p);
  for (std::uint32_t l = 0; l < p->lanes; ++l) {
    if (access.mask != kNone && !r[access.mask + l].i) continue;
    if (access.mask != kNone) c.machine->note_masked(access.info->id, true);
    const std::int64_t offset = general_position(access, r, b, l);
    bool goes_on;
    if (offset < 0)
      goes_on = out_of_bounds(p, r, c, l, true);
    else if (b.info->read_only)
      goes_on = read_only(p, r, c, l);
    else
      goes_on = store_at<K, Shadow>(p, r, c, b, offset, l);
    if (!goes_on) return nullptr;
  }
  return p + 1;
}

// ---- updates: `dst` is the register of the operand ----------------------------------------------------

template <class K, BinaryOp Op, int Rank, bool Shadow>
const Instr* update_scalar(const Instr* p, Slot* r, Context& c) {
  Instance& b = *r[p->extra].instance;
  const std::int64_t offset = Rank < 0 ? general_position(access_of(p), r, b, 0) : position<Rank>(p, r, b);
  if (offset < 0) [[unlikely]]
    return out_of_bounds(p, r, c, 0, true);
  if (b.info->read_only) [[unlikely]]
    return read_only(p, r, c, 0);
  if constexpr (Shadow) {
    if (!shadow_read(p, r, c, b, offset, 0)) return nullptr;
  }
  const Slot old = fetch<K>(b, offset);
  Slot value;
  if constexpr (K::is_float) {
    K::set(value, Op == BinaryOp::Add ? K::get(old) + K::get(r[p->dst]) : K::get(old) * K::get(r[p->dst]));
  } else {
    K::set(value, integer_op(K::type, Op, old.i, r[p->dst].i));
  }
  if constexpr (Shadow) {
    if (!shadow_write<K>(p, r, c, b, offset, 0, old, value)) return nullptr;
  }
  put<K>(b, offset, value);
  return p + 1;
}
template <class K, BinaryOp Op, bool Shadow>
Fn pick_update(int rank) {
  switch (rank) {
    case 0: return update_scalar<K, Op, 0, Shadow>;
    case 1: return update_scalar<K, Op, 1, Shadow>;
    case 2: return update_scalar<K, Op, 2, Shadow>;
    case 3: return update_scalar<K, Op, 3, Shadow>;
    default: return update_scalar<K, Op, -1, Shadow>;
  }
}
template <class K>
Fn pick_update(BinaryOp op, int rank, bool shadow) {
  if (op == BinaryOp::Add)
    return shadow ? pick_update<K, BinaryOp::Add, true>(rank) : pick_update<K, BinaryOp::Add, false>(rank);
  if (op == BinaryOp::Mul)
    return shadow ? pick_update<K, BinaryOp::Mul, true>(rank) : pick_update<K, BinaryOp::Mul, false>(rank);
  return nullptr;
}

template <class K, bool Shadow>
Fn pick_load(int rank, bool vector) {
  if (vector) return load_lanes<K, Shadow>;
  switch (rank) {
    case 0: return load_scalar<K, 0, Shadow>;
    case 1: return load_scalar<K, 1, Shadow>;
    case 2: return load_scalar<K, 2, Shadow>;
    case 3: return load_scalar<K, 3, Shadow>;
    default: return load_scalar<K, -1, Shadow>;
  }
}
template <class K, bool Shadow>
Fn pick_store(int rank, bool vector) {
  if (vector) return store_lanes<K, Shadow>;
  switch (rank) {
    case 0: return store_scalar<K, 0, Shadow>;
    case 1: return store_scalar<K, 1, Shadow>;
    case 2: return store_scalar<K, 2, Shadow>;
    case 3: return store_scalar<K, 3, Shadow>;
    default: return store_scalar<K, -1, Shadow>;
  }
}

}  // namespace

Fn load_fn(DataType t, int rank, bool vector, bool shadow) {
  return with_kind(t, [&]<class K>() -> Fn {
    return shadow ? pick_load<K, true>(rank, vector) : pick_load<K, false>(rank, vector);
  });
}
Fn update_fn(BinaryOp op, DataType t, int rank, bool shadow) {
  if (t == f32) return pick_update<F32>(op, rank, shadow);
  if (t == f64) return pick_update<F64>(op, rank, shadow);
  if (t == i32) return pick_update<IntKind<std::int32_t>>(op, rank, shadow);
  return nullptr;
}
Fn store_fn(DataType t, int rank, bool vector, bool shadow) {
  return with_kind(t, [&]<class K>() -> Fn {
    return shadow ? pick_store<K, true>(rank, vector) : pick_store<K, false>(rank, vector);
  });
}

}  // namespace lathe::interp
