#include <fmt/format.h>

#include <algorithm>

#include "report/text/format.h"
#include "report/text/table.h"
#include "report/watch/watch.h"

namespace sharewell::report {
namespace {

using core::JobRecord;

constexpr core::Ratio kSlow = 0.8;     // below it a speed is worth a look
constexpr core::Ratio kUnused = 0.05;  // a GPU with jobs on it that is busy less is wasted
constexpr std::size_t kSlotsAMinute = 60'000 / BusyHistory::kBusySlot;
constexpr std::size_t kMostModel = 14, kMostGpuName = 12;

// How wide the parts of a GPU's line are on this screen.
struct WatchColumns {
  std::size_t name = 3, model = 5, bar = 6, history = 12;
};

WatchColumns ColumnsFor(const WatchState& state, std::size_t width) {
  WatchColumns columns;
  for (const GpuNow& gpu : state.facts->gpus) {
    columns.name = std::clamp(DisplayWidth(GpuName(gpu.gpu)), columns.name, kMostGpuName);
    columns.model = std::clamp(DisplayWidth(PlainText(gpu.gpu.model)), columns.model, kMostModel);
  }
  const auto give = [&](std::size_t from, std::size_t bar, std::size_t history) {
    if (width < from) return;
    columns.bar = bar;
    columns.history = history;
  };
  give(100, 10, 16);
  give(130, 18, 24);
  give(180, 30, 40);
  return columns;
}

Ink InkOfLoad(std::optional<core::Ratio> share) {
  return share && *share > 0.95 ? Ink::kWarn : Ink::kGood;
}

std::string PercentOrNot(std::optional<core::Ratio> share) {
  return share ? fmt::format("{:.0f} %", *share * 100) : std::string(kUnknown);
}

std::string OfInWords(std::optional<core::Bytes> used, std::optional<core::Bytes> all) {
  if (!all) return used ? Size(*used) : std::string(kUnknown);
  return used ? SizeOf(*used, *all) : kUnknown + (" of " + Size(*all));
}

std::optional<core::Ratio> PartOf(std::optional<core::Bytes> used, std::optional<core::Bytes> all) {
  if (!used || !all || all->value <= 0) return std::nullopt;
  return used->value / all->value;
}

ScreenLine TitleLine(const WatchState& state) {
  ScreenLine line{{{"sharewell top", Ink::kHead}}, false};
  if (!state.facts) return line;
  const WatchFacts& facts = *state.facts;
  std::vector<std::string> words = {"policy " + PlainText(facts.node.policy),
                                    fmt::format("{} GPUs", facts.gpus.size())};
  for (const auto& [phase, count] : facts.counts) {
    const auto known = core::PhaseNamed(phase);
    if (count > 0 && known && !core::IsOver(*known)) {
      words.push_back(fmt::format("{} {}", count, core::NameOf(*known)));
    }
  }
  line.pieces.push_back(
      {fmt::format("  {}: {}", PlainText(facts.node.name), fmt::join(words, ", "))});
  if (!state.user.empty()) {
    line.pieces.push_back({fmt::format("  user: {}", PlainText(state.user)), Ink::kWarn});
  }
  return line;
}

// Cores and memory of the host; or that the server, or its store, does not answer.
ScreenLine HostLine(const WatchState& state, const WatchColumns& columns) {
  if (!state.lost.empty()) {
    const double away = static_cast<double>(state.now - state.answered) / 1e3;
    const std::string since =
        state.facts ? " for " + Duration(core::Seconds(std::max(away, 1.0))) : std::string();
    return {
        {{fmt::format("no answer{}, trying again: {}", since, PlainText(state.lost)), Ink::kBad}},
        false};
  }
  if (!state.facts) return {{{"asking the server ...", Ink::kDim}}, false};
  const NodeNow& node = state.facts->node;
  if (!node.store_up) {
    return {{{"the store is down: " + PlainText(node.store_problem), Ink::kBad}}, false};
  }
  ScreenLine line;
  const auto part = [&](const char* what, std::optional<core::Ratio> share,
                        const std::string& words) {
    line.pieces.push_back({fmt::format("{}{} ", line.pieces.empty() ? "" : "  ", what)});
    line.pieces.push_back({LoadBar(share, columns.bar, state.ascii), InkOfLoad(share)});
    line.pieces.push_back({" " + words});
  };
  if (node.cores) {
    part(node.simulated_cores ? "simulated cores" : "cores",
         node.cores_given && *node.cores > 0 ? std::optional(*node.cores_given / *node.cores)
                                             : std::nullopt,
         fmt::format("{} of {:g} given",
                     node.cores_given ? fmt::format("{:g}", *node.cores_given) : kUnknown,
                     *node.cores));
  }
  const HostNow& host = state.facts->host;
  if (host.busy) part("CPU", host.busy, PercentOrNot(host.busy));
  if (host.memory) {
    part("memory", PartOf(host.memory_used, host.memory), OfInWords(host.memory_used, host.memory));
  }
  return line;
}

ScreenLine HeadingLine(const WatchState& state, const WatchColumns& columns) {
  if (!state.facts) return {};
  const std::string text =
      RightIn("GPU", columns.name) + " " + LeftIn("model", columns.model) + " " +
      LeftIn("busy", columns.bar + 1 + 5) + " " +
      LeftIn(fmt::format("last {} min", columns.history / kSlotsAMinute), columns.history) +
      "  memory";
  return {{{text, Ink::kHead}}, false};
}

ScreenLine GpuLine(const WatchState& state, const GpuNow& gpu, const WatchColumns& columns) {
  ScreenLine line;
  line.pieces.push_back({RightIn(GpuName(gpu.gpu), columns.name) + " ", Ink::kHead});
  line.pieces.push_back({LeftIn(PlainText(gpu.gpu.model), columns.model) + " "});
  line.pieces.push_back({LoadBar(gpu.busy, columns.bar, state.ascii), InkOfLoad(gpu.busy)});
  line.pieces.push_back({" " + RightIn(PercentOrNot(gpu.busy), 5) + " "});
  const auto history = state.busy.find(gpu.gpu.uuid);
  line.pieces.push_back({history == state.busy.end()
                             ? std::string(columns.history, ' ')
                             : HistoryLine(history->second.Last(columns.history, state.now),
                                           columns.history, state.ascii),
                         Ink::kGood});
  const auto held = PartOf(gpu.memory_used, gpu.memory);
  line.pieces.push_back({"  "});
  line.pieces.push_back({LoadBar(held, columns.bar, state.ascii), InkOfLoad(held)});
  line.pieces.push_back({" " + OfInWords(gpu.memory_used, gpu.memory)});
  if (gpu.power) line.pieces.push_back({fmt::format("  {:.0f} W", gpu.power->value)});
  if (const auto together = SpeedTogether(gpu, state.facts->running)) {
    line.pieces.push_back(
        {"  together " + Times(*together), *together < 1 ? Ink::kBad : Ink::kGood});
  }
  const bool foreign = std::any_of(gpu.strangers.begin(), gpu.strangers.end(),
                                   [](const StrangerNow& one) { return one.busy; });
  if (!gpu.problem.empty()) line.pieces.push_back({"  " + PlainText(gpu.problem), Ink::kBad});
  if (gpu.drained) line.pieces.push_back({"  drained", Ink::kWarn});
  if (gpu.jobs.empty()) line.pieces.push_back({foreign ? "  not ours" : "  idle", Ink::kDim});
  if (!gpu.jobs.empty() && gpu.busy && *gpu.busy < kUnused) {
    line.pieces.push_back({"  unused", Ink::kWarn});
  }
  if (gpu.simulated) line.pieces.push_back({"  simulated", Ink::kDim});
  return line;
}

std::size_t NameRoom(std::size_t width) { return width >= 130 ? 32 : width >= 100 ? 24 : 16; }

// Number, name and user, which every job's line begins with.
ScreenLine JobBegins(const WatchRow& row, const std::string& name, std::size_t width) {
  return {{{fmt::format("{:>9} ", JobNumbersInWords(row.jobs)), Ink::kHead},
           {LeftIn(name, NameRoom(width)) + " "},
           {LeftIn(PlainText(row.job->user.name), 9)}},
          false};
}

// Of several jobs of an array what can be said of all.
ScreenLine ArrayLine(const WatchState& state, const WatchRow& row, ScreenLine line) {
  line.pieces.push_back({fmt::format(" {} jobs", row.jobs.size())});
  std::optional<core::Ratio> slowest = 1e9;
  double cores = 0;
  std::optional<core::Seconds> longest;
  for (const JobRecord* job : row.jobs) {
    const auto speed = SpeedAgainstAlone(*job);
    slowest = slowest && speed ? std::optional(std::min(*slowest, *speed)) : std::nullopt;
    cores += job->cores;
    const auto ran = RanFor(*job, state.now);
    if (ran && (!longest || *ran > *longest)) longest = ran;
  }
  if (slowest) {
    line.pieces.push_back(
        {"  slowest " + PercentOrNot(slowest), *slowest < kSlow ? Ink::kBad : Ink::kPlain});
  }
  line.pieces.push_back({fmt::format("  {:g} cores", cores)});
  if (longest) line.pieces.push_back({"  " + Duration(*longest)});
  return line;
}

ScreenLine JobLine(const WatchState& state, const WatchRow& row, const std::string& name,
                   std::size_t width) {
  const JobRecord& job = *row.job;
  ScreenLine line = JobBegins(row, name, width);
  if (row.jobs.size() > 1) return ArrayLine(state, row, std::move(line));
  const auto speed = SpeedAgainstAlone(job);
  line.pieces.push_back({fmt::format(" speed {:>5}", PercentOrNot(speed)),
                         speed && *speed < kSlow ? Ink::kBad : Ink::kPlain});
  if (!job.gpus.empty()) {
    line.pieces.push_back({fmt::format("  SMs {:>5}", PercentOrNot(job.sm_share))});
    line.pieces.push_back(
        {fmt::format("  {:>8}", job.seen.gpu_memory ? Size(*job.seen.gpu_memory) : kUnknown)});
  }
  line.pieces.push_back({fmt::format("  {:g} cores", job.cores)});
  if (job.seen.host_memory) line.pieces.push_back({"  RAM " + Size(*job.seen.host_memory)});
  if (const auto ran = RanFor(job, state.now)) line.pieces.push_back({"  " + Duration(*ran)});
  if (job.steps_per_second) {
    line.pieces.push_back({fmt::format("  {} steps/s", Number(*job.steps_per_second, 1))});
  }
  if (const std::string slower = core::SlowerInWords(job); !slower.empty()) {
    line.pieces.push_back({"  " + slower, Ink::kWarn});
  }
  if (job.guest_memory) line.pieces.push_back({"  guest", Ink::kDim});
  if (job.phase != core::Phase::kRunning) {
    line.pieces.push_back({fmt::format("  {}", core::NameOf(job.phase)), Ink::kWarn});
  }
  return line;
}

// `again`: the row above waits for the same.
ScreenLine WaitingLine(const WatchState& state, const WatchRow& row, const std::string& name,
                       std::size_t width, bool again) {
  const JobRecord& job = *row.job;
  ScreenLine line = JobBegins(row, name, width);
  const std::string count = row.jobs.size() == 1 ? "" : fmt::format("{} ", row.jobs.size());
  const double seconds =
      job.expected_start ? static_cast<double>(*job.expected_start - state.now) / 1e3 : 0;
  const std::string starts = !job.expected_start ? ""
                             : seconds < 1       ? "soon"
                                                 : "in " + About(core::Seconds(seconds));
  line.pieces.push_back({fmt::format(" {} {}",
                                     LeftIn(count + std::string(core::NameOf(job.phase)),
                                            std::max<std::size_t>(8, count.size() + 7)),
                                     LeftIn(starts, 9))});
  line.pieces.push_back({again ? " the same" : " " + PlainText(job.reason), Ink::kDim});
  return line;
}

std::vector<ScreenLine> HelpLines() {
  constexpr std::pair<const char*, const char*> kKeys[] = {
      {"up, down, j, k", "move the cursor"},
      {"page up, page down, space", "move by a screen"},
      {"home, end, g, G", "go to the first or the last row"},
      {"s", "sort the GPUs: by index, busy, memory, speed together"},
      {"r", "reverse the order"},
      {"a", "show the jobs of an array as one row, or each"},
      {"u", "show only jobs of a user: type part of the name, then enter; empty: all"},
      {"w, enter", "why the chosen job waits, or runs where it runs"},
      {"l", "the log of the chosen job; e there: its stderr, or stdout again"},
      {"c", "cancel the chosen job, after a question"},
      {"esc", "close a page, end a question, or show all users again"},
      {"?", "this page"},
      {"q", "quit"},
  };
  std::vector<ScreenLine> lines;
  for (const auto& [keys, what] : kKeys) {
    lines.push_back({{{"  " + LeftIn(keys, 27), Ink::kHead}, {what}}, false});
  }
  lines.push_back({});
  for (const char* words :
       {"busy: share of the time that the GPU worked, and its last minutes.",
        "speed: a job's rate divided by its rate alone, where that was seen. SMs: the most it may "
        "use.",
        "together: the sum of the speeds on a GPU; above 1, sharing pays.",
        "unused: the GPU was given to jobs, and they do not use it. -: nobody knows."}) {
    lines.push_back({{{std::string("  ") + words}}, false});
  }
  return lines;
}

std::string SortName(WatchSort sort) {
  constexpr const char* kNames[] = {"index", "busy", "memory", "together"};
  return kNames[static_cast<int>(sort)];
}

ScreenLine FootLine(const WatchState& state) {
  if (state.question == WatchQuestion::kUser) {
    return {{{"jobs of user: " + PlainText(state.typed) + "_", Ink::kWarn},
             {"  (enter: show, esc: leave it)", Ink::kDim}},
            false};
  }
  if (state.question == WatchQuestion::kCancel) {
    return {{{fmt::format("cancel job {}? (y: yes, any other key: no)", state.job), Ink::kBad}},
            false};
  }
  if (!state.said.empty()) return {{{PlainText(state.said), Ink::kWarn}}, false};
  if (state.page == WatchPage::kLog) {
    return {{{"q back  e stdout/stderr  arrows scroll", Ink::kDim}}, false};
  }
  if (state.page != WatchPage::kGpus) return {{{"q back  arrows scroll", Ink::kDim}}, false};
  return {{{fmt::format("q quit  ? help  s sort: {}{}  a array  u user  w why  l log  c cancel",
                        SortName(state.sort), state.reversed ? " (reversed)" : ""),
            Ink::kDim}},
          false};
}

std::vector<ScreenLine> PageLines(const WatchState& state) {
  if (state.page == WatchPage::kHelp) return HelpLines();
  std::vector<ScreenLine> lines;
  for (std::size_t i = state.text_top; i < state.text.size(); ++i) {
    lines.push_back({{{state.text[i]}}, false});
  }
  return lines;
}

std::string PageTitle(const WatchState& state) {
  switch (state.page) {
    case WatchPage::kHelp:
      return "keys";
    case WatchPage::kWhy:
      return fmt::format("why: job {}", state.job);
    case WatchPage::kLog:
      return fmt::format("{} of job {}", state.errors ? "stderr" : "stdout", state.job);
    case WatchPage::kGpus:
      break;
  }
  return {};
}

std::vector<ScreenLine> ListLines(const WatchState& state, const WatchColumns& columns,
                                  ScreenSize size) {
  std::vector<ScreenLine> lines;
  const auto rows = WatchRows(state);
  const std::size_t end = std::min(rows.size(), state.top + WatchBody(size));
  // Names are cut beside all others, so that a row does not change as the list scrolls.
  std::vector<JobRow> of_jobs;
  for (const WatchRow& row : rows) {
    if (row.job != nullptr) of_jobs.push_back(row.jobs);
  }
  const std::vector<std::string> names = CutNames(JobNamesOf(of_jobs), NameRoom(size.width));
  auto next_name = static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(state.top),
                    [](const WatchRow& row) { return row.job != nullptr; }));
  for (std::size_t i = state.top; i < end; ++i) {
    const WatchRow& row = rows[i];
    switch (row.kind) {
      case WatchRow::Kind::kGpu:
        lines.push_back(GpuLine(state, *row.gpu, columns));
        break;
      case WatchRow::Kind::kJob:
        lines.push_back(JobLine(state, row, names[next_name++], size.width));
        break;
      case WatchRow::Kind::kWaiting:
        lines.push_back(WaitingLine(state, row, names[next_name++], size.width,
                                    i > state.top && rows[i - 1].job != nullptr &&
                                        rows[i - 1].job->reason == row.job->reason &&
                                        !row.job->reason.empty()));
        break;
      case WatchRow::Kind::kWords:
        lines.push_back({{{row.gpu == nullptr ? row.words : "          " + row.words,
                           row.gpu == nullptr ? Ink::kHead : Ink::kDim}},
                         false});
        break;
    }
    lines.back().chosen = i == state.at && !row.Id().empty();
  }
  if (rows.empty() && state.facts) {
    lines.push_back({{{state.user.empty() ? "no GPUs and no jobs"
                                          : "no jobs of a user with this name (u: another name)",
                       Ink::kDim}},
                     false});
  }
  return lines;
}

// "rows 1-18 of 240", on the right of the last line but one; only where not all fit.
ScreenLine WhereLine(const WatchState& state, ScreenSize size) {
  const bool list = state.page == WatchPage::kGpus;
  const std::size_t all = list ? WatchRows(state).size() : state.text.size();
  const std::size_t top = list ? state.top : state.text_top;
  const std::size_t body = WatchBody(size);
  if (all <= body) return {};
  return {{{fmt::format("{} {}-{} of {}", list ? "rows" : "lines", top + 1,
                        std::min(top + body, all), all),
            Ink::kDim}},
          false};
}

}  // namespace

Screen DrawWatch(const WatchState& state, ScreenSize size) {
  const WatchColumns columns = state.facts ? ColumnsFor(state, size.width) : WatchColumns();
  const bool list = state.page == WatchPage::kGpus;
  Screen screen = {
      TitleLine(state), HostLine(state, columns),
      list ? HeadingLine(state, columns) : ScreenLine{{{PageTitle(state), Ink::kHead}}, false}};
  auto body = list ? ListLines(state, columns, size) : PageLines(state);
  body.resize(WatchBody(size));
  std::move(body.begin(), body.end(), std::back_inserter(screen));
  screen.push_back(WhereLine(state, size));
  screen.push_back(FootLine(state));
  // A screen of a few lines has room for a few of them.
  screen.resize(size.height);
  for (ScreenLine& line : screen) {
    line = CutLine(std::move(line), size.width);
    if (!state.ascii) continue;
    for (Piece& piece : line.pieces) piece.text = InAscii(piece.text);
  }
  return screen;
}

}  // namespace sharewell::report
