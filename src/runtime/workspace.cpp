// Workspace for kernels' temporaries.
//
// A kernel allocates at entry and frees at exit, on one thread, and is called again with the same sizes.
// Fresh pages cost more than many kernels (a page fault for every 4 KiB), so each thread keeps a few of the
// blocks it freed. What is kept is bounded by count and bytes; a block much larger than asked for is not
// used, so that a small kernel does not hold on to a large one's memory.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

#include "lathe/runtime/c_api.h"
#include "runtime/error_state.h"

namespace lathe::runtime {
namespace {

std::atomic<const lathe_workspace_backend*> host_backend{nullptr};

constexpr std::uint64_t kMinAlign = 64;
constexpr std::uint64_t kMaxAlign = std::uint64_t{1} << 30;

/// Lies just before the address the kernel gets.
struct Header {
  void* base;           ///< what malloc returned
  std::uint64_t bytes;  ///< usable bytes
  std::uint64_t align;
};

Header* header_of(void* block) { return static_cast<Header*>(block) - 1; }

void release(void* block) { std::free(header_of(block)->base); }

void* allocate(std::uint64_t bytes, std::uint64_t align) {
  const std::uint64_t extra = align + sizeof(Header);
  if (bytes > std::numeric_limits<std::uint64_t>::max() / 2 - extra) return nullptr;
  void* base = std::malloc(bytes + extra);
  if (base == nullptr) return nullptr;
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(base) + sizeof(Header);
  void* block = reinterpret_cast<void*>((first + align - 1) / align * align);
  *header_of(block) = {base, bytes, align};
  return block;
}

class ThreadCache {
 public:
  ~ThreadCache() {
    ended() = true;
    trim();
  }

  /// The smallest block kept that fits and is at most twice as large as asked for.
  void* take(std::uint64_t bytes, std::uint64_t align) {
    void** best = nullptr;
    for (void*& block : blocks_) {
      if (block == nullptr) continue;
      const Header& header = *header_of(block);
      const bool fits = header.bytes >= bytes && header.bytes / 2 <= bytes && header.align >= align;
      if (fits && (best == nullptr || header.bytes < header_of(*best)->bytes)) best = &block;
    }
    if (best == nullptr) return nullptr;
    kept_ -= header_of(*best)->bytes;
    return std::exchange(*best, nullptr);
  }

  void keep(void* block) {
    const std::uint64_t bytes = header_of(block)->bytes;
    if (bytes > kMaxBytes) return release(block);
    // The newest is the likeliest to be asked for again: older ones make room, in turn.
    while (kept_ + bytes > kMaxBytes) drop(next_++ % blocks_.size());
    auto free_place = std::find(blocks_.begin(), blocks_.end(), nullptr);
    if (free_place == blocks_.end()) {
      const std::size_t oldest = next_++ % blocks_.size();
      drop(oldest);
      free_place = blocks_.begin() + static_cast<std::ptrdiff_t>(oldest);
    }
    *free_place = block;
    kept_ += bytes;
  }

  void trim() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) drop(i);
  }

  /// This thread's; null while the thread ends, when other thread-local objects may still run kernels.
  static ThreadCache* mine() {
    if (ended()) return nullptr;
    static thread_local ThreadCache cache;
    return &cache;
  }

 private:
  static bool& ended() {
    static thread_local bool value = false;  // trivially destructible: readable until the thread is gone
    return value;
  }

  void drop(std::size_t i) {
    if (blocks_[i] == nullptr) return;
    kept_ -= header_of(blocks_[i])->bytes;
    release(std::exchange(blocks_[i], nullptr));
  }

  static constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;
  std::array<void*, 8> blocks_{};
  std::uint64_t kept_ = 0;
  std::size_t next_ = 0;
};

void* alloc_or_null(std::uint64_t bytes, std::uint64_t align) {
  if ((align & (align - 1)) != 0 || align > kMaxAlign) return nullptr;
  align = std::max(align, kMinAlign);
  if (ThreadCache* cache = ThreadCache::mine()) {
    if (void* block = cache->take(bytes, align)) return block;
    if (void* block = allocate(bytes, align)) return block;
    cache->trim();  // what we keep may be what is missing
  }
  return allocate(bytes, align);
}

}  // namespace
}  // namespace lathe::runtime

using namespace lathe::runtime;

extern "C" {

void* lathe_workspace_alloc(uint64_t bytes, uint64_t align) {
  const lathe_workspace_backend* host = host_backend.load(std::memory_order_acquire);
  void* block = host != nullptr ? host->alloc(host->self, bytes, align) : alloc_or_null(bytes, align);
  if (block == nullptr) {
    char text[128];  // no memory for a string, perhaps
    std::snprintf(text, sizeof(text), "no workspace of %llu bytes aligned to %llu",
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(align));
    last_error().set(LATHE_ERROR_OUT_OF_MEMORY, text);
  }
  return block;
}

void lathe_workspace_free(void* block) {
  if (block == nullptr) return;
  if (const lathe_workspace_backend* host = host_backend.load(std::memory_order_acquire)) {
    return host->free(host->self, block);
  }
  if (ThreadCache* cache = ThreadCache::mine()) {
    cache->keep(block);
  } else {
    release(block);
  }
}

void lathe_workspace_trim(void) {
  if (ThreadCache* cache = ThreadCache::mine()) cache->trim();
}

void lathe_set_workspace_backend(const lathe_workspace_backend* backend) {
  host_backend.store(backend, std::memory_order_release);
}

}  // extern "C"
