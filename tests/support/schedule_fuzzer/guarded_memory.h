#pragma once
// Memory between pages that cannot be touched: a kernel that reads or writes outside its tensors is stopped by the
// processor, even where the interpreter cannot look.

#include <cstddef>

#include "lathe/compile.h"
#include "lathe/interp.h"

namespace lathe::fuzz {

class GuardedMemory {
 public:
  enum class Against { Start, End };  ///< which end of the bytes touches the forbidden page
  /// `bytes` bytes, all bits set, aligned as kernels expect; so up to 63 bytes between their end and the page stay free.
  GuardedMemory(std::size_t bytes, Against side);
  ~GuardedMemory();
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  void* data() const { return data_; }
  /// Has nobody written to the free bytes?
  bool rest_is_whole() const;

 private:
  static constexpr std::size_t kAlignment = 64;
  void* mapped_ = nullptr;
  std::size_t mapped_size_ = 0, size_ = 0, rest_ = 0;
  void* data_ = nullptr;
};

/// Runs the kernel with every tensor in such memory; `inputs` and the result as in interp::run. `program` is the one before
/// lowering. Throws UserError when the kernel returns an error.
std::vector<interp::Array> run_guarded(const Kernel& kernel, const Program& program,
                                       const std::vector<interp::Array>& inputs,
                                       const std::vector<std::int64_t>& sizes, GuardedMemory::Against side);

}  // namespace lathe::fuzz
