#pragma once
// SIGINT and SIGTERM ask a session to stop. The first is a request; the second ends the program at once, and what was
// committed stays.

namespace lathe::command_line {

/// From now on the two signals are requests.
void catch_interrupts();
/// Whether one came.
bool interrupted();

}  // namespace lathe::command_line
