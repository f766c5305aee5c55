#include "cli/watch/curses_terminal.h"

// Functions, not macros: `clear`, `move` and `timeout` are words of everybody.
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <fcntl.h>
#include <langinfo.h>
#include <ncurses.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <string>

#include "report/text/table.h"

namespace sharewell::cli {
namespace {

using report::Ink;
using report::WatchKey;

constexpr int kEscapeWait = 25;  // milliseconds until ESC is the key and no sequence
// Those that end the program at once. All others are waited for by who runs the screen.
constexpr std::array kCrashes = {SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

struct termios before_crash;
std::array<char, 128> leave_bytes;
std::size_t leave_size = 0;

// Async-signal-safe: no ncurses.
void LeaveAndDie(int signal) {
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_crash);
  [[maybe_unused]] const auto ignored = ::write(STDOUT_FILENO, leave_bytes.data(), leave_size);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// What the terminal has to be sent so that it is a plain one again, by terminfo.
void RememberTheWayOut() {
  leave_size = 0;
  for (const char* name : {"sgr0", "cnorm", "rmkx", "rmcup"}) {
    const char* bytes = ::tigetstr(name);
    // -1: no such capability.
    if (bytes == nullptr || reinterpret_cast<std::intptr_t>(bytes) == -1) continue;
    const std::size_t size = std::strlen(bytes);
    if (leave_size + size > leave_bytes.size()) break;
    std::memcpy(leave_bytes.data() + leave_size, bytes, size);
    leave_size += size;
  }
}

void OnCrashes(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  for (const int signal : kCrashes) ::sigaction(signal, &action, nullptr);
}

bool WantsColour() {
  const char* no = std::getenv("NO_COLOR");
  return no == nullptr || no[0] == '\0';
}

// Pairs by the number of their ink.
void MakeInks() {
  ::start_color();
  ::use_default_colors();
  ::init_pair(static_cast<short>(Ink::kGood), COLOR_GREEN, -1);
  ::init_pair(static_cast<short>(Ink::kWarn), COLOR_YELLOW, -1);
  ::init_pair(static_cast<short>(Ink::kBad), COLOR_RED, -1);
}

attr_t AttributesOf(Ink ink, bool colour) {
  switch (ink) {
    case Ink::kPlain:
      return A_NORMAL;
    case Ink::kDim:
      return A_DIM;
    case Ink::kHead:
      return A_BOLD;
    case Ink::kGood:
    case Ink::kWarn:
      return colour ? static_cast<attr_t>(COLOR_PAIR(static_cast<int>(ink))) : A_NORMAL;
    case Ink::kBad:
      return A_BOLD | (colour ? static_cast<attr_t>(COLOR_PAIR(static_cast<int>(ink))) : 0);
  }
  return A_NORMAL;
}

std::string Utf8(wint_t character) {
  std::array<char, 8> bytes{};
  std::mbstate_t state{};
  const std::size_t size = std::wcrtomb(bytes.data(), static_cast<wchar_t>(character), &state);
  return size == static_cast<std::size_t>(-1) ? std::string() : std::string(bytes.data(), size);
}

std::optional<WatchKey> FunctionKey(wint_t code) {
  switch (code) {
    case KEY_UP:
      return WatchKey{WatchKey::Kind::kUp, {}};
    case KEY_DOWN:
      return WatchKey{WatchKey::Kind::kDown, {}};
    case KEY_PPAGE:
      return WatchKey{WatchKey::Kind::kPageUp, {}};
    case KEY_NPAGE:
      return WatchKey{WatchKey::Kind::kPageDown, {}};
    case KEY_HOME:
      return WatchKey{WatchKey::Kind::kHome, {}};
    case KEY_END:
      return WatchKey{WatchKey::Kind::kEnd, {}};
    case KEY_ENTER:
      return WatchKey{WatchKey::Kind::kEnter, {}};
    case KEY_BACKSPACE:
      return WatchKey{WatchKey::Kind::kErase, {}};
    default:
      return std::nullopt;
  }
}

std::optional<WatchKey> CharacterKey(wint_t character) {
  switch (character) {
    case L'\r':
    case L'\n':
      return WatchKey{WatchKey::Kind::kEnter, {}};
    case 0x1b:
      return WatchKey{WatchKey::Kind::kEscape, {}};
    case 0x7f:
    case L'\b':
      return WatchKey{WatchKey::Kind::kErase, {}};
    default:
      break;
  }
  std::string text = Utf8(character);
  if (character < 0x20 || text.empty()) return std::nullopt;
  return WatchKey{WatchKey::Kind::kText, std::move(text)};
}

}  // namespace

std::unique_ptr<CursesTerminal> CursesTerminal::Open() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) return nullptr;
  if (::tcgetattr(STDIN_FILENO, &before_crash) != 0) return nullptr;
  std::setlocale(LC_CTYPE, "");
  // Not initscr, which ends the program where it does not know the terminal.
  SCREEN* screen = ::newterm(nullptr, stdout, stdin);
  if (screen == nullptr) return nullptr;
  return std::unique_ptr<CursesTerminal>(new CursesTerminal(screen));
}

CursesTerminal::CursesTerminal(void* screen) : screen_(screen) {
  RememberTheWayOut();
  OnCrashes(LeaveAndDie);
  unicode_ = std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
  colour_ = WantsColour() && ::has_colors();
  if (colour_) MakeInks();
  ::cbreak();
  ::noecho();
  ::nonl();
  ::curs_set(0);
  ::set_escdelay(kEscapeWait);
  ::keypad(stdscr, true);
  ::nodelay(stdscr, true);
  // "waiting 2 s: the server is full" would land anywhere.
  if (const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) {
    errors_before_ = ::dup(STDERR_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::close(nowhere);
  }
}

CursesTerminal::~CursesTerminal() {
  ::endwin();
  ::delscreen(static_cast<SCREEN*>(screen_));
  OnCrashes(SIG_DFL);
  if (errors_before_ >= 0) {
    ::dup2(errors_before_, STDERR_FILENO);
    ::close(errors_before_);
  }
}

report::ScreenSize CursesTerminal::Size() const {
  return {static_cast<std::size_t>(std::max(getmaxx(stdscr), 1)),
          static_cast<std::size_t>(std::max(getmaxy(stdscr), 1))};
}

void CursesTerminal::Draw(const report::Screen& screen) {
  const std::size_t width = Size().width;
  ::erase();
  for (std::size_t y = 0; y < screen.size(); ++y) {
    ::move(static_cast<int>(y), 0);
    // A character that is wider here than we thought has run over from the line above.
    ::clrtoeol();
    const attr_t inverted = screen[y].chosen ? A_REVERSE : A_NORMAL;
    for (const report::Piece& piece : screen[y].pieces) {
      ::attrset(static_cast<int>(AttributesOf(piece.ink, colour_) | inverted));
      ::addstr(piece.text.c_str());
    }
    const std::size_t used = report::DisplayWidth(report::TextOf(screen[y]));
    if (screen[y].chosen && used < width) ::addstr(std::string(width - used, ' ').c_str());
    ::attrset(A_NORMAL);
  }
  ::refresh();
}

std::optional<WatchKey> CursesTerminal::ReadKey(std::chrono::milliseconds most) {
  pollfd waits = {STDIN_FILENO, POLLIN, 0};
  const int ready = ::poll(&waits, 1, static_cast<int>(most.count()));
  if (ready > 0 && (waits.revents & POLLIN) == 0) gone_ = true;
  // Asked for also where nothing is ready: ncurses tells a new size as a key.
  wint_t character = 0;
  switch (::get_wch(&character)) {
    case KEY_CODE_YES:
      return FunctionKey(character);
    case OK:
      return CharacterKey(character);
    default:
      return std::nullopt;
  }
}

}  // namespace sharewell::cli
