#include "report/jobs/job_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "core/text/words.h"
#include "report/jobs/job_grid.h"
#include "report/text/fitted.h"
#include "report/text/format.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using core::JobRecord;
using core::Phase;

constexpr std::size_t kWideTerminal = 120;  // there a simulated GPU says so in its row
constexpr std::size_t kMostGpus = 4;        // of a row; of more their number is shown
constexpr std::size_t kMostReasons = 8;     // below the list

// "running"; of an array "3 running, 7 waiting".
std::string StateCell(const JobRow& row) {
  std::map<Phase, std::size_t> of_phase;
  std::size_t paused = 0;
  for (const JobRecord* job : row) {
    const bool waits = job->phase == Phase::kHeld || job->phase == Phase::kWaiting;
    if (job->paused && waits) {
      ++paused;
    } else {
      ++of_phase[job->phase];
    }
  }
  std::vector<std::string> parts;
  const auto part = [&](std::size_t count, std::string_view state) {
    if (count == 0) return;
    parts.push_back(row.size() == 1 ? std::string(state) : fmt::format("{} {}", count, state));
  };
  // Those on their places first.
  for (const Phase phase : {Phase::kRunning, Phase::kStarting, Phase::kStopping, Phase::kWaiting,
                            Phase::kHeld, Phase::kFinished, Phase::kFailed, Phase::kCancelled}) {
    part(of_phase[phase], core::NameOf(phase));
  }
  part(paused, "paused");
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool IsSimulated(const JobRecord& job) {
  return !job.gpus.empty() && job.gpus[0].uuid.starts_with("simulated-");
}

std::string GpuCell(const JobRow& row, std::size_t width) {
  std::vector<std::string> names;
  bool none = true, simulated = false;
  for (const JobRecord* job : row) {
    none = none && job->gpus.empty() && job->asked.gpus == 0;
    simulated = simulated || IsSimulated(*job);
    for (const core::GivenGpu& gpu : job->gpus) {
      if (std::find(names.begin(), names.end(), GpuName(gpu)) == names.end()) {
        names.push_back(GpuName(gpu));
      }
    }
  }
  if (names.empty()) return none ? "none" : "";
  const std::string text = names.size() > kMostGpus ? core::Count(names.size(), "GPU")
                                                    : fmt::format("{}", fmt::join(names, ","));
  return text + (simulated && width >= kWideTerminal ? " (simulated)" : "");
}

// The longest of them; absent: none has one.
template <class Figure>
std::optional<double> MostOf(const JobRow& row, Figure figure) {
  std::optional<double> most;
  for (const JobRecord* job : row) {
    const std::optional<double> its = figure(*job);
    if (its && (!most || *its > *most)) most = its;
  }
  return most;
}

std::string WaitedCell(const JobRow& row, core::UnixMillis now) {
  const auto waited = MostOf(row, [&](const JobRecord& job) -> std::optional<double> {
    const core::UnixMillis end = job.started.value_or(job.ended.value_or(now));
    return static_cast<double>(std::max<core::UnixMillis>(end - job.submitted, 0)) / 1e3;
  });
  return Duration(core::Seconds(*waited));
}

// Of the next of them.
std::string StartCell(const JobRow& row, core::UnixMillis now) {
  const auto ahead = MostOf(row, [&](const JobRecord& job) -> std::optional<double> {
    if (!job.expected_start) return std::nullopt;
    return static_cast<double>(now - *job.expected_start) / 1e3;
  });
  if (!ahead) return "";
  return *ahead > -1 ? "soon" : About(core::Seconds(-*ahead));
}

std::string RanCell(const JobRow& row, core::UnixMillis now) {
  const auto ran = MostOf(row, [&](const JobRecord& job) -> std::optional<double> {
    const auto its = RanFor(job, now);
    return its ? std::optional(its->value) : std::nullopt;
  });
  return ran ? Duration(core::Seconds(*ran)) : "";
}

double CoresOf(const JobRow& row) {
  double cores = 0;
  for (const JobRecord* job : row) cores += job->cores;
  return cores;
}

std::string WhyCell(const JobRecord& job) {
  std::string text;
  if (core::IsOver(job.phase)) {
    if (job.phase == Phase::kFailed && job.exit_code) {
      text = fmt::format("exit code {}", *job.exit_code);
    }
  } else {
    text = PlainText(job.reason);
  }
  if (job.note.empty()) return text;
  return text + (text.empty() ? "" : "; ") + PlainText(job.note);
}

std::string RateCell(const JobRecord& job) {
  return Or(job.steps_per_second, [](double v) { return Number(v, v < 10 ? 2 : 1); });
}

// "job 19: 26 % slower than predicted"; a line, or nothing.
std::string SlowerLine(const JobRecord& job) {
  const std::string slower = core::SlowerInWords(job);
  return slower.empty() ? "" : fmt::format("job {}: {}\n", job.number, slower);
}

// Its share of the SMs is worth a word.
bool IsBounded(const JobRecord& job) { return job.sm_share < 1 || job.guest_memory; }

std::string ShareOfSms(const JobRecord& job) {
  return fmt::format("{}{:.3g} %", job.guest_memory ? "guest " : "", job.sm_share * 100);
}

std::string GpuState(const GpuNow& gpu) {
  if (!gpu.problem.empty()) return PlainText(gpu.problem);
  if (gpu.drained) return "drained";
  if (!gpu.jobs.empty()) return "";
  const bool busy = std::any_of(gpu.strangers.begin(), gpu.strangers.end(),
                                [](const StrangerNow& one) { return one.busy; });
  return busy ? "not ours" : "idle";
}

// What its row may have no room for; a line, or nothing.
std::string ProblemLine(const GpuNow& gpu) {
  if (gpu.problem.empty()) return {};
  return fmt::format("GPU {}: {}\n", GpuName(gpu.gpu), PlainText(gpu.problem));
}

// "GPU 0: other processes: 12.3 GB, pid 4242 of ann, busy"; a line, or nothing.
std::string StrangersLine(const GpuNow& gpu) {
  if (gpu.strangers.empty()) return {};
  core::Bytes memory;
  std::string who;
  for (const StrangerNow& one : gpu.strangers) {
    memory += one.memory;
    who += fmt::format(", pid {} of {}{}", one.pid, PlainText(one.user), one.busy ? ", busy" : "");
  }
  return fmt::format("GPU {}: other processes: {}{}\n", GpuName(gpu.gpu), Size(memory), who);
}

std::string MemoryCell(const GpuNow& gpu) {
  if (!gpu.memory) return gpu.memory_used ? Size(*gpu.memory_used) : kUnknown;
  return gpu.memory_used ? SizeOf(*gpu.memory_used, *gpu.memory) : Size(*gpu.memory);
}

}  // namespace

std::optional<core::Ratio> SpeedAgainstAlone(const JobRecord& job) {
  return job.slowdown && *job.slowdown > 0 ? std::optional(1 / *job.slowdown) : std::nullopt;
}

void PutNeighbours(std::vector<JobRecord>& jobs, const std::vector<GpuNow>& gpus) {
  for (JobRecord& job : jobs) {
    if (!HasItsPlace(job)) continue;
    std::set<std::int64_t> beside;
    for (const GpuNow& gpu : gpus) {
      const bool on = std::any_of(job.gpus.begin(), job.gpus.end(),
                                  [&](const core::GivenGpu& g) { return g.uuid == gpu.gpu.uuid; });
      if (on) beside.insert(gpu.jobs.begin(), gpu.jobs.end());
    }
    beside.erase(job.number);
    job.beside.assign(beside.begin(), beside.end());
  }
}

std::string JobsTable(const std::vector<JobRecord>& jobs, core::UnixMillis now, std::size_t width,
                      bool flat) {
  std::vector<const JobRecord*> all;
  for (const JobRecord& job : jobs) all.push_back(&job);
  const std::vector<JobRow> rows = JobRowsOf(all, flat);
  const std::vector<std::string> names = JobNamesOf(rows);
  JobGrid grid({{"job", Align::kRight},
                {"name", Align::kLeft},
                {"user", Align::kLeft, 1},
                {"state", Align::kLeft},
                {"GPU", Align::kLeft, 2},
                {"beside", Align::kLeft, 6},
                {"SMs", Align::kRight, 10},
                {"cores", Align::kRight, 9},
                {"steps/s", Align::kRight, 5},
                {"slowdown", Align::kRight, 7},
                {"waited", Align::kRight, 8},
                {"starts in", Align::kRight, 4},
                {"ran", Align::kRight, 3}},
               1);
  // Where no rate is known, a column of dashes would say nothing.
  const bool rates =
      std::any_of(jobs.begin(), jobs.end(), [](const auto& job) { return job.steps_per_second; });
  std::vector<std::pair<JobRow, std::string>> texts, of_running;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const JobRow& row = rows[i];
    const JobRecord& job = *row[0];
    const bool one = row.size() == 1;  // what is of one job alone is not shown of many
    grid.Row({JobNumbersInWords(row), names[i], PlainText(job.user.name), StateCell(row),
              GpuCell(row, width), one ? fmt::format("{}", fmt::join(job.beside, ",")) : "",
              one && IsBounded(job) ? ShareOfSms(job) : "",
              CoresOf(row) > 0 ? fmt::format("{:g}", CoresOf(row)) : "",
              one && rates && job.attempt > 0 ? RateCell(job) : "",
              one && job.slowdown ? Times(*job.slowdown) : "", WaitedCell(row, now),
              StartCell(row, now), RanCell(row, now)});
    for (const JobRecord* each : row) {
      auto& said = each->phase == Phase::kRunning && each->note.empty() ? of_running : texts;
      said.push_back({{each}, WhyCell(*each)});
    }
  }
  // Why others wait or failed is looked for first.
  texts.insert(texts.end(), of_running.begin(), of_running.end());
  std::string out = grid.Text(width);
  const std::string reasons = SaidOnce(texts, width, kMostReasons);
  if (!reasons.empty()) out += "\n" + reasons;
  if (width < kWideTerminal && std::any_of(jobs.begin(), jobs.end(), IsSimulated)) {
    out += "\nThe GPUs are simulated.\n";
  }
  return out;
}

namespace {

// Who runs on GPUs that the server does not have since its last start. They run on, and count.
std::vector<const JobRecord*> JobsElsewhere(const std::vector<JobRecord>& running,
                                            const std::vector<GpuNow>& gpus) {
  std::vector<const JobRecord*> elsewhere;
  for (const JobRecord& job : running) {
    const bool here = std::any_of(gpus.begin(), gpus.end(), [&](const GpuNow& gpu) {
      return std::any_of(job.gpus.begin(), job.gpus.end(),
                         [&](const core::GivenGpu& given) { return given.uuid == gpu.gpu.uuid; });
    });
    if (!here && !job.gpus.empty() && HasItsPlace(job)) elsewhere.push_back(&job);
  }
  return elsewhere;
}

}  // namespace

namespace {

std::string TopHeading(const NodeNow& node, const std::map<std::string, std::int64_t>& counts,
                       bool simulated, std::size_t width) {
  std::vector<std::string> facts = {"policy " + PlainText(node.policy)};
  if (node.cores) {
    facts.push_back(fmt::format("{:g} of {:g} {}cores given", node.cores_given.value_or(0),
                                *node.cores, node.simulated_cores ? "simulated " : ""));
  }
  for (const auto& [phase, count] : counts) {
    const auto known = core::PhaseNamed(phase);
    if (count > 0)
      facts.push_back(fmt::format("{} {}", count, known ? core::NameOf(*known) : phase));
  }
  if (simulated && width < kWideTerminal) facts.emplace_back("simulated GPUs");
  std::string out =
      Wrapped(fmt::format("{}: {}", PlainText(node.name), fmt::join(facts, ", ")), width, 2) + "\n";
  if (!node.store_up) {
    out += Wrapped("the store is down: " + PlainText(node.store_problem), width, 2) + "\n";
  }
  return out;
}

// The slowest of them; absent: of one it is not known.
std::optional<double> LeastSpeed(const JobRow& row) {
  std::optional<double> least = SpeedAgainstAlone(*row[0]);
  for (const JobRecord* job : row) {
    const auto its = SpeedAgainstAlone(*job);
    least = least && its ? std::optional(std::min(*least, *its)) : std::nullopt;
  }
  return least;
}

// What a GPU's first row begins with.
std::vector<std::string> GpuCells(const GpuNow& gpu, const std::vector<const JobRecord*>& on,
                                  std::size_t width) {
  std::optional<double> together = 0;
  for (const JobRecord* job : on) {
    const auto its = SpeedAgainstAlone(*job);
    together = together && its ? std::optional(*together + *its) : std::nullopt;
  }
  return {GpuName(gpu.gpu),
          PlainText(gpu.gpu.model) +
              (gpu.simulated && width >= kWideTerminal ? " (simulated)" : "") +
              (gpu.drained && !on.empty() ? ", drained" : ""),
          Or(gpu.busy, Percent),
          MemoryCell(gpu),
          gpu.power ? Number(gpu.power->value, 0) + " W" : kUnknown,
          on.size() > 1 && together ? Times(*together) : ""};
}

}  // namespace

std::string TopPage(const NodeNow& node, const std::vector<GpuNow>& gpus,
                    const std::vector<JobRecord>& running,
                    const std::map<std::string, std::int64_t>& counts, core::UnixMillis now,
                    std::size_t width, const JobsShown& shown) {
  // Where nobody has less than all of the SMs, there is nothing to say of them.
  const bool narrower = std::any_of(running.begin(), running.end(), IsBounded);
  JobGrid grid({{"GPU", Align::kRight},
                {"model", Align::kLeft, 3},
                {"busy", Align::kRight},
                {"memory", Align::kRight, 4},
                {"power", Align::kRight, 9},
                {"together", Align::kRight, 7},
                {"job", Align::kRight},
                {"name", Align::kLeft},
                {"user", Align::kLeft, 1},
                {"speed", Align::kRight, 2},
                {"steps/s", Align::kRight, 5},
                {"cores", Align::kRight, 8},
                {"ran", Align::kRight, 6},
                {"SMs", Align::kRight, 10}},
               7);
  const auto put = [&](std::vector<std::string> head, const std::vector<const JobRecord*>& on) {
    const std::vector<JobRow> rows = JobRowsOf(on, shown.flat);
    const std::vector<std::string> names = JobNamesOf(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const JobRow& row = rows[i];
      const JobRecord& job = *row[0];
      std::vector<std::string> cells = head;
      cells.insert(cells.end(),
                   {JobNumbersInWords(row), names[i], PlainText(job.user.name),
                    Or(LeastSpeed(row), Percent), row.size() == 1 ? RateCell(job) : "",
                    fmt::format("{:g}", CoresOf(row)), RanCell(row, now),
                    narrower && !job.gpus.empty() && row.size() == 1 ? ShareOfSms(job) : ""});
      grid.Row(std::move(cells));
      std::fill(head.begin(), head.end(), "");
    }
  };
  std::string others;
  for (const GpuNow& gpu : gpus) {
    std::vector<const JobRecord*> all, on;
    for (const JobRecord& job : running) {
      if (std::find(gpu.jobs.begin(), gpu.jobs.end(), job.number) == gpu.jobs.end()) continue;
      all.push_back(&job);
      if (shown.Takes(job)) on.push_back(&job);
    }
    if (on.empty() && !shown.TakesAll()) continue;
    others += ProblemLine(gpu) + StrangersLine(gpu);
    std::vector<std::string> head = GpuCells(gpu, all, width);
    if (!on.empty()) {
      put(std::move(head), on);
      continue;
    }
    head.insert(head.end(), {"", GpuState(gpu), "", "", "", "", "", ""});
    grid.Row(std::move(head));
  }
  const auto rest = [&](const char* where, const std::vector<const JobRecord*>& jobs) {
    std::vector<const JobRecord*> on;
    std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(on),
                 [&](const JobRecord* job) { return shown.Takes(*job); });
    if (!on.empty()) put({"-", where, "", "", "", ""}, on);
  };
  std::vector<const JobRecord*> without;
  for (const JobRecord& job : running) {
    if (job.gpus.empty() && HasItsPlace(job)) without.push_back(&job);
  }
  rest("CPU only", without);
  rest("a GPU not here now", JobsElsewhere(running, gpus));
  for (const JobRecord& job : running) {
    if (shown.Takes(job)) others += SlowerLine(job);
  }
  const bool simulated =
      std::any_of(gpus.begin(), gpus.end(), [](const GpuNow& gpu) { return gpu.simulated; });
  return TopHeading(node, counts, simulated, width) + "\n" + grid.Text(width) +
         Fitted(others, width);
}

}  // namespace sharewell::report
