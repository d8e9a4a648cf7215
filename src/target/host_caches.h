#pragma once
// Cache sizes as the Linux kernel tells them.

#include <cstdint>
#include <string>

namespace lathe {

struct CacheSizes {
  std::int64_t l1 = 0, l2 = 0, l3 = 0, line = 0;  ///< bytes of one instance; 0: not told
};

/// Reads index*/{level,type,size,coherency_line_size} below `folder` (/sys/devices/system/cpu/cpu0/cache).
CacheSizes read_cache_folder(const std::string& folder);

}  // namespace lathe
