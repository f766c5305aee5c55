// Signals that the user sends us, kept for those whom they are meant for: while one lives, INT,
// TERM, HUP and QUIT do not end this process; they are kept to be passed on. TSTP still stops us,
// WINCH is told too, and PIPE is ignored: writing to a closed pipe is an error, not an end.
#pragma once

#include <csignal>
#include <optional>

namespace sharewell::platform {

struct PassedSignal {
  int number = 0;
  bool from_terminal = false;  // a key: everyone in our process group got it
};

// One at a time.
class PassedSignals {
 public:
  PassedSignals();
  ~PassedSignals();  // as it was before
  PassedSignals(const PassedSignals&) = delete;
  PassedSignals& operator=(const PassedSignals&) = delete;

  // The next one that came, if any.
  std::optional<PassedSignal> Next();
  // Readable when there may be one; -1 while no object lives.
  static int Descriptor();
};

}  // namespace sharewell::platform
