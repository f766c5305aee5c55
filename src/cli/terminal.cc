#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "cli/args/command.h"
#include "report/text/fitted.h"

namespace sharewell::cli {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr std::size_t kBarWidth = 30;
constexpr std::size_t kWidthUnknown = 80;

std::string_view program_name = "sharewell";
volatile std::sig_atomic_t bar_drawn = 0;
std::atomic<const std::string*> last_words = nullptr;  // never given back: a signal may come late

// Returns 0 or the errno of the first failure.
int WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : EIO;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

std::optional<std::size_t> WidthOf(int file) {
  if (::isatty(file) == 0) return std::nullopt;
  winsize size{};
  if (::ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kWidthUnknown;
  return size.ws_col;
}

// Async-signal-safe: write and _exit only.
void OnInterrupt(int) {
  if (bar_drawn != 0) {
    [[maybe_unused]] const auto ignored =
        ::write(STDERR_FILENO, kClearLine.data(), kClearLine.size());
  }
  if (const std::string* words = last_words.load(); words != nullptr) {
    [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, words->data(), words->size());
  }
  ::_exit(kInterrupted);
}

}  // namespace

core::Result<void> WriteOut(std::string_view text) {
  const int error = WriteAll(STDOUT_FILENO, text);
  if (error == 0) return {};
  if (error == EPIPE) return tl::unexpected(core::Error{});
  return core::FailedError("cannot write to standard output: {}", std::strerror(error));
}

core::Result<void> WriteText(std::string_view text) {
  const auto width = OutWidth();
  return width ? WriteOut(report::Fitted(text, *width)) : WriteOut(text);
}

void WriteErr(std::string_view text) { WriteAll(STDERR_FILENO, text); }

void WriteError(std::string_view message) {
  if (message.empty()) return;
  const std::string text = fmt::format("{}: {}\n", program_name, message);
  const auto width = WidthOf(STDERR_FILENO);
  WriteErr(width ? report::Fitted(text, *width) : text);
}

void SayLine(const std::string& line) { WriteErr(fmt::format("{}: {}\n", program_name, line)); }

void NameProgram(std::string_view name) { program_name = name; }

void ExitOnInterrupt() {
  struct sigaction before {};
  // Started with SIGINT ignored (nohup, a background job of a script): it stays so.
  if (::sigaction(SIGINT, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = OnInterrupt;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
}

void SayOnInterrupt(std::string text) {
  last_words = std::make_unique<const std::string>(std::move(text)).release();
}

std::optional<std::size_t> OutWidth() { return WidthOf(STDOUT_FILENO); }

std::size_t TextWidth() { return std::min(OutWidth().value_or(kTextWidth), kTextWidth); }

HoldInterrupts::HoldInterrupts() {
  sigset_t held;
  sigemptyset(&held);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&held, signal);
  sigprocmask(SIG_BLOCK, &held, &before_);
}

HoldInterrupts::~HoldInterrupts() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

ProgressBar::ProgressBar() {
  const char* term = std::getenv("TERM");
  const char* no_color = std::getenv("NO_COLOR");
  on_ = ::isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
  colour_ = no_color == nullptr || *no_color == '\0';
}

ProgressBar::~ProgressBar() { Clear(); }

void ProgressBar::Show(std::string_view what, std::size_t done, std::size_t of) {
  if (!on_) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && now - last_ < kRedraw) return;
  last_ = now;
  const std::size_t shown = std::min(done, of);
  const std::size_t filled = of == 0 ? 0 : kBarWidth * shown / of;
  std::string bar;
  for (std::size_t i = 0; i < kBarWidth; ++i) bar += i < filled ? "━" : "─";
  if (colour_) bar = "\x1b[36m" + bar + "\x1b[0m";
  bar_drawn = 1;
  drawn_ = true;
  WriteAll(STDERR_FILENO,
           fmt::format("{}{} {} {} %", kClearLine, what, bar, of == 0 ? 0 : 100 * shown / of));
}

void ProgressBar::Clear() {
  if (drawn_) WriteAll(STDERR_FILENO, kClearLine);
  drawn_ = false;
  bar_drawn = 0;
}

}  // namespace sharewell::cli
