#include "measure/grid/colocate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "core/result.h"
#include "platform/clock/wall_clock.h"
#include "platform/machine/cpu_topology.h"

namespace sharewell::measure {
namespace {

using Clock = std::chrono::steady_clock;

class Colocator {
 public:
  Colocator(const ColocateSpec& spec, const ColocateOptions& options, Journal& journal)
      : spec_(spec), options_(options), journal_(journal) {}

  core::Result<ColocateResult> Run() {
    ColocateResult result;
    result.name = spec_.name;
    if (!options_.grid.gpus.empty()) result.gpu = options_.grid.gpus.front().name;
    result.mps = options_.mps;
    result.cores = static_cast<int>(Pool().size());
    result.alone.resize(spec_.workloads.size());
    for (std::size_t i = 0; i < spec_.workloads.size(); ++i) {
      result.alone[i].name = spec_.workloads[i].name;
      result.alone[i].sm_percent = spec_.workloads[i].sm_percent;
      result.alone[i].gpu = spec_.workloads[i].gpu;
    }
    for (const auto& set : spec_.sets) {
      result.groups.emplace_back();
      result.groups.back().members = set;
    }
    of_ = result.alone.size() * (spec_.again ? 2 : 1) + result.groups.size();
    RETURN_IF_ERROR(RunAll(result));
    CompareWithAlone(result);
    AddNotes(result);
    return result;
  }

 private:
  core::Result<void> RunAll(ColocateResult& result) {
    for (std::size_t i = 0; i < result.alone.size(); ++i) {
      auto entry = RunSet({i}, "alone");
      RETURN_IF_ERROR(entry);
      if (!*entry) return Interrupted(result);
      AloneRun& alone = result.alone[i];
      alone.state = (*entry)->done ? CellState::kDone : CellState::kFailed;
      alone.why = (*entry)->why;
      if (alone.state == CellState::kDone) alone.summary = (*entry)->runs.front();
    }
    if (auto ok = CheckRates(result); !ok) return ok;
    for (ColocatedSet& group : result.groups) {
      if (!AllRanAlone(result, group)) continue;
      auto entry = RunSet(group.members, "together");
      RETURN_IF_ERROR(entry);
      if (!*entry) return Interrupted(result);
      group.state = (*entry)->done ? CellState::kDone : CellState::kFailed;
      group.why = (*entry)->why;
      group.fits = !(*entry)->out_of_memory;
      group.runs = (*entry)->runs;
    }
    for (std::size_t i = 0; spec_.again && i < result.alone.size(); ++i) {
      if (result.alone[i].state != CellState::kDone) continue;
      auto entry = RunSet({i}, "alone again");
      RETURN_IF_ERROR(entry);
      if (!*entry) return Interrupted(result);
      if ((*entry)->done) result.alone[i].again = (*entry)->runs.front();
    }
    return {};
  }

  static core::Result<void> Interrupted(ColocateResult& result) {
    result.interrupted = true;
    return {};
  }

  // Without a rate there is no speed; better said after a minute than after an hour.
  static core::Result<void> CheckRates(const ColocateResult& result) {
    for (const AloneRun& alone : result.alone) {
      if (alone.state != CellState::kDone || alone.Rate()) continue;
      return core::UsageError(
          "{} told no steps while it ran alone, so that no speed could be found; let it write a "
          "line a step to the file that $SHAREWELL_PROGRESS names, or give progress_regex",
          alone.name);
    }
    return {};
  }

  static bool AllRanAlone(const ColocateResult& result, ColocatedSet& group) {
    for (const std::size_t member : group.members) {
      if (result.alone[member].state == CellState::kDone) continue;
      group.state = CellState::kLeftOut;
      group.why = fmt::format("{} did not run alone", result.alone[member].name);
      return false;
    }
    return true;
  }

  // The CPUs of a set, rising.
  std::vector<int> Pool() const {
    if (!spec_.cpus) return options_.grid.cpus;
    auto pool = platform::PickCpus(platform::CpuPlaces(options_.grid.cpus), *spec_.cpus);
    std::sort(pool.begin(), pool.end());
    return pool;
  }

  // CPUs for each member: its own where there are enough, else those from the start again.
  std::vector<std::optional<std::vector<int>>> Shares(const std::vector<std::size_t>& set) const {
    const std::vector<int> pool = Pool();
    auto free = platform::CpuPlaces(pool);
    std::vector<std::optional<std::vector<int>>> out;
    for (const std::size_t member : set) {
      const auto& [cpus, node] =
          std::pair(spec_.workloads[member].cpus, spec_.workloads[member].numa_node);
      const auto near = [&, at = node](std::vector<platform::CpuPlace> places) {
        std::erase_if(places, [&](const auto& place) { return at && place.node != *at; });
        return places;
      };
      if (!cpus) {
        out.emplace_back();
        if (!node && !spec_.cpus) continue;
        out.back().emplace();
        for (const auto& place : near(platform::CpuPlaces(pool))) {
          out.back()->push_back(place.cpu);
        }
        continue;
      }
      if (static_cast<std::size_t>(*cpus) > near(free).size()) {
        free = platform::CpuPlaces(pool);
        crowded_ = crowded_ || set.size() > 1;
      }
      auto picked = platform::PickCpus(near(free), *cpus);
      std::sort(picked.begin(), picked.end());
      std::erase_if(free, [&](const platform::CpuPlace& place) {
        return std::binary_search(picked.begin(), picked.end(), place.cpu);
      });
      out.emplace_back(std::move(picked));
    }
    return out;
  }

  std::string KeyOfSet(const std::vector<std::size_t>& set, const std::string& how) const {
    std::vector<std::string> parts = {how, options_.mps ? "mps" : "sliced",
                                      KeyText(spec_.measuring)};
    for (const std::size_t member : set) {
      const ColocatedWorkload& w = spec_.workloads[member];
      parts.insert(parts.end(), w.command.begin(), w.command.end());
      for (const auto& [name, value] : w.environment) parts.push_back(name + "=" + value);
      parts.push_back(fmt::format("{}/{}/{}/{} {} {} {} {}", w.workload.name, w.workload.batch,
                                  w.workload.precision, w.workload.workers, w.cpus.value_or(-1),
                                  w.memory.value_or(core::Bytes(-1)).value,
                                  static_cast<int>(w.throughput.kind), w.throughput.expression));
      // Only where they are given, so that what was measured before is found again.
      if (w.gpu) parts.push_back(fmt::format("gpu {}", *w.gpu));
      if (w.numa_node) parts.push_back(fmt::format("node {}", *w.numa_node));
      if (w.sm_percent && set.size() > 1) parts.push_back(fmt::format("sm {}", *w.sm_percent));
    }
    if (spec_.cpus) parts.push_back(fmt::format("cpus {}", *spec_.cpus));
    if (spec_.memory) parts.push_back(fmt::format("memory {}", spec_.memory->value));
    return KeyOf(parts);
  }

  std::vector<RunSpec> SpecsFor(const std::vector<std::size_t>& set,
                                const std::vector<std::string>& logs) const {
    const auto shares = Shares(set);
    std::vector<RunSpec> out;
    for (std::size_t i = 0; i < set.size(); ++i) {
      const ColocatedWorkload& workload = spec_.workloads[set[i]];
      // The same one twice needs two names.
      const auto before =
          std::count(set.begin(), set.begin() + static_cast<std::ptrdiff_t>(i), set[i]);
      RunRequest request{.name = before == 0 ? workload.name
                                             : fmt::format("{}#{}", workload.name, before + 1)};
      request.command = workload.command;
      request.environment = options_.mps_environment;
      request.environment.insert(request.environment.end(), workload.environment.begin(),
                                 workload.environment.end());
      if (workload.gpu) {
        request.environment.emplace_back("CUDA_VISIBLE_DEVICES", std::to_string(*workload.gpu));
      }
      if (workload.sm_percent && set.size() > 1) {
        request.environment.emplace_back("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                                         std::to_string(*workload.sm_percent));
      }
      request.workload = workload.workload;
      request.cpus = shares[i];
      request.memory = workload.memory;
      request.throughput = workload.throughput;
      request.log = logs[i];
      out.push_back(RunSpecFor(request, options_.grid));
    }
    return out;
  }

  std::string LabelOf(const std::vector<std::size_t>& set, const std::string& how) const {
    std::vector<std::string> names;
    for (const std::size_t member : set) names.push_back(spec_.workloads[member].name);
    return set.size() == 1 ? fmt::format("{} {}", names[0], how)
                           : fmt::format("{}", fmt::join(names, " + "));
  }

  // Null: interrupted.
  core::Result<const JournalEntry*> RunSet(const std::vector<std::size_t>& set,
                                           const std::string& how) {
    const std::string key = KeyOfSet(set, how);
    const std::string label = LabelOf(set, how);
    if (const JournalEntry* known = journal_.Find(key);
        known != nullptr && (known->done || !options_.grid.retry)) {
      ++done_;
      ++from_before_;
      return known;
    }
    const auto started = Clock::now();
    std::vector<std::string> logs;
    for (std::size_t i = 0; i < set.size(); ++i) {
      auto log =
          FreshLog(options_.grid.folder, set.size() == 1 ? key : fmt::format("{}-{}", key, i));
      RETURN_IF_ERROR(log);
      logs.push_back(*std::move(log));
    }
    WatchOptions watch = WatchFor(spec_.measuring, options_.grid);
    watch.source = "colocate";
    watch.memory = spec_.memory;
    watch.line = [&](const WatchLine& line) { Tell(label, nullptr, &line); };
    JournalEntry entry{.key = key, .label = label};
    // By repeat, then by member.
    std::vector<std::vector<core::ProfileRecord>> records(set.size());
    const auto specs = SpecsFor(set, logs);
    for (int r = 0; r < spec_.measuring.repeat && entry.why.empty(); ++r) {
      auto watched = options_.grid.run(specs, watch);
      if (!watched) {
        if (watched.error().kind != core::ErrorKind::kUsage) return tl::unexpected(watched.error());
        entry.why = watched.error().message;
        break;
      }
      if (watched->interrupted) return nullptr;
      for (std::size_t i = 0; i < set.size(); ++i) {
        if (const auto failure = FailureOf(watched->records[i], logs[i],
                                           watched->memory_killed.contains(specs[i].name));
            failure && entry.why.empty()) {
          entry.why = fmt::format("{}: {}", specs[i].name, failure->why);
          entry.out_of_memory = failure->out_of_memory;
        }
        records[i].push_back(std::move(watched->records[i]));
      }
    }
    RETURN_IF_ERROR(Keep(entry, records, set.size() == 1));
    ++done_;
    ++run_;
    ran_ += core::Seconds(std::chrono::duration<double>(Clock::now() - started).count());
    const JournalEntry* kept = journal_.Find(key);
    Tell(label, kept, nullptr);
    return kept;
  }

  // Profiles are of workloads alone: only those go into the store.
  core::Result<void> Keep(JournalEntry& entry,
                          const std::vector<std::vector<core::ProfileRecord>>& records,
                          bool alone) {
    entry.done = entry.why.empty();
    entry.time = platform::UnixNow();
    for (const auto& repeats : records) {
      if (!entry.done) break;
      core::ProfileRecord record = repeats.size() == 1 ? repeats.front() : MergeRepeats(repeats);
      if (alone && options_.grid.store != nullptr) {
        const auto id = options_.grid.store->Save(record);
        RETURN_IF_ERROR(id);
        record.id = *id;
      }
      entry.runs.push_back(SummaryOf(record));
    }
    return journal_.Append(entry);
  }

  void Tell(const std::string& label, const JournalEntry* ended, const WatchLine* line) const {
    if (!options_.grid.progress) return;
    GridProgress progress{.done = done_, .of = of_, .label = label};
    progress.ended = ended != nullptr;
    progress.entry = ended;
    progress.line = line;
    if (run_ > 0) {
      progress.left =
          ran_ / static_cast<double>(run_) * static_cast<double>(of_ - std::min(of_, done_));
    }
    options_.grid.progress(progress);
  }

  void AddNotes(ColocateResult& result) const {
    if (result.gpu.empty()) {
      result.notes.emplace_back(
          "no GPU: what is measured is the host, so that pairs.csv is not for `simulate`");
    } else if (!result.mps) {
      result.notes.emplace_back("time-sliced, not under CUDA MPS: `simulate` takes MPS rows only");
    }
    if (crowded_) {
      result.notes.emplace_back("some sets ask for more CPUs than there are: they share them");
    }
    if (from_before_ > 0 && run_ > 0) {
      result.notes.push_back(fmt::format(
          "{} of {} runs are of an earlier sitting; give another --out to measure all in one",
          from_before_, of_));
    }
  }

  const ColocateSpec& spec_;
  const ColocateOptions& options_;
  Journal& journal_;
  std::size_t done_ = 0, of_ = 0, run_ = 0, from_before_ = 0;
  core::Seconds ran_;
  mutable bool crowded_ = false;
};

}  // namespace

core::Result<ColocateResult> Colocate(const ColocateSpec& spec, const ColocateOptions& options) {
  if (spec.cpus && static_cast<std::size_t>(*spec.cpus) > options.grid.cpus.size()) {
    return core::UsageError("a set would have {} CPUs, and there are {}; lower `cpus`", *spec.cpus,
                            options.grid.cpus.size());
  }
  const auto places = platform::CpuPlaces(options.grid.cpus);
  for (const ColocatedWorkload& workload : spec.workloads) {
    const auto there = static_cast<int>(
        std::count_if(places.begin(), places.end(), [&](const platform::CpuPlace& place) {
          return !workload.numa_node || place.node == *workload.numa_node;
        }));
    if (there == 0) {
      return core::UsageError(
          "{}: NUMA node {} has no CPU that may be used; `lscpu` lists the nodes", workload.name,
          *workload.numa_node);
    }
    const int most = std::min(there, spec.cpus.value_or(there));
    if (workload.cpus && *workload.cpus > most) {
      return core::UsageError("{} asks for {} CPUs, and there are {}; lower its `cpus`",
                              workload.name, *workload.cpus, most);
    }
    if (workload.gpu && static_cast<std::size_t>(*workload.gpu) >= options.grid.gpus.size()) {
      return core::UsageError("{} asks for GPU {}, and there are {}; they are counted from 0",
                              workload.name, *workload.gpu, options.grid.gpus.size());
    }
    if (workload.sm_percent && !options.mps) {
      return core::UsageError(
          "{} is to have {} % of the SMs, which CUDA MPS keeps it to, and there is none here",
          workload.name, *workload.sm_percent);
    }
  }
  auto journal = Journal::Open(options.grid.folder);
  RETURN_IF_ERROR(journal);
  return Colocator(spec, options, **journal).Run();
}

}  // namespace sharewell::measure
