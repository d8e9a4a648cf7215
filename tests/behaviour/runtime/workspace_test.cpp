#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "lathe/runtime/c_api.h"

namespace {

bool aligned(void* block, std::uint64_t align) {
  return reinterpret_cast<std::uintptr_t>(block) % align == 0;
}

}  // namespace

TEST_CASE("workspace has the size and alignment asked for") {
  for (std::uint64_t align : {0, 1, 16, 64, 128, 4096, 65536}) {
    for (std::uint64_t bytes : {0, 1, 63, 64, 65, 4097, 1 << 20}) {
      void* block = lathe_workspace_alloc(bytes, align);
      REQUIRE(block != nullptr);
      CHECK(aligned(block, align < 64 ? 64 : align));
      std::memset(block, 0xAB, bytes);
      lathe_workspace_free(block);
    }
  }
  lathe_workspace_trim();
}

TEST_CASE("a block that was freed serves the next call of the same size") {
  lathe_workspace_trim();
  void* first = lathe_workspace_alloc(100000, 64);
  lathe_workspace_free(first);
  void* second = lathe_workspace_alloc(100000, 64);
  CHECK(second == first);
  lathe_workspace_free(second);
}

TEST_CASE("a large freed block is not spent on a small request") {
  lathe_workspace_trim();
  void* large = lathe_workspace_alloc(1 << 24, 64);
  lathe_workspace_free(large);
  void* small = lathe_workspace_alloc(1000, 64);
  CHECK(small != large);
  lathe_workspace_free(small);
  lathe_workspace_trim();
}

TEST_CASE("blocks in use never overlap, whatever the order of requests") {
  std::mt19937 random(17);
  struct Block {
    unsigned char* data;
    std::size_t bytes;
    unsigned char mark;
  };
  std::vector<Block> blocks;
  for (int step = 0; step < 4000; ++step) {
    if (blocks.size() < 20 && random() % 2 == 0) {
      const std::size_t bytes = random() % 5000;
      const std::uint64_t align = std::uint64_t{1} << (random() % 13);
      auto* data = static_cast<unsigned char*>(lathe_workspace_alloc(bytes, align));
      REQUIRE(data != nullptr);
      REQUIRE(aligned(data, align));
      const auto mark = static_cast<unsigned char>(random());
      std::memset(data, mark, bytes);
      blocks.push_back({data, bytes, mark});
    } else if (!blocks.empty()) {
      const std::size_t which = random() % blocks.size();
      std::size_t intact = 0;
      while (intact < blocks[which].bytes && blocks[which].data[intact] == blocks[which].mark) ++intact;
      REQUIRE(intact == blocks[which].bytes);
      lathe_workspace_free(blocks[which].data);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
  for (Block& block : blocks) lathe_workspace_free(block.data);
}

TEST_CASE("workspace that cannot be had is NULL with a code and a text") {
  const std::uint64_t huge = ~std::uint64_t{0};
  for (std::uint64_t bytes : {huge, huge - 100, huge / 2, std::uint64_t{1} << 62}) {
    lathe_set_error(0, "");
    CHECK(lathe_workspace_alloc(bytes, 64) == nullptr);
    CHECK(lathe_last_error_code() == LATHE_ERROR_OUT_OF_MEMORY);
    CHECK(std::string(lathe_last_error()) ==
          "no workspace of " + std::to_string(bytes) + " bytes aligned to 64");
  }
  CHECK(lathe_workspace_alloc(64, 48) == nullptr);
  CHECK(lathe_workspace_alloc(64, std::uint64_t{1} << 63) == nullptr);
  lathe_workspace_free(nullptr);
}

TEST_CASE("a block may be freed on another thread, and threads end cleanly") {
  void* block = lathe_workspace_alloc(10000, 64);
  std::thread([&] {
    lathe_workspace_free(block);
    lathe_workspace_free(lathe_workspace_alloc(500, 64));
  }).join();
  void* other = nullptr;
  std::thread([&] { other = lathe_workspace_alloc(10000, 64); }).join();
  REQUIRE(other != nullptr);
  lathe_workspace_free(other);
  lathe_workspace_trim();
}

TEST_CASE("the host's own memory can stand behind the hook") {
  struct Host {
    int allocated = 0, freed = 0;
    alignas(64) unsigned char memory[256];
  } host;
  lathe_workspace_backend backend{[](void* self, std::uint64_t bytes, std::uint64_t) -> void* {
                                    auto& host = *static_cast<Host*>(self);
                                    ++host.allocated;
                                    return bytes <= 256 ? host.memory : nullptr;
                                  },
                                  [](void* self, void*) { ++static_cast<Host*>(self)->freed; }, &host};
  lathe_set_workspace_backend(&backend);
  void* fits = lathe_workspace_alloc(100, 64);
  void* too_large = lathe_workspace_alloc(1000, 64);
  lathe_workspace_free(fits);
  lathe_set_workspace_backend(nullptr);
  CHECK(fits == host.memory);
  CHECK(too_large == nullptr);
  CHECK(lathe_last_error_code() == LATHE_ERROR_OUT_OF_MEMORY);
  CHECK(host.allocated == 2);
  CHECK(host.freed == 1);
}
