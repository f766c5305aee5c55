#include "report/watch/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sharewell::report {
namespace {

using core::JobRecord;

constexpr core::UnixMillis kKept = 30 * 60 * 1000;  // of the past of a GPU
constexpr std::size_t kFrame = 5;                   // lines above and below the list
constexpr std::size_t kMostTyped = 64;

bool IsShownTo(const WatchState& state, const JobRecord& job) {
  return state.user.empty() || job.user.name.find(state.user) != std::string::npos;
}

// The sum of the speeds on it; absent: one of two or more is not known.
std::optional<double> TogetherOf(const GpuNow& gpu,
                                 const std::map<std::int64_t, const JobRecord*>& by_number) {
  if (gpu.jobs.size() < 2) return std::nullopt;
  double sum = 0;
  for (const std::int64_t number : gpu.jobs) {
    const auto job = by_number.find(number);
    const auto speed = job == by_number.end() ? std::nullopt : SpeedAgainstAlone(*job->second);
    if (!speed) return std::nullopt;
    sum += *speed;
  }
  return sum;
}

// What GPUs are sorted by; the largest comes first. Unknown is last.
double SortFigure(WatchSort sort, const GpuNow& gpu,
                  const std::map<std::int64_t, const JobRecord*>& by_number) {
  switch (sort) {
    case WatchSort::kIndex:
      return 0;
    case WatchSort::kBusy:
      return gpu.busy.value_or(-1);
    case WatchSort::kMemory:
      return gpu.memory_used ? gpu.memory_used->value : -1;
    case WatchSort::kTogether:
      return TogetherOf(gpu, by_number).value_or(-1);
  }
  return 0;
}

std::vector<const GpuNow*> SortedGpus(const WatchState& state,
                                      const std::map<std::int64_t, const JobRecord*>& by_number) {
  std::vector<std::pair<double, const GpuNow*>> figures;
  for (const GpuNow& gpu : state.facts->gpus) {
    figures.emplace_back(SortFigure(state.sort, gpu, by_number), &gpu);
  }
  std::stable_sort(figures.begin(), figures.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (state.reversed) std::reverse(figures.begin(), figures.end());
  std::vector<const GpuNow*> gpus;
  for (const auto& [figure, gpu] : figures) gpus.push_back(gpu);
  return gpus;
}

// "no jobs: pid 4242 of ann, busy".
std::string StrangersInWords(const GpuNow& gpu) {
  std::string who;
  for (const StrangerNow& one : gpu.strangers) {
    who += fmt::format("{}pid {} of {}{}", who.empty() ? "" : ", ", one.pid, PlainText(one.user),
                       one.busy ? ", busy" : "");
  }
  return "no jobs: " + who;
}

void AddGpuRows(const WatchState& state, const std::map<std::int64_t, const JobRecord*>& by_number,
                std::set<std::int64_t>& placed, std::vector<WatchRow>& rows) {
  for (const GpuNow* gpu : SortedGpus(state, by_number)) {
    std::vector<const JobRecord*> on;
    for (const std::int64_t number : gpu->jobs) {
      const auto job = by_number.find(number);
      if (job == by_number.end()) continue;
      placed.insert(number);
      if (IsShownTo(state, *job->second)) on.push_back(job->second);
    }
    if (!state.user.empty() && on.empty()) continue;
    rows.push_back({WatchRow::Kind::kGpu, gpu, nullptr, {}});
    for (JobRow& row : JobRowsOf(on, state.flat)) {
      rows.push_back({WatchRow::Kind::kJob, gpu, row[0], {}, std::move(row)});
    }
    if (!gpu->strangers.empty() && state.user.empty()) {
      rows.push_back({WatchRow::Kind::kWords, gpu, nullptr, StrangersInWords(*gpu)});
    }
  }
}

void Choose(WatchState& state, const std::vector<WatchRow>& rows, std::size_t at) {
  state.at = at;
  state.chosen = at < rows.size() ? rows[at].Id() : "";
}

// The nearest row at or beyond `at` that can be chosen, in the direction of `step`, else back.
std::size_t Choosable(const std::vector<WatchRow>& rows, std::size_t at, int step) {
  const auto find = [&](int direction) -> std::optional<std::size_t> {
    for (auto i = static_cast<std::ptrdiff_t>(at);
         i >= 0 && i < static_cast<std::ptrdiff_t>(rows.size()); i += direction) {
      if (!rows[static_cast<std::size_t>(i)].Id().empty()) return static_cast<std::size_t>(i);
    }
    return std::nullopt;
  };
  const auto there = find(step);
  return there ? *there : find(-step).value_or(0);
}

void MoveBy(WatchState& state, std::ptrdiff_t rows_down) {
  const auto rows = WatchRows(state);
  if (rows.empty()) return;
  const auto last = static_cast<std::ptrdiff_t>(rows.size()) - 1;
  const auto at =
      std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(state.at) + rows_down, 0, last);
  Choose(state, rows, Choosable(rows, static_cast<std::size_t>(at), rows_down < 0 ? -1 : 1));
}

// After the rows have changed: what was chosen stays so, wherever it is now.
void StayWithChosen(WatchState& state) {
  const auto rows = WatchRows(state);
  const auto same = std::find_if(rows.begin(), rows.end(), [&](const WatchRow& row) {
    return !state.chosen.empty() && row.Id() == state.chosen;
  });
  if (same != rows.end()) {
    state.at = static_cast<std::size_t>(same - rows.begin());
  } else {
    MoveBy(state, 0);
  }
}

void ScrollText(WatchState& state, std::ptrdiff_t lines_down, ScreenSize size) {
  const std::size_t body = WatchBody(size);
  const auto most =
      static_cast<std::ptrdiff_t>(state.text.size() > body ? state.text.size() - body : 0);
  const auto top =
      std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(state.text_top) + lines_down, 0, most);
  state.text_top = static_cast<std::size_t>(top);
  state.follows = top == most;
}

std::optional<std::ptrdiff_t> LinesDown(const WatchKey& key, ScreenSize size) {
  constexpr std::ptrdiff_t kFar = 1'000'000'000;
  const auto page = static_cast<std::ptrdiff_t>(std::max<std::size_t>(WatchBody(size), 2)) - 1;
  switch (key.kind) {
    case WatchKey::Kind::kUp:
      return -1;
    case WatchKey::Kind::kDown:
      return 1;
    case WatchKey::Kind::kPageUp:
      return -page;
    case WatchKey::Kind::kPageDown:
      return page;
    case WatchKey::Kind::kHome:
      return -kFar;
    case WatchKey::Kind::kEnd:
      return kFar;
    case WatchKey::Kind::kText:
      if (key.text == "k") return -1;
      if (key.text == "j") return 1;
      if (key.text == " ") return page;
      if (key.text == "g") return -kFar;
      if (key.text == "G") return kFar;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// The job of the chosen row; says so where there is none.
std::optional<std::int64_t> ChosenJob(WatchState& state) {
  const auto rows = WatchRows(state);
  if (state.at < rows.size() && rows[state.at].job != nullptr) return rows[state.at].job->number;
  state.said = "choose a job first: the arrow keys move the cursor";
  return std::nullopt;
}

WatchAction OpenPage(WatchState& state, WatchPage page, std::int64_t job) {
  state.page = page;
  state.job = job;
  state.text.clear();
  state.text_top = 0;
  state.follows = page == WatchPage::kLog;
  state.errors = false;
  switch (page) {
    case WatchPage::kWhy:
      return {WatchAction::Kind::kWhy, job};
    case WatchPage::kLog:
      return {WatchAction::Kind::kLog, job};
    default:
      return {};
  }
}

WatchAction Answer(WatchState& state, const WatchKey& key) {
  if (state.question == WatchQuestion::kCancel) {
    const bool yes = key.kind == WatchKey::Kind::kText && (key.text == "y" || key.text == "Y");
    state.question = WatchQuestion::kNone;
    state.said = fmt::format("{} {} {}", yes ? "cancelling job" : "job", state.job,
                             yes ? "..." : "was not cancelled");
    return yes ? WatchAction{WatchAction::Kind::kCancel, state.job} : WatchAction{};
  }
  switch (key.kind) {
    case WatchKey::Kind::kEscape:
      state.question = WatchQuestion::kNone;
      break;
    case WatchKey::Kind::kEnter:
      state.question = WatchQuestion::kNone;
      state.user = state.typed;
      StayWithChosen(state);
      break;
    case WatchKey::Kind::kErase:
      while (!state.typed.empty()) {
        const bool inside = (static_cast<unsigned char>(state.typed.back()) & 0xC0) == 0x80;
        state.typed.pop_back();
        if (!inside) break;
      }
      break;
    case WatchKey::Kind::kText:
      if (state.typed.size() < kMostTyped) state.typed += PlainText(key.text);
      break;
    default:
      break;
  }
  return {};
}

WatchAction PressInPage(WatchState& state, const WatchKey& key, ScreenSize size) {
  if (const auto lines = LinesDown(key, size)) {
    ScrollText(state, *lines, size);
    return {};
  }
  if (key.kind == WatchKey::Kind::kText && key.text == "e" && state.page == WatchPage::kLog) {
    const bool errors = !state.errors;
    const WatchAction action = OpenPage(state, WatchPage::kLog, state.job);
    state.errors = errors;
    return action;
  }
  const bool closes = key.kind == WatchKey::Kind::kEscape || key.kind == WatchKey::Kind::kEnter ||
                      (key.kind == WatchKey::Kind::kText && (key.text == "q" || key.text == "?"));
  if (closes) OpenPage(state, WatchPage::kGpus, 0);
  return {};
}

}  // namespace

std::string WatchRow::Id() const {
  switch (kind) {
    case Kind::kGpu:
      return "gpu " + gpu->gpu.uuid;
    case Kind::kJob:
      return fmt::format("job {} {}", job->number, gpu == nullptr ? "" : gpu->gpu.uuid);
    case Kind::kWaiting:
      return fmt::format("job {}", job->number);
    case Kind::kWords:
      return {};
  }
  return {};
}

std::optional<double> SpeedTogether(const GpuNow& gpu, const std::vector<JobRecord>& running) {
  std::map<std::int64_t, const JobRecord*> by_number;
  for (const JobRecord& job : running) {
    const bool here = std::find(gpu.jobs.begin(), gpu.jobs.end(), job.number) != gpu.jobs.end();
    if (here) by_number[job.number] = &job;
  }
  return TogetherOf(gpu, by_number);
}

std::size_t WatchBody(ScreenSize size) { return size.height > kFrame ? size.height - kFrame : 1; }

std::vector<WatchRow> WatchRows(const WatchState& state) {
  std::vector<WatchRow> rows;
  if (!state.facts) return rows;
  std::map<std::int64_t, const JobRecord*> by_number;
  for (const JobRecord& job : state.facts->running) by_number[job.number] = &job;
  std::set<std::int64_t> placed;
  AddGpuRows(state, by_number, placed, rows);
  const auto group = [&](const std::string& words, WatchRow::Kind kind,
                         const std::vector<JobRecord>& jobs, const auto& belongs) {
    std::vector<const JobRecord*> of_it;
    for (const JobRecord& job : jobs) {
      if (IsShownTo(state, job) && belongs(job)) of_it.push_back(&job);
    }
    if (of_it.empty()) return;
    rows.push_back({WatchRow::Kind::kWords, nullptr, nullptr, words});
    for (JobRow& row : JobRowsOf(of_it, state.flat)) {
      rows.push_back({kind, nullptr, row[0], {}, std::move(row)});
    }
  };
  group("without a GPU", WatchRow::Kind::kJob, state.facts->running,
        [](const JobRecord& job) { return job.gpus.empty() && HasItsPlace(job); });
  group("on GPUs that are not here now", WatchRow::Kind::kJob, state.facts->running,
        [&](const JobRecord& job) {
          return !job.gpus.empty() && HasItsPlace(job) && !placed.contains(job.number);
        });
  group("queue", WatchRow::Kind::kWaiting, state.facts->queue,
        [](const JobRecord&) { return true; });
  return rows;
}

void BusyHistory::Add(core::UnixMillis time, core::Ratio busy) {
  Mean& mean = slots_[time / kBusySlot];
  mean.sum += busy;
  ++mean.readings;
  const core::UnixMillis oldest = slots_.rbegin()->first - kKept / kBusySlot;
  slots_.erase(slots_.begin(), slots_.lower_bound(oldest));
}

std::vector<std::optional<core::Ratio>> BusyHistory::Last(std::size_t slots,
                                                          core::UnixMillis now) const {
  std::vector<std::optional<core::Ratio>> last(slots);
  const core::UnixMillis newest = now / kBusySlot;
  for (auto slot = slots_.rbegin(); slot != slots_.rend(); ++slot) {
    const core::UnixMillis back = newest - slot->first;
    if (back < 0) continue;
    if (back >= static_cast<core::UnixMillis>(slots)) break;
    last[slots - 1 - static_cast<std::size_t>(back)] = slot->second.sum / slot->second.readings;
  }
  return last;
}

void TakeFacts(WatchState& state, WatchFacts facts, core::UnixMillis now) {
  state.facts = std::move(facts);
  state.lost.clear();
  state.now = state.answered = now;
  std::set<std::string> there;
  for (const GpuNow& gpu : state.facts->gpus) {
    BusyHistory& busy = state.busy[gpu.gpu.uuid];
    for (const auto& [time, ratio] : state.facts->past[gpu.gpu.uuid]) {
      if (time <= now && time > now - kKept) busy.Add(time, ratio);
    }
    if (gpu.busy) busy.Add(now, *gpu.busy);
    there.insert(gpu.gpu.uuid);
  }
  state.facts->past.clear();
  std::erase_if(state.busy, [&](const auto& entry) { return !there.contains(entry.first); });
  StayWithChosen(state);
}

void TakeText(WatchState& state, WatchPage page, std::int64_t job, std::string_view text,
              std::size_t width) {
  if (state.page != page || state.job != job) return;
  state.text.clear();
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    for (std::string& line : BrokenLine(PlainText(text.substr(0, end)), width)) {
      state.text.push_back(std::move(line));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

WatchAction PressKey(WatchState& state, const WatchKey& key, ScreenSize size) {
  state.said.clear();
  if (state.question != WatchQuestion::kNone) return Answer(state, key);
  if (state.page != WatchPage::kGpus) return PressInPage(state, key, size);
  if (const auto rows = LinesDown(key, size)) {
    MoveBy(state, *rows);
    return {};
  }
  const std::string pressed = key.kind == WatchKey::Kind::kEnter  ? "w"
                              : key.kind == WatchKey::Kind::kText ? key.text
                                                                  : "";
  if (pressed == "q") return {WatchAction::Kind::kQuit, 0};
  if (pressed == "?" || pressed == "h") return OpenPage(state, WatchPage::kHelp, 0);
  if (pressed == "s") {
    state.sort = static_cast<WatchSort>((static_cast<int>(state.sort) + 1) % 4);
    StayWithChosen(state);
  } else if (pressed == "r") {
    state.reversed = !state.reversed;
    StayWithChosen(state);
  } else if (pressed == "a") {
    state.flat = !state.flat;
    StayWithChosen(state);
  } else if (pressed == "u") {
    state.question = WatchQuestion::kUser;
    state.typed = state.user;
  } else if (pressed == "w" || pressed == "l" || pressed == "c") {
    const auto job = ChosenJob(state);
    if (!job) return {};
    // Which of them is meant is not guessed at.
    if (pressed == "c" && WatchRows(state)[state.at].jobs.size() > 1) {
      state.said = "this row is several jobs: a shows each, so that one can be chosen";
      return {};
    }
    if (pressed != "c") {
      return OpenPage(state, pressed == "w" ? WatchPage::kWhy : WatchPage::kLog, *job);
    }
    state.question = WatchQuestion::kCancel;
    state.job = *job;
  } else if (key.kind == WatchKey::Kind::kEscape && !state.user.empty()) {
    state.user.clear();
    StayWithChosen(state);
  }
  return {};
}

void KeepInView(WatchState& state, ScreenSize size) {
  const std::size_t body = WatchBody(size);
  const std::size_t rows = WatchRows(state).size();
  state.top = std::min(state.top, rows > body ? rows - body : 0);
  if (state.at < state.top) state.top = state.at;
  if (state.at >= state.top + body) state.top = state.at - body + 1;
  const std::size_t most = state.text.size() > body ? state.text.size() - body : 0;
  state.text_top = state.follows ? most : std::min(state.text_top, most);
}

}  // namespace sharewell::report
