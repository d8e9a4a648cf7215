#pragma once
// Messages between the session and its workers: a JSON header and raw bytes, over a pair of sockets.
//
//     8 bytes  magic   | 8 bytes  length of the header | 8 bytes  length of the bytes | header | bytes
//
// The other side may die, hang, or be a process whose memory a bad kernel has overwritten, so every wait has an end and
// what arrives is not trusted.

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

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

/// When to give up waiting.
struct Patience {
  double seconds = 0;                           ///< from the call on; 0: no limit
  const std::function<bool()>* stop = nullptr;  ///< asked about every 50 ms
};

Transfer write_frame(int fd, const Frame& frame, const Patience& patience);
Transfer read_frame(int fd, Frame& frame, const Patience& patience);

}  // namespace lathe::tuner
