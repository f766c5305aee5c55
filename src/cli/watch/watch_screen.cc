#include "cli/watch/watch_screen.h"

#include <algorithm>
#include <chrono>
#include <csignal>

#include "cli/client/job_terminal.h"
#include "cli/watch/curses_terminal.h"
#include "cli/watch/watch_feed.h"
#include "core/result.h"
#include "platform/clock/wall_clock.h"
#include "report/text/table.h"

namespace sharewell::cli {
namespace {

constexpr auto kKeyWait = std::chrono::milliseconds(100);

// The signal that ended it; 0: the person did.
int Watch(WatchFeed& feed, CursesTerminal& terminal, const NotedSignals& signals,
          report::WatchState state) {
  using Action = report::WatchAction::Kind;
  feed.Start();
  report::Screen shown;
  for (;;) {
    if (signals.came() != 0) return signals.came();
    if (terminal.gone()) return SIGHUP;
    const report::ScreenSize size = terminal.Size();
    WatchFeed::News news = feed.Take();
    state.now = platform::UnixNow();
    if (news.facts) report::TakeFacts(state, std::move(*news.facts), state.now);
    if (!news.lost.empty()) state.lost = news.lost;
    if (!news.said.empty()) state.said = news.said;
    if (news.text) {
      const std::string text =
          state.page == report::WatchPage::kWhy
              ? report::Wrapped(*news.text, std::max<std::size_t>(size.width, 20), 2)
              : *news.text;
      report::TakeText(state, state.page, state.job, text);
    }
    report::KeepInView(state, size);
    report::Screen screen = report::DrawWatch(state, size);
    if (screen != shown) {
      shown = std::move(screen);
      terminal.Draw(shown);
    }
    const auto key = terminal.ReadKey(kKeyWait);
    if (!key) continue;
    const report::WatchAction action = report::PressKey(state, *key, size);
    if (action.kind == Action::kQuit) return 0;
    if (action.kind == Action::kCancel) feed.Cancel(action.job);
    feed.Look(state.page, state.job, state.errors);
  }
}

}  // namespace

core::Result<std::optional<ExitCode>> WatchServer(const ServerClient& client) {
  WatchFeed feed(client);
  auto first = feed.Ask();
  RETURN_IF_ERROR(first);
  int signal = 0;
  {
    // Before the terminal is opened: ncurses has handlers of its own for those that nobody handles.
    const NotedSignals signals;
    const auto terminal = CursesTerminal::Open();
    if (terminal == nullptr) return std::nullopt;
    report::WatchState state;
    state.ascii = !terminal->ShowsUnicode();
    report::TakeFacts(state, std::move(*first), platform::UnixNow());
    signal = Watch(feed, *terminal, signals, std::move(state));
  }
  if (signal == 0) return kOk;
  if (signal == SIGINT) return kInterrupted;
  ::signal(signal, SIG_DFL);
  ::raise(signal);  // whoever sent it sees that it did what it does
  return kFailed;
}

}  // namespace sharewell::cli
