#include "lathe/runtime/device.h"

#include <vector>

#include "lathe/runtime/timer.h"
#include "runtime/cuda_driver.h"

using namespace lathe::runtime;

TEST_CASE("there is always a CPU, and it comes first") {
  const std::vector<Device> all = devices();
  REQUIRE(!all.empty());
  CHECK(all[0].kind == DeviceKind::Cpu);
  CHECK(all[0].str() == "cpu:0");
  CHECK(!all[0].name.empty());
  CHECK(all[0].memory_bytes > 0);
  for (std::size_t i = 1; i < all.size(); ++i) {
    CHECK(all[i].kind == DeviceKind::Cuda);
    CHECK(all[i].cuda.has_value());
  }
}

TEST_CASE("without CUDA's driver there are no devices and a reason, no error") {
  const CudaDriver absent("libno_such_driver.so.1");
  CHECK(!absent.usable());
  CHECK(absent.problem().find("no CUDA driver") == 0);
  CHECK(absent.device_count() == 0);
  const CudaDetection detection = detect_cuda();
  CHECK(detection.devices.empty() == !detection.reason.empty());
}

TEST_CASE("a library that is not CUDA's driver is found out") {
  const CudaDriver foreign("libm.so.6");
  CHECK(foreign.problem() == "libm.so.6 lacks functions of the CUDA driver API");
  CHECK(foreign.device_count() == 0);
}

TEST_CASE("time does not go back") {
  const Timer timer;
  const std::int64_t first = timer.nanoseconds(), second = timer.nanoseconds();
  CHECK(first >= 0);
  CHECK(second >= first);
  CHECK(timer.seconds() >= static_cast<double>(second) * 1e-9);
  if (has_cycle_count()) CHECK(timer.cycles() > 0);
}

TEST_CASE("flushing touches at least the last level of cache") {
  CHECK(last_level_cache_bytes() > 0);
  CacheFlusher flusher;
  CHECK(flusher.bytes() >= 2 * last_level_cache_bytes());
  flusher.flush();
  std::vector<float> data(1001, 1.0f);
  evict(std::as_bytes(std::span(data)));
  evict({});
  CHECK(data[1000] == 1.0f);
}
