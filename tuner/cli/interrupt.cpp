#include "tuner/cli/interrupt.h"

#include <signal.h>

namespace lathe::command_line {
namespace {

// What a signal handler can reach is global by nature.
volatile sig_atomic_t g_interrupted = 0;

extern "C" void on_interrupt(int signal_number) {
  g_interrupted = 1;
  signal(signal_number, SIG_DFL);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A terminal that went away, unless nohup says that it does not matter.
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

void ignore_file_limits() { signal(SIGXFSZ, SIG_IGN); }

bool interrupted() { return g_interrupted != 0; }

}  // namespace lathe::command_line
