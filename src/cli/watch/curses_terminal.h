// CursesTerminal: a screen that report::DrawWatch drew, on this terminal through ncurses, and keys.
// One at a time, one thread. The terminal is as it was before when it goes, and also where a signal
// ends the program that cannot be waited for (SIGQUIT, a crash).
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "report/watch/screen.h"
#include "report/watch/watch.h"

namespace sharewell::cli {

class CursesTerminal {
 public:
  // Null: stdin or stdout is no terminal, or one that ncurses does not know.
  static std::unique_ptr<CursesTerminal> Open();
  ~CursesTerminal();
  CursesTerminal(const CursesTerminal&) = delete;
  CursesTerminal& operator=(const CursesTerminal&) = delete;

  report::ScreenSize Size() const;
  bool ShowsUnicode() const { return unicode_; }
  void Draw(const report::Screen& screen);
  // The next key, waited for at most so long; a signal or a new size ends the waiting.
  std::optional<report::WatchKey> ReadKey(std::chrono::milliseconds most);
  bool gone() const { return gone_; }  // nobody is at the keys any more

 private:
  explicit CursesTerminal(void* screen);

  void* screen_;  // SCREEN of ncurses, whose header is for the source alone
  bool colour_ = false, unicode_ = false, gone_ = false;
  int errors_before_ = -1;  // stderr, which would write across the screen
};

}  // namespace sharewell::cli
