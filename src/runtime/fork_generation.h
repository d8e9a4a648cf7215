#pragma once
// fork() copies one thread only. The child of a process with worker threads has none of them, and a mutex
// that one of them held would stay locked. So the mutex that guards starting and replacing workers is held
// across every fork, and a count tells pools that they woke up in a child.

#include <cstdint>
#include <mutex>

namespace lathe::runtime {

/// Forks between the process that first asked and this one.
std::uint64_t fork_generation() noexcept;

/// Guards the workers of all pools.
std::mutex& administration_mutex() noexcept;

}  // namespace lathe::runtime
