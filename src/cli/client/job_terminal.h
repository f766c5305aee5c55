// The client of a job's terminal (engine/local/run/terminal_frames.h): sits at it until one of both
// ends. Speaks to the job's supervisor over the socket in the job's folder, so a server that is
// stopped or started meanwhile disturbs nothing.
#pragma once

#include <csignal>
#include <optional>
#include <string>

#include "core/result.h"

namespace sharewell::cli {

// A connected socket; kAbsent: nobody listens there now. The caller closes it.
core::Result<int> ConnectTerminal(const std::string& path);

struct TerminalEnd {
  std::optional<int> code;  // of the command; absent: the terminal ended without a word
  bool more = true;         // the server knows more about its end
  int signal = 0;           // that we were sent, or why we could not go on; 0: none
};

// Passes stdin on to the job and its output to stdout. Where both are a terminal it is in raw mode
// meanwhile, and every key goes to the job, Ctrl-C too; it is set right again whatever happens.
// Where one is not, Ctrl-C is passed on, and so is the end of the input. Closes the socket.
TerminalEnd SitAtTerminal(int socket);

// While one lives, SIGINT, SIGTERM and SIGHUP end nothing: they are remembered.
class NotedSignals {
 public:
  NotedSignals();
  ~NotedSignals();
  NotedSignals(const NotedSignals&) = delete;
  NotedSignals& operator=(const NotedSignals&) = delete;

  int came() const;  // 0: none

 private:
  struct sigaction before_[3];
};

}  // namespace sharewell::cli
