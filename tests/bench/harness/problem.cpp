#include "problem.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>

namespace lathe::bench {

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (std::int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count))
      throw std::runtime_error("an operand is too large for any memory");
  }
  return count;
}

Buffer::Buffer(std::int64_t elements) : size_(elements) {
  const std::size_t bytes = (static_cast<std::size_t>(elements) * sizeof(float) + 63) / 64 * 64;
  auto* memory = static_cast<float*>(std::aligned_alloc(64, bytes == 0 ? 64 : bytes));
  if (memory == nullptr) throw std::bad_alloc();
  data_ = std::shared_ptr<float[]>(memory, [](float* p) { std::free(p); });
}

void fill_signed(const Buffer& buffer, const std::string& name) {
  std::uint64_t state = 0x9e3779b97f4a7c15u;
  for (unsigned char c : name) state = (state ^ c) * 0x100000001b3u;
  for (std::int64_t i = 0; i < buffer.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    buffer.data()[i] = static_cast<float>(static_cast<std::int32_t>(state >> 32)) * 0x1p-31f;
  }
}

std::string Case::text() const {
  std::string text;
  for (std::int64_t p : params) text += (text.empty() ? "" : ",") + std::to_string(p);
  return text + (prepared ? " prepared" : "");
}

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::GflopsPerSecond: return "GF/s";
    case Unit::GigabytesPerSecond: return "GB/s";
    case Unit::NanosecondsPerElement: return "ns/element";
    case Unit::Milliseconds: return "ms";
    case Unit::Megabytes: return "MB";
  }
  return "";
}

bool higher_is_better(Unit unit) { return unit == Unit::GflopsPerSecond || unit == Unit::GigabytesPerSecond; }

const Operand& Problem::operand(const std::string& name) const {
  for (const Operand& operand : operands) {
    if (operand.name == name) return operand;
  }
  throw std::invalid_argument(what.key + " has no operand " + name);
}

float Problem::tolerance() const {
  constexpr float kTermsOfShortSums = 1 << 16;
  std::int64_t elements = 0;
  for (const Operand& o : operands) elements = std::max(elements, o.buffer.size());
  const auto terms =
      static_cast<float>(elements) / static_cast<float>(std::max<std::int64_t>(1, element_count(output)));
  return 1e-4f * std::max(1.0f, terms / kTermsOfShortSums);
}

double Problem::in_unit(double seconds) const {
  switch (unit) {
    case Unit::GflopsPerSecond: return flops / seconds * 1e-9;
    case Unit::GigabytesPerSecond: return bytes / seconds * 1e-9;
    case Unit::NanosecondsPerElement: return seconds * 1e9 / static_cast<double>(element_count(output));
    case Unit::Milliseconds: return seconds * 1e3;
    case Unit::Megabytes: break;  // no time
  }
  return seconds;
}

}  // namespace lathe::bench
