// Owned arrays: filling, element access, comparison.

#include <cmath>
#include <limits>
#include <stdexcept>

#include "interp/kinds.h"
#include "support/error_codes/interp.h"

namespace lathe::interp {
namespace {

struct Random {  // splitmix64: the same on every platform
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }  ///< 0 .. 1
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
};

std::int64_t count_elements(DataType dtype, const std::vector<std::int64_t>& shape) {
  std::int64_t n = 1;
  bool empty = false, overflow = false;
  for (std::int64_t extent : shape) {
    if (extent < 0) {
      throw UserError(code::I002, "an array cannot have the negative extent " + std::to_string(extent));
    }
    if (extent == 0) empty = true;
    overflow = overflow || __builtin_mul_overflow(n, std::max<std::int64_t>(extent, 1), &n);
  }
  if (empty) return 0;
  std::int64_t bytes;
  if (overflow || __builtin_mul_overflow(n, std::int64_t{dtype.bytes()}, &bytes) ||
      bytes > (std::int64_t{1} << 40)) {
    throw UserError(code::I003, "an array of more than 1 TiB was asked for");
  }
  return n;
}

double largest(DataType t) {
  if (t.code == TypeCode::BFloat) return std::ldexp(255.0, 120);
  return t.bits == 16   ? 65504.0
         : t.bits == 32 ? std::numeric_limits<float>::max()
                        : std::numeric_limits<double>::max();
}
double smallest(DataType t) {
  if (t.code == TypeCode::BFloat) return std::ldexp(1.0, -133);
  return t.bits == 16   ? std::ldexp(1.0, -24)
         : t.bits == 32 ? std::numeric_limits<float>::denorm_min()
                        : std::numeric_limits<double>::denorm_min();
}

double random_float(DataType t, Random& random) {
  switch (random.next() % 16) {
    case 0: return static_cast<double>(random.between(-4, 4));
    case 1: {
      const double special[] = {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, std::ldexp(1.0, -12), -std::ldexp(1.0, -12)};
      return special[random.next() % 8];
    }
    default: return round_to(t, random.unit() * 2 - 1);
  }
}

std::int64_t random_integer(DataType t, Random& random) {
  if (t.is_bool()) return static_cast<std::int64_t>(random.next() & 1);
  const std::uint64_t choice = random.next() % 16;
  if (choice < 8) return wrap_integer(t, random.between(t.is_unsigned() ? 0 : -8, 8));
  const std::int64_t top =
      t.bits >= 64 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << (t.bits - 1)) - 1;
  const std::int64_t special[] = {top, -top - 1, 0, -1, 1};
  return wrap_integer(t, choice < 11 ? special[random.next() % 5] : static_cast<std::int64_t>(random.next()));
}

Slot read(DataType t, const std::uint8_t* at) {
  return with_kind(t, [&]<class K>() -> Slot {
    typename K::Stored v;
    std::memcpy(&v, at, sizeof v);
    return K::from_memory(v);
  });
}
void write(DataType t, std::uint8_t* at, Slot s) {
  with_kind(t, [&]<class K>() -> int {
    const typename K::Stored v = K::to_memory(s);
    std::memcpy(at, &v, sizeof v);
    return 0;
  });
}
double as_double(DataType t, Slot s) {
  if (t == f64) return s.d;
  if (t.is_float()) return s.f;
  return t.is_unsigned() ? static_cast<double>(static_cast<std::uint64_t>(s.i)) : static_cast<double>(s.i);
}
Slot from_double(DataType t, double v) {
  if (t == f64) return {.d = v};
  if (t.is_float()) return {.f = static_cast<float>(round_to(t, v))};
  return {.i = t.is_bool() ? std::int64_t{v != 0} : float_to_integer(t.is_index() ? i64 : t, v)};
}

}  // namespace

Array::Array(DataType dtype, std::vector<std::int64_t> shape)
    : dtype_(dtype),
      shape_(std::move(shape)),
      size_(count_elements(dtype, shape_)),
      bytes_(size_ * dtype.bytes()) {}

Array::Array(DataType dtype, std::vector<std::int64_t> shape, const std::vector<double>& values)
    : Array(dtype, std::move(shape)) {
  if (static_cast<std::int64_t>(values.size()) != size_) {
    throw UserError(code::I002, "an array of " + std::to_string(size_) + " elements was given " +
                                    std::to_string(values.size()) + " values");
  }
  for (std::int64_t i = 0; i < size_; ++i) set(i, values[i]);
}

Array Array::full(DataType dtype, std::vector<std::int64_t> shape, double value) {
  Array a(dtype, std::move(shape));
  for (std::int64_t i = 0; i < a.size_; ++i) a.set(i, value);
  return a;
}
Array Array::poison(DataType dtype, std::vector<std::int64_t> shape) {
  Array a(dtype, std::move(shape));
  std::fill(a.bytes_.begin(), a.bytes_.end(), 0xff);
  return a;
}
Array Array::iota(DataType dtype, std::vector<std::int64_t> shape) {
  Array a(dtype, std::move(shape));
  for (std::int64_t i = 0; i < a.size_; ++i) a.set_int(i, i);
  return a;
}
Array Array::random(DataType dtype, std::vector<std::int64_t> shape, std::uint64_t seed) {
  Array a(dtype, std::move(shape));
  Random random{seed};
  for (std::int64_t i = 0; i < a.size_; ++i) {
    dtype.is_float() ? a.set(i, random_float(dtype, random)) : a.set_int(i, random_integer(dtype, random));
  }
  return a;
}
Array Array::small_integers(DataType dtype, std::vector<std::int64_t> shape, std::uint64_t seed, int limit) {
  Array a(dtype, std::move(shape));
  Random random{seed};
  for (std::int64_t i = 0; i < a.size_; ++i)
    a.set_int(i, random.between(dtype.is_unsigned() ? 0 : -limit, limit));
  return a;
}
Array Array::edges(DataType dtype, std::vector<std::int64_t> shape, std::uint64_t seed) {
  Array a(dtype, std::move(shape));
  Random random{seed};
  const double inf = std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < a.size_; ++i) {
    if (!dtype.is_float()) {
      a.set_int(i, random_integer(dtype, random));
    } else if (random.next() % 4 == 0) {
      const double special[] = {std::numeric_limits<double>::quiet_NaN(), inf, largest(dtype),
                                smallest(dtype)};
      const double v = special[random.next() % 4];
      a.set(i, random.next() & 1 ? v : -v);
    } else {
      a.set(i, random_float(dtype, random));
    }
  }
  return a;
}

namespace {
void check_position(std::int64_t position, std::int64_t size) {
  if (position < 0 || position >= size) {
    throw std::out_of_range("element " + std::to_string(position) + " of an array of " +
                            std::to_string(size));
  }
}
}  // namespace

double Array::get(std::int64_t position) const {
  check_position(position, size_);
  return as_double(dtype_, read(dtype_, bytes_.data() + position * dtype_.bytes()));
}
std::int64_t Array::get_int(std::int64_t position) const {
  check_position(position, size_);
  const Slot s = read(dtype_, bytes_.data() + position * dtype_.bytes());
  return dtype_.is_float() ? float_to_integer(i64, as_double(dtype_, s)) : s.i;
}
void Array::set(std::int64_t position, double value) {
  check_position(position, size_);
  write(dtype_, bytes_.data() + position * dtype_.bytes(), from_double(dtype_, value));
}
void Array::set_int(std::int64_t position, std::int64_t value) {
  if (dtype_.is_float()) return set(position, static_cast<double>(value));
  check_position(position, size_);
  write(dtype_, bytes_.data() + position * dtype_.bytes(), {.i = wrap_integer(dtype_, value)});
}
std::int64_t Array::position(const std::vector<std::int64_t>& indices) const {
  if (indices.size() != shape_.size()) throw std::out_of_range("wrong number of subscripts");
  std::int64_t p = 0;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    check_position(indices[d], shape_[d]);
    p = p * shape_[d] + indices[d];
  }
  return p;
}

std::string number_text(DataType t, Slot s) {
  if (!t.is_float()) return t == u64 ? std::to_string(static_cast<std::uint64_t>(s.i)) : std::to_string(s.i);
  char text[40];
  std::snprintf(text, sizeof text, t == f64 ? "%.17g" : "%.9g", as_double(t, s));
  return text;
}

Difference difference(const Array& actual, const Array& expected) {
  Difference d;
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape()) {
    d.text = "the arrays have different types or shapes";
    d.max_absolute = d.max_relative = std::numeric_limits<double>::infinity();
    return d;
  }
  d.total = actual.size();
  for (std::int64_t i = 0; i < d.total; ++i) {
    const double a = actual.get(i), e = expected.get(i);
    if (actual.dtype().is_float() ? a == e || (std::isnan(a) && std::isnan(e))
                                  : actual.get_int(i) == expected.get_int(i)) {
      continue;
    }
    ++d.different;
    const double error =
        std::isfinite(a) && std::isfinite(e) ? std::abs(a - e) : std::numeric_limits<double>::infinity();
    d.max_relative = std::max(d.max_relative, error / std::max(std::abs(e), 1.0));
    if (d.worst < 0 || error > d.max_absolute) d.max_absolute = error, d.worst = i;
  }
  if (d.different) {
    std::string at;
    std::int64_t rest = d.worst;
    for (std::size_t k = actual.shape().size(); k-- > 0; rest /= actual.shape()[k]) {
      at = std::to_string(rest % actual.shape()[k]) + (at.empty() ? "" : ", ") + at;
    }
    char text[80];
    std::snprintf(text, sizeof text, "%.9g instead of %.9g", actual.get(d.worst), expected.get(d.worst));
    d.text = std::to_string(d.different) + " of " + std::to_string(d.total) + " elements differ, most at [" +
             at + "]: " + text;
  }
  return d;
}

}  // namespace lathe::interp
