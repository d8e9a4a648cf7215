// Loads and stores. A vector access is classified by its subscript: consecutive elements are one (masked)
// vector access, one element for all lanes a scalar load, a small constant stride a few loads and shuffles, a
// reversed run a load and a shuffle, anything else a gather or scatter.

#include <algorithm>
#include <functional>
#include <numeric>

#include "codegen/llvm/emitter.h"

namespace lathe::codegen::cpu {

using Value = ::llvm::Value*;

struct Emitter::Access {
  enum Kind { Scalar, Consecutive, Reversed, Strided, Same, Scattered } kind = Scalar;
  Buffer buffer;
  int lanes = 1;
  std::int64_t stride = 1;      ///< Strided: elements from lane to lane
  Expr base;                    ///< of all kinds but Scattered: the subscript of the lowest address
  Expr vector;                  ///< Scattered: the whole subscript
  std::uint64_t alignment = 1;  ///< bytes that the lowest address is a multiple of
};

namespace {

/// A subscript as base + lane * stride.
struct RampForm {
  Expr base;
  std::int64_t stride;
};

std::optional<RampForm> ramp_form(const Expr& e) {
  if (const auto* ramp = e.as<Ramp>()) {
    const auto stride = as_int(ramp->stride);
    if (!stride || ramp->base.dtype().is_vector()) return std::nullopt;
    return RampForm{ramp->base, *stride};
  }
  if (const auto* same = e.as<Broadcast>()) return RampForm{same->value, 0};
  const Binary* binary_node = e.as<Binary>();
  if (!binary_node) return std::nullopt;
  const auto x = ramp_form(binary_node->a), y = ramp_form(binary_node->b);
  if (!x || !y) return std::nullopt;
  switch (binary_node->op) {
    case BinaryOp::Add: return RampForm{x->base + y->base, x->stride + y->stride};
    case BinaryOp::Sub: return RampForm{x->base - y->base, x->stride - y->stride};
    case BinaryOp::Mul: {
      const auto factor = as_int(y->base);
      if (y->stride != 0 || !factor) return std::nullopt;
      return RampForm{x->base * y->base, x->stride * *factor};
    }
    default: return std::nullopt;
  }
}

constexpr int kLargestShuffledStride = 4;

/// Is lane * stride a column of a square tile whose first `rows` rows lie in a buffer of this function's own? Returns which
/// column.
std::optional<int> column_of_tile(const Buffer& buffer, const RampForm& ramp, int lanes, std::int64_t rows) {
  const auto base = as_int(ramp.base);
  if (buffer->scope != Scope::Local || buffer->dtype.bytes() != 4 || ramp.stride != lanes || !base ||
      *base < 0 || (lanes != 4 && lanes != 8 && lanes != 16))
    return std::nullopt;
  std::int64_t size = 1;
  for (const Expr& e : buffer->shape) size *= as_int(e).value_or(0);
  const std::int64_t column = *base % lanes;
  return *base - column + lanes * rows <= size ? std::optional(static_cast<int>(column)) : std::nullopt;
}

/// Column `c` of the square matrix with these rows: a tree of shuffles of two, each within 128 bits or of halves, chosen by
/// the bits of c. Other columns need many of the same shuffles, so all lanes() of them take lanes() * log2(lanes()).
///
///     columns 0, 1:  a0 b0 a1 b1 | a4 b4 a5 b5     columns 2, 3:  a2 b2 a3 b3 | a6 b6 a7 b7      bit 1 of c
///     then pairs of these for four rows (bit 0), then halves for eight (bit 2) and sixteen (bit 3)
Value transposed_column(Builder& b, std::vector<Value> rows, int c) {
  const int lanes = static_cast<int>(rows.size());
  // The lane that is taken first in each block, by how many, and from both rows in turn.
  auto combine = [&](int block, int width, bool high) {
    std::vector<int> pick;
    for (int from = high ? block / 2 : 0; from < lanes; from += block) {
      for (int i = 0; i < block / 2; i += width) {
        for (int row : {0, lanes}) {
          for (int k = 0; k < width; ++k) pick.push_back(row + from + i + k);
        }
      }
    }
    std::vector<Value> out;
    for (std::size_t r = 0; r + 1 < rows.size(); r += 2)
      out.push_back(b.CreateShuffleVector(rows[r], rows[r + 1], pick));
    rows = std::move(out);
  };
  combine(4, 1, (c & 2) != 0);
  combine(4, 2, (c & 1) != 0);
  for (int width = 4; width < lanes; width *= 2) combine(2 * width, width, (c & width) != 0);
  return rows[0];
}

}  // namespace

/// A number that divides every value of the expression; 0 for the constant 0.
std::int64_t Emitter::multiple_of(const Expr& e) const {
  if (const auto value = as_int(e)) return *value == INT64_MIN ? 1 : std::abs(*value);
  if (const auto* var = e.as<VarNode>()) {
    const auto found = multiples_.find(var);
    return found == multiples_.end() ? 1 : found->second;
  }
  if (const auto* cast = e.as<Cast>()) return e.dtype().is_index() ? multiple_of(cast->a) : 1;
  const Binary* node = e.as<Binary>();
  if (!node) return 1;
  const std::int64_t x = multiple_of(node->a), y = multiple_of(node->b);
  switch (node->op) {
    case BinaryOp::Add:
    case BinaryOp::Sub:
    case BinaryOp::Min:
    case BinaryOp::Max: return std::gcd(x, y);
    case BinaryOp::Mul: {
      std::int64_t product;
      return __builtin_mul_overflow(x, y, &product) ? 1 : product;
    }
    default: return 1;
  }
}

Emitter::Access Emitter::access_of(const Buffer& buffer, const std::vector<Expr>& indices) {
  internal_check(indices.size() <= 1, "a buffer of several dimensions is left in a lowered program");
  Access access;
  access.buffer = buffer;
  const Expr index = indices.empty() ? make_index(0) : indices[0];
  access.lanes = index.dtype().lanes;
  access.base = index;
  if (access.lanes > 1) {
    const auto ramp = ramp_form(index);
    if (!ramp) {
      access.kind = Access::Scattered;
      access.vector = index;
    } else {
      access.base = ramp->base;
      access.stride = ramp->stride;
      const std::int64_t stride = ramp->stride;
      access.kind = stride == 1    ? Access::Consecutive
                    : stride == 0  ? Access::Same
                    : stride == -1 ? Access::Reversed
                    : stride > 1 && (stride <= kLargestShuffledStride ||
                                     column_of_tile(buffer, *ramp, access.lanes, access.lanes))
                        ? Access::Strided
                        : Access::Scattered;
      if (access.kind == Access::Reversed)
        access.base = access.base - make_int(access.base.dtype(), access.lanes - 1);
      if (access.kind == Access::Scattered) access.vector = index;
    }
  }
  const auto bytes = static_cast<std::uint64_t>(buffer->dtype.bytes());
  access.alignment = bytes;
  if (access.kind != Access::Scattered) {
    const auto known = static_cast<std::uint64_t>(multiple_of(access.base));
    const auto whole = static_cast<std::uint64_t>(std::max(1, buffer->alignment));
    const std::uint64_t offset = known * bytes;  // a wrapped product still has the powers of two
    access.alignment = std::max(bytes, std::gcd(whole, offset));
    access.alignment &= ~access.alignment + 1;  // its largest power of two
  }
  return access;
}

Value Emitter::address(const Buffer& buffer, Value index) {
  const auto found = buffers_.find(buffer.get());
  internal_check(found != buffers_.end(), "a buffer is used outside its allocation in a lowered program");
  return b.CreateInBoundsGEP(memory_type(module_.context, buffer->dtype), found->second,
                             {convert_index(index, ops.with_element(index->getType(), b.getInt64Ty()))});
}

Value Emitter::from_memory(DataType type, Value x) {
  return type.is_bool() ? b.CreateICmpNE(x, ops.integer(x, 0)) : x;
}

Value Emitter::to_memory(DataType type, Value x) {
  return type.is_bool() ? b.CreateZExt(x, ops.with_element(x->getType(), b.getInt8Ty())) : x;
}

namespace {

Value reverse(Builder& b, Value x) { return b.CreateVectorReverse(x); }

Value all_lanes(Builder& b, int lanes) {
  return ::llvm::ConstantVector::getSplat(::llvm::ElementCount::getFixed(static_cast<unsigned>(lanes)),
                                          b.getTrue());
}

}  // namespace

/// Lanes `stride` elements apart, read as whole vectors that together cover them and nothing past the last.
Value Emitter::load_strided(const Access& access) {
  Type element = memory_type(module_.context, access.buffer->dtype);
  Type vector = with_lanes(element, access.lanes);
  const std::int64_t lanes = access.lanes, span = (lanes - 1) * access.stride + 1;
  Value base = address(access.buffer, emit(access.base));
  Value result = ::llvm::PoisonValue::get(vector);
  for (std::int64_t k = 0; k * lanes < span; ++k) {
    const std::int64_t start = std::min(k * lanes, span - lanes);
    ::llvm::LoadInst* part = b.CreateAlignedLoad(
        vector, b.CreateConstInBoundsGEP1_64(element, base, static_cast<std::uint64_t>(start)),
        ::llvm::Align(static_cast<std::uint64_t>(access.buffer->dtype.bytes())));
    module_.mark_access(part, access.buffer);
    std::vector<int> pick;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const std::int64_t at = lane * access.stride;
      const bool here = at >= k * lanes && at < (k + 1) * lanes;
      pick.push_back(static_cast<int>(here ? lanes + at - start : lane));
    }
    result = b.CreateShuffleVector(result, part, pick);
  }
  return result;
}

namespace {

/// The lanes of a mask when they are known now.
std::optional<std::vector<bool>> known_lanes(Value mask) {
  const auto* constant = ::llvm::dyn_cast<::llvm::Constant>(mask);
  if (!constant) return std::nullopt;
  std::vector<bool> out;
  for (int lane = 0; lane < lanes_of(mask); ++lane) {
    const auto* bit = ::llvm::dyn_cast_or_null<::llvm::ConstantInt>(
        constant->getAggregateElement(static_cast<unsigned>(lane)));
    if (!bit) return std::nullopt;
    out.push_back(bit->isOne());
  }
  return out;
}

}  // namespace

/// A column of a square tile by shuffles of its rows; null when it is none, or which lanes are on is not known. Rows of lanes
/// that are off are taken as zeros.
Value Emitter::load_column(const Access& access, Value mask) {
  if (access.kind != Access::Strided && access.kind != Access::Scattered) return nullptr;
  const auto wanted = static_cast<std::size_t>(access.lanes);
  const std::optional<std::vector<bool>> on = mask ? known_lanes(mask) : std::vector<bool>(wanted, true);
  if (!on || !on->front()) return nullptr;
  const std::int64_t rows = on->rend() - std::ranges::find(on->rbegin(), on->rend(), true);
  const auto column = column_of_tile(access.buffer, {access.base, access.stride}, access.lanes, rows);
  if (!column) return nullptr;
  Type element = memory_type(module_.context, access.buffer->dtype);
  Type vector = with_lanes(element, access.lanes);
  Value base = address(access.buffer, emit(access.base));
  std::vector<Value> values;
  for (std::int64_t row = 0; row < access.lanes; ++row) {
    if (!(*on)[static_cast<std::size_t>(row)]) {
      values.push_back(::llvm::Constant::getNullValue(vector));
      continue;
    }
    const std::int64_t start = row * access.lanes - *column;
    ::llvm::LoadInst* load = b.CreateAlignedLoad(
        vector, b.CreateConstInBoundsGEP1_64(element, base, static_cast<std::uint64_t>(start)),
        ::llvm::Align(static_cast<std::uint64_t>(access.buffer->dtype.bytes())));
    module_.mark_access(load, access.buffer);
    values.push_back(load);
  }
  return transposed_column(b, std::move(values), *column);
}

Value Emitter::load_lanes(const Access& access, Value mask) {
  if (Value column = load_column(access, mask)) return column;
  Type element = memory_type(module_.context, access.buffer->dtype);
  Type vector = with_lanes(element, access.lanes);
  const ::llvm::Align aligned(access.alignment);
  Value nothing = ::llvm::Constant::getNullValue(vector);
  ::llvm::Instruction* load = nullptr;
  switch (access.kind) {
    case Access::Scalar:
    case Access::Consecutive:
    case Access::Reversed: {
      Value place = address(access.buffer, emit(access.base));
      const bool reversed = access.kind == Access::Reversed;
      load = mask ? static_cast<::llvm::Instruction*>(b.CreateMaskedLoad(
                        vector, place, aligned, reversed ? reverse(b, mask) : mask, nothing))
                  : b.CreateAlignedLoad(vector, place, aligned);
      module_.mark_access(load, access.buffer);
      return reversed ? reverse(b, load) : load;
    }
    case Access::Same: {
      // One element, which may be read if any lane is on.
      const auto read = [&]() -> Value {
        ::llvm::LoadInst* one =
            b.CreateAlignedLoad(element, address(access.buffer, emit(access.base)), aligned);
        module_.mark_access(one, access.buffer);
        return one;
      };
      if (!mask) return ops.splat(read(), access.lanes);
      const auto none = [&]() -> Value { return ::llvm::Constant::getNullValue(element); };
      const std::optional<std::vector<bool>> lanes = known_lanes(mask);
      const bool some = lanes && std::ranges::count(*lanes, true) > 0;
      Value one = some ? read() : emit_branches(b.CreateOrReduce(mask), read, none);
      return b.CreateSelect(mask, ops.splat(one, access.lanes), nothing);
    }
    case Access::Strided:
      if (mask) break;
      return load_strided(access);
    case Access::Scattered: break;
  }
  Value index = access.kind == Access::Scattered
                    ? emit(access.vector)
                    : emit(ramp(access.base, make_int(access.base.dtype(), access.stride), access.lanes));
  load = b.CreateMaskedGather(vector, address(access.buffer, index),
                              ::llvm::Align(static_cast<std::uint64_t>(access.buffer->dtype.bytes())),
                              mask ? mask : all_lanes(b, access.lanes), nothing);
  module_.mark_access(load, access.buffer);
  return load;
}

Value Emitter::emit_load(const Load& e) {
  const Access access = access_of(e.buffer, e.indices);
  Value mask = e.mask.defined() && !is_true(e.mask) ? emit(e.mask) : nullptr;
  const DataType type = e.buffer->dtype;
  if (mask && access.lanes == 1) {
    Value loaded = emit_branches(
        mask, [&] { return load_lanes(access, nullptr); },
        [&]() -> Value { return ::llvm::Constant::getNullValue(memory_type(module_.context, type)); });
    return from_memory(type, loaded);
  }
  return from_memory(type, load_lanes(access, mask));
}

void Emitter::store_runs(const Buffer& buffer, Value value, Value place, const std::vector<bool>& lanes) {
  Type element = value->getType()->getScalarType();
  const ::llvm::Align aligned(static_cast<std::uint64_t>(buffer->dtype.bytes()));
  const int count = static_cast<int>(lanes.size());
  for (int first = 0; first < count;) {
    if (!lanes[static_cast<std::size_t>(first)]) {
      ++first;
      continue;
    }
    int size = 1;
    auto all = [&](int n) {
      return first + n <= count &&
             std::all_of(lanes.begin() + first, lanes.begin() + first + n, std::identity());
    };
    while (all(2 * size)) size *= 2;
    std::vector<int> pick(static_cast<std::size_t>(size));
    std::iota(pick.begin(), pick.end(), first);
    Value part = size == 1 ? b.CreateExtractElement(value, static_cast<std::uint64_t>(first))
                           : b.CreateShuffleVector(value, pick);
    Value at = b.CreateConstInBoundsGEP1_64(element, place, static_cast<std::uint64_t>(first));
    module_.mark_access(b.CreateAlignedStore(part, at, aligned), buffer);
    first += size;
  }
}

void Emitter::emit_store(const Store& s) {
  const Access access = access_of(s.buffer, s.indices);
  Value value = to_memory(s.buffer->dtype, emit(s.value));
  Value mask = s.mask.defined() && !is_true(s.mask) ? emit(s.mask) : nullptr;
  if (lanes_of(value) == 1 && access.lanes > 1) value = ops.splat(value, access.lanes);
  const ::llvm::Align aligned(access.alignment);

  if (mask && access.lanes == 1) {
    ::llvm::BasicBlock *write = new_block("write"), *join = new_block("join");
    b.CreateCondBr(mask, write, join);
    b.SetInsertPoint(write);
    module_.mark_access(b.CreateAlignedStore(value, address(s.buffer, emit(access.base)), aligned), s.buffer);
    b.CreateBr(join);
    b.SetInsertPoint(join);
    memo_.clear();  // what was computed in the branch is not known after it
    memo_order_.clear();
    return;
  }
  const bool run =
      access.kind == Access::Scalar || access.kind == Access::Consecutive || access.kind == Access::Reversed;
  ::llvm::Instruction* store = nullptr;
  if (run) {
    Value place = address(s.buffer, emit(access.base));
    if (access.kind == Access::Reversed) {
      value = reverse(b, value);
      if (mask) mask = reverse(b, mask);
    }
    // Masked stores are slow on some processors (AMD before AVX-512 takes a dozen cycles); the usual mask is the end of a
    // row whose length is known.
    if (mask) {
      if (const auto lanes = known_lanes(mask)) return store_runs(s.buffer, value, place, *lanes);
    }
    store = mask ? static_cast<::llvm::Instruction*>(b.CreateMaskedStore(value, place, aligned, mask))
                 : b.CreateAlignedStore(value, place, aligned);
    if (s.streaming && !mask) {
      store->setMetadata(
          ::llvm::LLVMContext::MD_nontemporal,
          ::llvm::MDNode::get(module_.context, {::llvm::ConstantAsMetadata::get(b.getInt32(1))}));
      streamed_ = true;
    }
  } else {
    Value index = emit(s.indices[0]);
    store = b.CreateMaskedScatter(value, address(s.buffer, index),
                                  ::llvm::Align(static_cast<std::uint64_t>(s.buffer->dtype.bytes())),
                                  mask ? mask : all_lanes(b, access.lanes));
  }
  module_.mark_access(store, s.buffer);
}

Value Emitter::address_of(const Load& e) {
  const Access access = access_of(e.buffer, e.indices);
  Value index = emit(access.kind == Access::Scattered ? access.vector : access.base);
  if (lanes_of(index) > 1) index = b.CreateExtractElement(index, std::uint64_t{0});
  // The address may lie past the end: a plain GEP, which promises nothing.
  return b.CreateGEP(memory_type(module_.context, e.buffer->dtype), buffers_.at(e.buffer.get()),
                     {convert_index(index, b.getInt64Ty())});
}

Value Emitter::emit_prefetch(const Load& e) {
  constexpr int kRead = 0, kKeepInAllCaches = 3, kData = 1;
  return b.CreateIntrinsic(
      ::llvm::Intrinsic::prefetch, {b.getPtrTy()},
      {address_of(e), b.getInt32(kRead), b.getInt32(kKeepInAllCaches), b.getInt32(kData)});
}

}  // namespace lathe::codegen::cpu
