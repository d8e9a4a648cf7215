#include "support/schedule_fuzzer/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "support/error_codes/codegen.h"

namespace lathe::fuzz {

GuardedMemory::GuardedMemory(std::size_t bytes, Against side) : size_(bytes) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t usable = (bytes + page - 1) / page * page;
  mapped_size_ = usable + 2 * page;
  mapped_ = mmap(nullptr, mapped_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped_ == MAP_FAILED) throw std::bad_alloc();
  char* first = static_cast<char*>(mapped_) + page;
  if (usable > 0 && mprotect(first, usable, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  const std::size_t padded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  data_ = side == Against::Start ? first : first + usable - padded;
  rest_ = padded - bytes;
  if (padded > 0) std::memset(data_, 0xff, padded);
}

GuardedMemory::~GuardedMemory() {
  if (mapped_) munmap(mapped_, mapped_size_);
}

bool GuardedMemory::rest_is_whole() const {
  const auto* rest = static_cast<const unsigned char*>(data_) + size_;
  return std::all_of(rest, rest + rest_, [](unsigned char c) { return c == 0xff; });
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : mapped_(std::exchange(other.mapped_, nullptr)),
      mapped_size_(other.mapped_size_),
      size_(other.size_),
      rest_(other.rest_),
      data_(other.data_) {}

std::vector<interp::Array> run_guarded(const Kernel& kernel, const Program& program,
                                       const std::vector<interp::Array>& inputs,
                                       const std::vector<std::int64_t>& sizes, GuardedMemory::Against side) {
  std::vector<GuardedMemory> memory;
  std::vector<void*> addresses;
  std::vector<interp::Array> outputs;
  std::vector<std::size_t> output_at;
  std::size_t input = 0;
  for (const Param& p : program->params) {
    if (p.role == ParamRole::Size) continue;
    const bool given = p.role != ParamRole::Output;
    interp::Array array =
        given ? inputs.at(input++) : interp::Array(p.buffer->dtype, interp::shape_of(program, p, sizes));
    memory.emplace_back(array.bytes(), side);
    if (given && array.bytes() > 0) std::memcpy(memory.back().data(), array.data(), array.bytes());
    if (p.role == ParamRole::Output || p.role == ParamRole::InOut) {
      output_at.push_back(memory.size() - 1);
      outputs.push_back(std::move(array));
    }
    addresses.push_back(memory.back().data());
  }
  if (kernel.run(addresses.data(), sizes.data()) != 0) throw UserError(code::C013, lathe_last_error());
  for (const GuardedMemory& m : memory) {
    if (!m.rest_is_whole()) throw UserError(code::C013, "it wrote behind the end of a tensor");
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].bytes() > 0)
      std::memcpy(outputs[i].data(), memory[output_at[i]].data(), outputs[i].bytes());
  }
  return outputs;
}

}  // namespace lathe::fuzz
