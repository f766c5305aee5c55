#include "cli/watch/watch_screen.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "cli/client/job_terminal.h"
#include "cli/watch/curses_terminal.h"
#include "cli/watch/watch_feed.h"
#include "core/result.h"
#include "platform/clock/wall_clock.h"

namespace sharewell::cli {
namespace {

constexpr auto kKeyWait = std::chrono::milliseconds(100);

// The signal that ended it; 0: the person did.
int Watch(WatchFeed& feed, CursesTerminal& terminal, const NotedSignals& signals,
          report::WatchState state) {
  using Action = report::WatchAction::Kind;
  feed.Start();
  report::Screen shown;
  report::ScreenSize drawn{0, 0};
  core::UnixMillis drawn_second = 0;
  bool changed = true;
  for (;;) {
    if (signals.came() != 0) return signals.came();
    if (terminal.gone()) return SIGHUP;
    const report::ScreenSize size = terminal.Size();
    WatchFeed::News news = feed.Take();
    state.now = platform::UnixNow();
    changed = changed || news.facts || news.text || !news.lost.empty() || !news.said.empty();
    if (news.facts) report::TakeFacts(state, std::move(*news.facts), state.now);
    if (!news.lost.empty()) state.lost = news.lost;
    if (!news.said.empty()) state.said = news.said;
    if (news.text) report::TakeText(state, state.page, state.job, *news.text, size.width);
    // Times on the screen pass too, by the second.
    changed = changed || size != drawn || state.now / 1000 != drawn_second;
    if (changed) {
      report::KeepInView(state, size);
      report::Screen screen = report::DrawWatch(state, size);
      if (screen != shown || size != drawn) terminal.Draw(screen);
      shown = std::move(screen);
      drawn = size;
      drawn_second = state.now / 1000;
    }
    const auto key = terminal.ReadKey(kKeyWait);
    changed = key.has_value();
    if (!key) continue;
    const report::WatchAction action = report::PressKey(state, *key, size);
    if (action.kind == Action::kQuit) return 0;
    if (action.kind == Action::kCancel) feed.Cancel(action.job);
    feed.Look(state.page, state.job, state.errors);
  }
}

}  // namespace

core::Result<std::optional<ExitCode>> WatchServer(const ServerClient& client,
                                                  const report::JobsShown& shown) {
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
    state.user = shown.user;
    state.flat = shown.flat;
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
