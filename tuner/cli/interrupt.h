#pragma once
// SIGINT, SIGTERM and SIGHUP ask a session to stop. The first is a request; the second ends the program at once, and what was
// committed stays.

namespace lathe::command_line {

/// From now on the two signals are requests. What does not ask `interrupted` leaves them alone, and is ended by the first.
void catch_interrupts();
/// Whether one came.
bool interrupted();

/// A limit on the size of files is an error to report, like a full disk, and not the end.
void ignore_file_limits();

}  // namespace lathe::command_line
