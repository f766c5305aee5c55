// A job's terminal: a pty, and a socket in the job's folder where one client sits at it
// (docs/formats/jobs.md). Output is read from the pty only as fast as the client takes it, so a
// slow client holds the job back and costs no memory. When the client goes, `gone` says so, and
// what is written from then on goes to the log alone.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "engine/local/run/terminal_frames.h"
#include "supervise/log.h"
#include "supervise/spec.h"

namespace sharewell::supervise {

struct Terminal {
  int master = -1;
  int slave = -1;  // kept open: a command that closes and opens it again is not hung up
  int listener = -1, client = -1;
  int folder = -1;
  uid_t owner = 0;
  bool begun = false;  // a client is there and has said how large its window is
  bool gone = false;   // it is there no more
  engine::FrameReader from_client;
  char input[engine::kMostFrame];  // that the pty has not taken yet
  std::size_t input_at = 0, input_size = 0;
  char output[engine::kFrameHead + engine::kMostFrame];  // that the client has not taken yet
  std::size_t output_at = 0, output_size = 0;
  // What the client may cost in a turn of a few milliseconds, so that a flood of messages holds up
  // the client and not this process, which may be root's.
  std::int64_t turn_ends = 0;  // ms of the monotonic clock
  int work = 0;                // in this turn
  char window[4];              // the last size that it told of
  bool resized = false;        // and that the pty has not yet
  bool sized = false;          // the pty had one in this turn
};

// Makes both. Only the job's user and root may connect. False: errno says why.
bool OpenTerminal(int folder, const Spec& spec, Terminal& out);

constexpr int kTerminalFiles = 3;
// What to poll for; all are ignored where there is no terminal.
void WantOfTerminal(const Terminal& self, pollfd* wanted);
void SeeTerminal(Terminal& self, const pollfd* wanted, Log& log);
// When it must be seen although nothing came, in ms of the monotonic clock; -1: never.
std::int64_t TerminalWakes(const Terminal& self);

// Once nothing of the command is left: what it has written to its last byte, to the log and for a
// few seconds to the client.
void DrainTerminal(Terminal& self, Log& log);
// The last word. `more`: the server knows more about this end than the code.
void SendToClient(Terminal& self, int code, bool more);
void CloseTerminal(Terminal& self);

}  // namespace sharewell::supervise
