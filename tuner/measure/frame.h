#pragma once
// Messages between the session and its workers: a JSON header and raw bytes, over a pair of sockets.
//
//     8 bytes  magic   | 8 bytes  length of the header | 8 bytes  length of the bytes | header | bytes
//
// The other side may die, hang, or be a process whose memory a bad kernel has overwritten, so every wait has an end and
// what arrives is not trusted.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "lathe/runtime/timer.h"

namespace lathe::tuner {

struct Frame {
  nlohmann::json header;
  std::string bytes;
};

enum class Transfer {
  Done,
  Closed,  ///< the other side is gone
  TimedOut,
  Stopped,  ///< `stop` said so
  Garbled,  ///< what came is no frame
};

/// Seconds since it was made, without those that this process slept through: stopped by Ctrl-Z, or on a machine that was
/// suspended, what it waits for got no further either. To be asked often: what passes between two questions counts as a
/// second at most.
class AwakeTimer {
 public:
  double seconds();

 private:
  static constexpr double kAwake = 1;
  runtime::Timer since_;
  double seconds_ = 0;
};

/// When to give up waiting.
struct Patience {
  double seconds = 0;                           ///< awake, from the call on; 0: no limit
  const std::function<bool()>* stop = nullptr;  ///< asked about every 50 ms
};

Transfer write_frame(int fd, const Frame& frame, const Patience& patience);
Transfer read_frame(int fd, Frame& frame, const Patience& patience);

}  // namespace lathe::tuner
