#include "lathe/runtime/module.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "lathe/error.h"
#include "lathe/runtime/fill.h"

using namespace lathe;
using namespace lathe::runtime;

TEST_CASE("kernels of a module run on tensors") {
  const Kernel kernel = Module::open(TEST_MODULE).kernel("double_it");  // keeps the module loaded
  Tensor x(f32, {1000}), y(f32, {1000}, {.guard_bytes = 64});
  fill_random(x);
  fill_poison(y);
  kernel({&x, &y}, {1000});
  for (std::int64_t i = 0; i < 1000; ++i) REQUIRE(y.value(i) == 2 * x.value(i));
  CHECK(!y.broken_guard());
}

TEST_CASE("eight threads load a module at once and run its kernel") {
  std::atomic<int> wrong{0};
  std::vector<std::thread> hosts;
  for (int host = 0; host < 8; ++host) {
    hosts.emplace_back([&, host] {
      const Kernel kernel = Module::open(TEST_MODULE).kernel("double_it");
      Tensor x(f32, {513}), y(f32, {513});
      fill_integers(x, static_cast<std::uint64_t>(host));
      for (int round = 0; round < 50; ++round) {
        fill_poison(y);
        kernel({&x, &y}, {513});
        for (std::int64_t i = 0; i < 513; ++i) wrong += y.value(i) != 2 * x.value(i);
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  CHECK(wrong == 0);
}

TEST_CASE("a kernel's error arrives with its code and text") {
  const Kernel kernel = Module::open(TEST_MODULE).kernel("always_fails");
  CHECK(kernel.try_run({}) == LATHE_ERROR_FIRST_USER_CODE);
  CHECK_THROWS_WITH(kernel({}), "kernel \"always_fails\" failed with code 1000: on principle  [LTH-X008]");
}

TEST_CASE("the DLPack entry checks what it is given") {
  const Module module = Module::open(TEST_MODULE);
  auto* entry =
      reinterpret_cast<std::int32_t (*)(const DLTensor*, const DLTensor*)>(module.symbol("double_it_dlpack"));
  REQUIRE(entry != nullptr);
  Tensor x(f32, {10}), y(f32, {10}), shorter(f32, {9}), other(f64, {10});
  fill_iota(x);
  const DLTensor dx = x.dlpack_view(), dy = y.dlpack_view(), dshorter = shorter.dlpack_view(),
                 dother = other.dlpack_view();
  CHECK(entry(&dx, &dy) == LATHE_OK);
  CHECK(y.value(9) == 18);
  CHECK(entry(&dx, &dshorter) == LATHE_ERROR_SHAPE);
  CHECK(std::string(lathe_last_error()) == "double_it: parameter 1 \"y\": shape is [9], expected [10]");
  CHECK(entry(&dother, &dy) == LATHE_ERROR_DTYPE);
  CHECK(entry(&dx, &dx) == LATHE_ERROR_OVERLAP);
  CHECK(entry(nullptr, &dy) == LATHE_ERROR_NULL_TENSOR);
}

TEST_CASE("a module of another ABI, or none, is refused before anything of it runs") {
  CHECK_THROWS_WITH(
      Module::open(TEST_MODULE_OTHER_ABI),
      Catch::Matchers::Contains("was built for runtime ABI 999999, this runtime has 1; build it again with "
                                "this Lathe  [LTH-X006]"));
  CHECK_THROWS_WITH(
      Module::open(TEST_MODULE_WITHOUT_ABI),
      Catch::Matchers::Contains("is no module of Lathe's kernels (it does not export lathe_module_abi)"));
}

TEST_CASE("a module or kernel that is not there") {
  CHECK_THROWS_WITH(Module::open("./no/such/module.so"),
                    Catch::Matchers::StartsWith("module \"./no/such/module.so\": ") &&
                        Catch::Matchers::EndsWith("[LTH-X005]"));
  const Module module = Module::open(TEST_MODULE);
  CHECK(module.has("double_it"));
  CHECK(!module.has("triple_it"));
  CHECK_THROWS_WITH(module.kernel("triple_it"),
                    Catch::Matchers::Contains("has no kernel \"triple_it\"  [LTH-X007]"));
}

TEST_CASE("the symbols for generated code are in order and there") {
  const auto symbols = runtime_symbols();
  CHECK(std::is_sorted(symbols.begin(), symbols.end(),
                       [](const auto& a, const auto& b) { return a.name < b.name; }));
  CHECK(std::all_of(symbols.begin(), symbols.end(),
                    [](const auto& symbol) { return symbol.address != nullptr; }));
}
