#include "measure/grid/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/result.h"
#include "platform/clock/wall_clock.h"
#include "platform/machine/cpu_topology.h"

namespace sharewell::measure {
namespace {

using Clock = std::chrono::steady_clock;

core::Seconds Since(Clock::time_point start) {
  return core::Seconds(std::chrono::duration<double>(Clock::now() - start).count());
}

// What this machine lacks for the cell; empty: nothing.
std::string Lacking(const GridCell& cell, const GridOptions& options) {
  if (cell.cpus && *cell.cpus > static_cast<int>(options.cpus.size())) {
    return fmt::format("it asks for {} CPUs, and there are {}", *cell.cpus, options.cpus.size());
  }
  if (cell.gpus && *cell.gpus > static_cast<int>(options.gpus.size())) {
    return fmt::format("it asks for {} GPUs, and there are {}", *cell.gpus, options.gpus.size());
  }
  return {};
}

class Sweeper {
 public:
  Sweeper(const SweepSpec& spec, const GridOptions& options, Journal& journal)
      : spec_(spec), options_(options), journal_(journal) {}

  core::Result<SweepResult> Run() {
    SweepResult result;
    result.name = spec_.name;
    if (!options_.gpus.empty()) result.gpu = options_.gpus.front().name;
    result.cores = static_cast<int>(options_.cpus.size());
    for (const GridPoint& point : GridOf(spec_)) {
      result.cells.push_back({.cell = CellAt(spec_, point), .run = point.run});
      for (const auto& [name, value] : result.cells.back().cell.axes) {
        if (std::find(result.axes.begin(), result.axes.end(), name) == result.axes.end()) {
          result.axes.push_back(name);
        }
      }
    }
    std::vector<SweepCell*> to_run;
    for (SweepCell& cell : result.cells) {
      if (!FromBefore(cell)) to_run.push_back(&cell);
      if (cell.state != CellState::kDone) continue;
      // Measured elsewhere, and reported here.
      if (result.gpu.empty()) result.gpu = cell.summary.profile.gpu;
      result.cores = std::max(result.cores, cell.cell.cpus.value_or(0));
    }
    if (result.Count(CellState::kLeftOut) == result.cells.size()) {
      return tl::unexpected(core::Error{
          core::ErrorKind::kAbsent,
          fmt::format("{}: no cell can run here: {}", spec_.name, result.cells.front().why)});
    }
    of_ = result.cells.size();
    done_ = of_ - to_run.size();
    for (std::size_t i = 0; i < to_run.size() && !result.interrupted; ++i) {
      RETURN_IF_ERROR(RunCell(*to_run[i], result.interrupted));
    }
    DrawConclusions(result);
    return result;
  }

 private:
  // Whether nothing is left to do for it.
  bool FromBefore(SweepCell& cell) const {
    const JournalEntry* entry = journal_.Find(cell.cell.key);
    // What is done is done, whatever this machine has.
    if (entry == nullptr || !entry->done) {
      if (const auto lacking = Lacking(cell.cell, options_); !lacking.empty()) {
        cell.state = CellState::kLeftOut;
        cell.why = lacking;
        return true;
      }
      if (entry == nullptr || options_.retry) return false;
    }
    Take(cell, *entry);
    cell.from_before = true;
    return true;
  }

  static void Take(SweepCell& cell, const JournalEntry& entry) {
    cell.state = entry.done ? CellState::kDone : CellState::kFailed;
    cell.why = entry.why;
    if (!entry.runs.empty()) cell.summary = entry.runs.front();
  }

  core::Result<void> RunCell(SweepCell& cell, bool& interrupted) {
    const auto started = Clock::now();
    auto log = FreshLog(options_.folder, cell.cell.key);
    RETURN_IF_ERROR(log);
    WatchOptions watch = WatchFor(cell.cell.measuring, options_);
    watch.source = "sweep";
    watch.line = [&](const WatchLine& line) { Tell(cell.cell.label, nullptr, &line); };
    JournalEntry entry{.key = cell.cell.key, .label = cell.cell.label};
    const RunSpec run = RunSpecFor(RequestFor(cell.cell, *log), options_);
    std::vector<core::ProfileRecord> records;
    for (int i = 0; i < cell.cell.measuring.repeat && entry.why.empty(); ++i) {
      auto watched = options_.run({&run, 1}, watch);
      if (!watched) {
        // A command that cannot be started is this cell's trouble, anything else everybody's.
        if (watched.error().kind != core::ErrorKind::kUsage) {
          return tl::unexpected(std::move(watched.error()));
        }
        entry.why = watched.error().message;
        break;
      }
      if (watched->interrupted) {
        interrupted = true;
        return {};
      }
      if (const auto failure =
              FailureOf(watched->records.front(), *log, !watched->memory_killed.empty())) {
        entry.why = failure->why;
        entry.out_of_memory = failure->out_of_memory;
      }
      records.push_back(std::move(watched->records.front()));
    }
    if (auto ok = Keep(entry, records); !ok) return ok;
    Take(cell, entry);
    ++done_;
    ran_ += Since(started);
    ++cells_run_;
    Tell(cell.cell.label, &entry, nullptr);
    return {};
  }

  RunRequest RequestFor(const GridCell& cell, const std::string& log) const {
    RunRequest request{.name = fmt::format("{} {}", spec_.name, cell.label)};
    request.command = cell.command;
    request.environment = cell.environment;
    request.workload = cell.workload;
    if (cell.cpus) {
      request.cpus = platform::PickCpus(platform::CpuPlaces(options_.cpus), *cell.cpus);
      std::sort(request.cpus->begin(), request.cpus->end());
    }
    request.threads = cell.threads;
    request.gpus = cell.gpus;
    request.memory = cell.memory;
    request.throughput = cell.measuring.throughput;
    request.log = log;
    return request;
  }

  core::Result<void> Keep(JournalEntry& entry, const std::vector<core::ProfileRecord>& records) {
    entry.done = entry.why.empty();
    entry.time = platform::UnixNow();
    if (entry.done) {
      core::ProfileRecord record = records.size() == 1 ? records.front() : MergeRepeats(records);
      if (options_.store != nullptr) {
        const auto id = options_.store->Save(record);
        RETURN_IF_ERROR(id);
        record.id = *id;
      }
      entry.runs.push_back(SummaryOf(record));
    }
    return journal_.Append(entry);
  }

  void Tell(const std::string& label, const JournalEntry* ended, const WatchLine* line) const {
    if (!options_.progress) return;
    GridProgress progress{.done = done_, .of = of_, .label = label};
    progress.ended = ended != nullptr;
    progress.entry = ended;
    progress.line = line;
    if (cells_run_ > 0) {
      progress.left = ran_ / static_cast<double>(cells_run_) * static_cast<double>(of_ - done_);
    }
    options_.progress(progress);
  }

  const SweepSpec& spec_;
  const GridOptions& options_;
  Journal& journal_;
  std::size_t done_ = 0, of_ = 0, cells_run_ = 0;
  core::Seconds ran_;
};

}  // namespace

core::Result<SweepResult> Sweep(const SweepSpec& spec, const GridOptions& options) {
  auto journal = Journal::Open(options.folder);
  RETURN_IF_ERROR(journal);
  return Sweeper(spec, options, **journal).Run();
}

}  // namespace sharewell::measure
