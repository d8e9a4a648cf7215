#pragma once
// A few threads of the harness's own, for the ceilings and for what is written by hand here.

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace lathe::bench {

class Team {
 public:
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }
  /// Calls work(0) ... work(size - 1), each on a thread of its own; work(0) on the caller's.
  void run(const std::function<void(int)>& work);

 private:
  void serve(int index);

  std::vector<std::thread> workers_;
  const std::function<void(int)>* work_ = nullptr;
  std::atomic<unsigned> epoch_{0};
  std::atomic<int> running_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace lathe::bench
