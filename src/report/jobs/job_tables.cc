#include "report/jobs/job_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/text/words.h"
#include "report/text/format.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using core::JobRecord;
using core::Phase;

constexpr std::size_t kMostName = 28;
constexpr std::size_t kLeastWhy = 12;

std::string StateCell(const JobRecord& job) {
  const bool waits = job.phase == Phase::kHeld || job.phase == Phase::kWaiting;
  return job.paused && waits ? "paused" : std::string(core::NameOf(job.phase));
}

std::string GpuCell(const JobRecord& job) {
  if (job.gpus.empty()) return job.asked.gpus == 0 ? "none" : "";
  std::string text;
  for (const core::GivenGpu& gpu : job.gpus) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", GpuName(gpu));
  }
  return text + (job.gpus[0].uuid.starts_with("simulated-") ? " (simulated)" : "");
}

std::string WaitedCell(const JobRecord& job, core::UnixMillis now) {
  const core::UnixMillis end = job.started.value_or(job.ended.value_or(now));
  return Duration(
      core::Seconds(static_cast<double>(std::max<core::UnixMillis>(end - job.submitted, 0)) / 1e3));
}

std::string StartCell(const JobRecord& job, core::UnixMillis now) {
  if (!job.expected_start) return "";
  const double seconds = static_cast<double>(*job.expected_start - now) / 1e3;
  return seconds < 1 ? "soon" : About(core::Seconds(seconds));
}

std::string RanCell(const JobRecord& job, core::UnixMillis now) {
  const auto ran = RanFor(job, now);
  return ran ? Duration(*ran) : "";
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
  return gpu.memory_used ? Size(*gpu.memory_used) + " of " + Size(*gpu.memory) : Size(*gpu.memory);
}

}  // namespace

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

std::string JobsTable(const std::vector<JobRecord>& jobs, core::UnixMillis now, std::size_t width) {
  using Columns = std::vector<std::pair<std::string, Align>>;
  const Columns all = {
      {"job", Align::kRight},      {"name", Align::kLeft},    {"user", Align::kLeft},
      {"state", Align::kLeft},     {"GPU", Align::kLeft},     {"beside", Align::kLeft},
      {"SMs", Align::kRight},      {"cores", Align::kRight},  {"steps/s", Align::kRight},
      {"slowdown", Align::kRight}, {"waited", Align::kRight}, {"starts in", Align::kRight},
      {"ran", Align::kRight}};
  std::vector<std::vector<std::string>> cells;
  for (const JobRecord& job : jobs) {
    cells.push_back(
        {fmt::format("{}", job.number), CutTo(PlainText(core::DisplayName(job.asked)), kMostName),
         PlainText(job.user.name), StateCell(job), GpuCell(job),
         fmt::format("{}", fmt::join(job.beside, ",")), IsBounded(job) ? ShareOfSms(job) : "",
         job.cores > 0 ? fmt::format("{:g}", job.cores) : "", job.attempt > 0 ? RateCell(job) : "",
         job.slowdown ? Times(*job.slowdown) : "", WaitedCell(job, now), StartCell(job, now),
         RanCell(job, now)});
  }
  // A column that says nothing of any job only takes room from the reasons.
  Columns columns;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool says = std::any_of(cells.begin(), cells.end(), [&](const auto& row) {
      return !row[i].empty() && row[i] != kUnknown;
    });
    if (!says) continue;
    columns.push_back(all[i]);
    kept.push_back(i);
  }
  std::vector<std::vector<std::string>> rows;
  Table narrow(columns);
  for (auto& row : cells) {
    rows.emplace_back();
    for (const std::size_t i : kept) rows.back().push_back(std::move(row[i]));
    narrow.Row(rows.back());
  }
  const std::size_t left = width > narrow.Width() + 2 ? width - narrow.Width() - 2 : 0;
  if (std::all_of(jobs.begin(), jobs.end(),
                  [](const JobRecord& j) { return WhyCell(j).empty(); })) {
    return narrow.Text();
  }
  columns.emplace_back("why", Align::kLeft);
  Table table(columns);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    rows[i].push_back(CutTo(WhyCell(jobs[i]), std::max(left, kLeastWhy)));
    table.Row(std::move(rows[i]));
  }
  return table.Text();
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

std::string TopPage(const NodeNow& node, const std::vector<GpuNow>& gpus,
                    const std::vector<JobRecord>& running,
                    const std::map<std::string, std::int64_t>& counts, core::UnixMillis now,
                    std::size_t width) {
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
  std::string out =
      Wrapped(fmt::format("{}: {}", PlainText(node.name), fmt::join(facts, ", ")), width, 2) + "\n";
  if (!node.store_up) {
    out += Wrapped("the store is down: " + PlainText(node.store_problem), width, 2) + "\n";
  }
  // Where nobody has less than all of the SMs, there is nothing to say of them.
  const bool narrower = std::any_of(running.begin(), running.end(), IsBounded);
  std::vector<std::pair<std::string, Align>> columns = {
      {"GPU", Align::kRight},    {"model", Align::kLeft},    {"busy", Align::kRight},
      {"memory", Align::kRight}, {"power", Align::kRight},   {"together", Align::kRight},
      {"job", Align::kRight},    {"name", Align::kLeft},     {"user", Align::kLeft},
      {"speed", Align::kRight},  {"steps/s", Align::kRight}, {"cores", Align::kRight},
      {"ran", Align::kRight}};
  if (narrower) columns.emplace_back("SMs", Align::kRight);
  Table table(columns);
  const auto speed = [](const JobRecord& job) {
    return job.slowdown && *job.slowdown > 0 ? std::optional(1 / *job.slowdown) : std::nullopt;
  };
  const auto rows = [&](std::vector<std::string> head, const std::vector<const JobRecord*>& on,
                        const std::string& state) {
    if (on.empty()) {
      head.insert(head.end(), {"", state, "", "", "", "", ""});
      if (narrower) head.emplace_back();
      return table.Row(std::move(head));
    }
    for (const JobRecord* job : on) {
      std::vector<std::string> row = head;
      row.insert(row.end(), {fmt::format("{}", job->number),
                             CutTo(PlainText(core::DisplayName(job->asked)), kMostName),
                             PlainText(job->user.name), Or(speed(*job), Percent), RateCell(*job),
                             fmt::format("{:g}", job->cores), RanCell(*job, now)});
      if (narrower) row.push_back(job->gpus.empty() ? "" : ShareOfSms(*job));
      table.Row(std::move(row));
      std::fill(head.begin(), head.end(), "");
    }
  };
  std::string others;
  for (const GpuNow& gpu : gpus) {
    others += StrangersLine(gpu);
    std::vector<const JobRecord*> on;
    std::optional<double> together = 0;
    for (const JobRecord& job : running) {
      if (std::find(gpu.jobs.begin(), gpu.jobs.end(), job.number) == gpu.jobs.end()) continue;
      on.push_back(&job);
      const auto its = speed(job);
      together = together && its ? std::optional(*together + *its) : std::nullopt;
    }
    const std::string state = GpuState(gpu);
    rows({GpuName(gpu.gpu),
          PlainText(gpu.gpu.model) + (gpu.simulated ? " (simulated)" : "") +
              (gpu.drained && !on.empty() ? ", drained" : ""),
          Or(gpu.busy, Percent), MemoryCell(gpu),
          gpu.power ? Number(gpu.power->value, 0) + " W" : kUnknown,
          on.size() > 1 && together ? Times(*together) : ""},
         on, state);
  }
  std::vector<const JobRecord*> without;
  for (const JobRecord& job : running) {
    if (job.gpus.empty() && HasItsPlace(job)) without.push_back(&job);
  }
  if (!without.empty()) rows({"-", "CPU only", "", "", "", ""}, without, "");
  const auto elsewhere = JobsElsewhere(running, gpus);
  if (!elsewhere.empty()) rows({"-", "a GPU not here now", "", "", "", ""}, elsewhere, "");
  for (const JobRecord& job : running) others += SlowerLine(job);
  return out + "\n" + table.Text() + others;
}

}  // namespace sharewell::report
