#include "cli/commands/measure/live_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "cli/terminal.h"
#include "report/text/format.h"
#include "report/text/table.h"

namespace sharewell::cli {
namespace {

constexpr std::string_view kErase = "\r\x1b[K";
constexpr std::size_t kUsualWidth = 80;

std::size_t TerminalWidth() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                           : kUsualWidth;
}

std::string State(const measure::WatchLine& line) {
  switch (line.state) {
    case measure::WatchLine::State::kWarming:
      return fmt::format("warming up {:.0f} s", line.elapsed.value);
    case measure::WatchLine::State::kStopping:
      return fmt::format("stopping after {:.0f} s", line.elapsed.value);
    case measure::WatchLine::State::kSteady:
      break;
  }
  std::string text = fmt::format("steady {:.0f}", line.steady.value);
  if (line.goal) text += fmt::format(" of {:.0f}", line.goal->value);
  text += " s";
  if (line.uncertainty) text += fmt::format(" ± {}", report::Percent(*line.uncertainty));
  return text;
}

std::string Job(const measure::WatchJobLine& job) {
  std::string text;
  if (job.steps_per_second) text += fmt::format(" | {:.4g} steps/s", *job.steps_per_second);
  if (job.busy) {
    text += fmt::format(" | GPU {:.0f} %", 100 * *job.busy);
    if (job.sm) text += fmt::format(" SM {:.0f} %", 100 * *job.sm);
    if (job.gpu_memory) text += " " + report::Size(*job.gpu_memory);
  }
  if (job.cpu_cores) {
    text += fmt::format(" | {:.2f} cores", *job.cpu_cores);
    if (job.host_memory) text += " " + report::Size(*job.host_memory);
  }
  return text;
}

// No more than fits: a line that wraps cannot be redrawn.
std::string Cut(std::string text, std::size_t width) {
  while (report::DisplayWidth(text) >= width) {
    do {
      text.pop_back();
    } while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80);
  }
  return text;
}

}  // namespace

std::string LiveText(const measure::WatchLine& line) {
  std::string text = State(line);
  for (const measure::WatchJobLine& job : line.jobs) text += Job(job);
  return text;
}

LiveLine::LiveLine() {
  const char* term = std::getenv("TERM");
  on_ = ::isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

LiveLine::~LiveLine() { Clear(); }

void LiveLine::Show(const measure::WatchLine& line) {
  if (!on_) return;
  // The cursor goes back to the start: what the job prints next takes the line's place.
  WriteErr(fmt::format("{}{}\r", kErase, Cut(LiveText(line), TerminalWidth())));
  drawn_ = true;
}

void LiveLine::Clear() {
  if (drawn_) WriteErr(kErase);
  drawn_ = false;
}

}  // namespace sharewell::cli
