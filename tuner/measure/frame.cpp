#include "tuner/measure/frame.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "support/json_depth.h"

namespace lathe::tuner {
namespace {

constexpr std::uint64_t kMagic = 0x31656d6172464c74;
constexpr std::uint64_t kLongest = std::uint64_t{1} << 32;
constexpr double kAskEvery = 0.05, kWaitAtOnce = 0.25;

struct Lengths {
  std::uint64_t magic = kMagic, header = 0, bytes = 0;
};

/// Waits until `fd` is ready for `events`; what is there already is there in time.
Transfer wait_for(int fd, short events, const Patience& patience, AwakeTimer& timer) {
  double wait = 0;
  while (true) {
    pollfd p{fd, events, 0};
    const int ready = poll(&p, 1, wait > 0 ? static_cast<int>(wait * 1000) + 1 : 0);
    if (ready < 0 && errno != EINTR) return Transfer::Closed;
    const double left = patience.seconds > 0 ? patience.seconds - timer.seconds() : kWaitAtOnce;
    if (left < -kWaitAtOnce) return Transfer::TimedOut;  // it talks, and comes to no end
    if (ready > 0) return Transfer::Done;                // a hang-up too: the next read or write says so
    if (patience.stop && *patience.stop && (*patience.stop)()) return Transfer::Stopped;
    if (left <= 0) return Transfer::TimedOut;
    wait = std::min(left, patience.stop ? kAskEvery : kWaitAtOnce);
  }
}

Transfer move_all(int fd, char* data, std::size_t size, bool out, const Patience& patience,
                  AwakeTimer& timer) {
  while (size > 0) {
    if (const Transfer t = wait_for(fd, out ? POLLOUT : POLLIN, patience, timer); t != Transfer::Done)
      return t;
    const ssize_t n = out ? send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) : recv(fd, data, size, 0);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return Transfer::Closed;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return Transfer::Done;
}

/// Reads `size` bytes to `text`, whose memory grows with what arrives: a garbled length must not cost gigabytes.
Transfer read_bytes(int fd, std::string& text, std::uint64_t size, const Patience& patience,
                    AwakeTimer& timer) {
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;
  text.clear();
  while (text.size() < size) {
    const std::size_t from = text.size(), count = std::min(kAtOnce, size - from);
    text.resize(from + count);
    if (const Transfer t = move_all(fd, text.data() + from, count, false, patience, timer);
        t != Transfer::Done)
      return t;
  }
  return Transfer::Done;
}

}  // namespace

double AwakeTimer::seconds() {
  const double passed = since_.seconds();
  since_.restart();
  return seconds_ += std::min(passed, kAwake);
}

Transfer write_frame(int fd, const Frame& frame, const Patience& patience) {
  AwakeTimer timer;
  const std::string header = frame.header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const Lengths lengths{kMagic, header.size(), frame.bytes.size()};
  std::string all(reinterpret_cast<const char*>(&lengths), sizeof lengths);
  all += header;
  all += frame.bytes;
  return move_all(fd, all.data(), all.size(), true, patience, timer);
}

Transfer read_frame(int fd, Frame& frame, const Patience& patience) {
  AwakeTimer timer;
  Lengths lengths;
  Transfer t = move_all(fd, reinterpret_cast<char*>(&lengths), sizeof lengths, false, patience, timer);
  if (t != Transfer::Done) return t;
  if (lengths.magic != kMagic || lengths.header > kLongest || lengths.bytes > kLongest)
    return Transfer::Garbled;
  std::string header;
  t = read_bytes(fd, header, lengths.header, patience, timer);
  if (t == Transfer::Done) t = read_bytes(fd, frame.bytes, lengths.bytes, patience, timer);
  if (t != Transfer::Done) return t;
  if (too_deep(header)) return Transfer::Garbled;
  frame.header = nlohmann::json::parse(header, nullptr, false);
  return frame.header.is_discarded() ? Transfer::Garbled : Transfer::Done;
}

}  // namespace lathe::tuner
