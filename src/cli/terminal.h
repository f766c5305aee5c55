// The way out to the person: stdout for results, stderr for everything else, progress on a terminal
// only. Interrupts end the program at once with 130, except while files are being written.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace sharewell::cli {

// All of `text` to stdout. A full disk or a closed pipe is an error (the pipe's without a message:
// whoever reads no further knows why).
core::Result<void> WriteOut(std::string_view text);

// The same of what is for people: on a terminal lines that are too wide for it are broken at spaces
// (report::Fitted), so that no word is cut and a path or a command can be copied.
core::Result<void> WriteText(std::string_view text);

// To stderr, as it is; a failure there cannot be told to anyone.
void WriteErr(std::string_view text);
// "sharewell: MESSAGE" on stderr (the program's name), fitted like that. Nothing is said for an
// empty message.
void WriteError(std::string_view message);
// "sharewell: LINE" on stderr, for what a command that runs on has to tell. Any thread.
void SayLine(const std::string& line);

// Whom messages are from; "sharewell" until it is told. REQUIRES: a literal.
void NameProgram(std::string_view name);

// From now on SIGINT clears the progress bar and ends the program with 130.
void ExitOnInterrupt();
// From now on it says this on stderr first.
void SayOnInterrupt(std::string text);

// Columns of the terminal that stdout is; absent: it is none.
std::optional<std::size_t> OutWidth();
// How wide text for people is made on stdout: as the terminal, at most kTextWidth.
inline constexpr std::size_t kTextWidth = 100;
std::size_t TextWidth();

// While one lives, SIGINT, SIGTERM and SIGHUP wait.
class HoldInterrupts {
 public:
  HoldInterrupts();
  ~HoldInterrupts();
  HoldInterrupts(const HoldInterrupts&) = delete;
  HoldInterrupts& operator=(const HoldInterrupts&) = delete;

 private:
  sigset_t before_;
};

// One line on stderr, redrawn at most ten times a second; nothing at all when stderr is no
// terminal. Cleared when it goes.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Show(std::string_view what, std::size_t done, std::size_t of);
  void Clear();

 private:
  bool on_;
  bool colour_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace sharewell::cli
