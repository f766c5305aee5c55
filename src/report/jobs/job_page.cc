// One job's page.
#include <fmt/format.h>

#include <algorithm>

#include "core/sm_share.h"
#include "core/text/words.h"
#include "report/jobs/job_tables.h"
#include "report/measure/series.h"
#include "report/text/format.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using core::JobRecord;

constexpr std::size_t kLabel = 12;

// "  label        text", wrapped.
void JobLine(std::string& out, std::string_view label, const std::string& text, std::size_t width) {
  if (text.empty()) return;
  out += fmt::format("  {:{}}{}\n", label, kLabel, Wrapped(text, width, kLabel + 2, kLabel + 2));
}

// As a shell would read it back.
std::string CommandLine(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("_-./=:,+@%^").find(c) != std::string_view::npos;
    });
    if (plain) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return PlainText(text);
}

std::string AskedInWords(const core::Submission& asked) {
  std::vector<std::string> parts;
  parts.push_back(asked.gpus == 0 ? std::string("no GPU")
                                  : core::Count(static_cast<std::uint64_t>(asked.gpus), "GPU"));
  if (!asked.gpu_models.empty()) {
    parts.back() += PlainText(fmt::format(" of {}", fmt::join(asked.gpu_models, " or ")));
  }
  parts.push_back(asked.cores ? core::Cores(*asked.cores) : "cores as it needs");
  if (asked.gpu_memory) parts.push_back(Size(*asked.gpu_memory) + " of GPU memory");
  if (asked.memory) parts.push_back(Size(*asked.memory) + " of memory at most");
  if (asked.exclusive) parts.emplace_back("its GPUs alone");
  if (asked.max_slowdown) parts.push_back("maximum slowdown " + Times(*asked.max_slowdown));
  if (asked.sm_share) parts.push_back(core::ShareInWords(*asked.sm_share));
  if (asked.latency_sensitive) parts.emplace_back("its kernels before those of its neighbours");
  if (asked.no_guests) parts.emplace_back("no guests beside it");
  if (asked.priority != 0) parts.push_back(fmt::format("priority {}", asked.priority));
  if (asked.time_limit) parts.push_back(Duration(*asked.time_limit) + " at most");
  if (!asked.image.empty()) parts.push_back("image " + PlainText(asked.image));
  if (!asked.after.empty()) parts.push_back(fmt::format("after {}", fmt::join(asked.after, ", ")));
  if (!asked.watch) parts.emplace_back("not watched from inside");
  if (!asked.requeue) parts.emplace_back("never started again after a reboot or a lost GPU");
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Values may be secrets; the JSON has them for who may see them.
std::string NamesOfEnvironment(const core::Submission& asked) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : asked.environment) names.push_back(name);
  std::sort(names.begin(), names.end());
  return PlainText(fmt::format("{}", fmt::join(names, ", ")));
}

std::string GivenInWords(const JobRecord& job) {
  std::string text = job.cores > 0 ? core::Cores(job.cores) : "";
  if (job.sm_share >= 1) return text;
  return text + (text.empty() ? "" : ", ") + core::ShareInWords(job.sm_share);
}

// What was believed, beside what came of it.
std::string Figures(const JobRecord& job, core::UnixMillis now) {
  Table table({{"", Align::kLeft}, {"believed", Align::kRight}, {"seen", Align::kRight}});
  const core::Profile& p = job.believed.profile;
  const auto row = [&](const char* name, const std::optional<std::string>& believed,
                       const std::optional<std::string>& seen, bool always = false) {
    if (believed || seen || always) {
      table.Row({name, believed.value_or(kUnknown), seen.value_or(kUnknown)});
    }
  };
  const auto shown = [](const auto& value, auto write) -> std::optional<std::string> {
    return value ? std::optional<std::string>(write(*value)) : std::nullopt;
  };
  const auto number = [](double v) { return Number(v, v < 10 ? 2 : 1); };
  row("steps/s", shown(p.steps_per_second, number), shown(job.steps_per_second, number),
      job.steps.has_value());
  row("steps/s alone", std::nullopt,
      shown(job.alone, [&](const core::SeenRate& rate) { return number(rate.steps_per_second); }));
  row("slowdown", shown(job.asked.max_slowdown, [](double v) { return "<= " + Times(v); }),
      shown(job.slowdown, Times));
  row("steps", std::nullopt, shown(job.steps, [](double v) { return Number(v, 0); }));
  row("time", shown(job.believed.duration, Duration), shown(RanFor(job, now), Duration));
  row("time alone", std::nullopt, shown(job.alone_time, Duration));
  const core::SeenFigures& seen = job.seen;
  const auto watts = [](core::Watts w) { return Number(w.value, 0) + " W"; };
  row("CPU cores", shown(p.cpu_cores, number), shown(seen.cores, number));
  row("GPU busy", shown(p.busy, Percent), shown(seen.busy, Percent));
  row("SM activity", shown(p.sm, Percent), shown(seen.sm, Percent));
  row("GPU memory", shown(p.gpu_memory, Size), shown(seen.gpu_memory, Size));
  row("at most", shown(job.believed.gpu_memory_upper, Size), std::nullopt);
  row("memory", shown(p.host_memory, Size), shown(seen.host_memory, Size));
  row("power", shown(p.power, watts), shown(seen.power, watts));
  std::string out;
  const std::string all = table.Text();
  std::string_view text = all;
  if (std::count(text.begin(), text.end(), '\n') <= 2) return {};  // headings alone
  while (!text.empty()) {
    const auto end = text.find('\n');
    out += fmt::format("  {}\n", text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return out;
}

// Nothing is said of neighbours where nobody has seen how fast it is alone.
std::string PaceInWords(const JobRecord& job) {
  const std::string slower = core::SlowerInWords(job);
  return slower.empty() ? "" : slower + "; how fast it is alone has not been seen";
}

// Who counts its steps, and what it told of them.
void PutTold(std::string& out, const JobRecord& job, std::size_t width) {
  if (job.steps_by) {
    JobLine(out, "steps",
            *job.steps_by == core::StepsBy::kWatcher ? "counted by the watcher inside of it"
                                                     : "told by the job itself (report_step)",
            width);
  }
  if (!job.told) return;
  const std::string facts = PlainText(core::InWords(*job.told));
  JobLine(out, "trains", facts.empty() ? "" : facts + " (told by the job itself)", width);
  if (!job.told->not_predicted.empty()) {
    JobLine(out, "", "its step could not be predicted: " + PlainText(job.told->not_predicted),
            width);
  }
}

// "loss 0.412, told by the job at step 1200"
void PutMetrics(std::string& out, const core::JobMetrics& metrics, std::size_t width) {
  for (const core::JobMetric& metric : metrics.all()) {
    const core::ToldMetric& last = metric.last;
    const bool first = &metric == &metrics.all().front();
    JobLine(out, first ? "metrics" : "",
            fmt::format("{} {:.4g}, told by the job{}", last.name, last.value,
                        last.step ? fmt::format(" at step {}", *last.step) : ""),
            width);
  }
}

std::string Ago(core::UnixMillis time, core::UnixMillis now) {
  return fmt::format("{} UTC, {} ago", UtcTime(time),
                     Duration(core::Seconds(
                         static_cast<double>(std::max<core::UnixMillis>(now - time, 0)) / 1e3)));
}

}  // namespace

std::string JobPage(const JobRecord& job, core::UnixMillis now, std::size_t width,
                    const core::JobMetrics& metrics) {
  std::string out =
      fmt::format("job {}  {}\n", job.number, PlainText(core::DisplayName(job.asked)));
  JobLine(out, "state", StateInWords(job, now), width);
  const bool stopping = job.phase == core::Phase::kStopping;  // the line above says why
  if (HasItsPlace(job) && !stopping) JobLine(out, "why", PlainText(job.reason), width);
  JobLine(out, "note", PlainText(job.note), width);
  JobLine(out, "command", CommandLine(job.asked.command), width);
  JobLine(out, "folder", PlainText(job.asked.folder), width);
  JobLine(out, "user", PlainText(fmt::format("{}, uid {}", job.user.name, job.user.uid)), width);
  if (!job.asked.project.empty()) JobLine(out, "project", PlainText(job.asked.project), width);
  JobLine(out, "environment", NamesOfEnvironment(job.asked), width);
  JobLine(out, "asked", AskedInWords(job.asked), width);
  if (job.asked.time_limit && job.limit_extended.value >= 1) {
    JobLine(out, "limit",
            fmt::format("{}, extended by {} because it shared", Duration(*job.asked.time_limit),
                        Duration(job.limit_extended)),
            width);
  }
  JobLine(out, "submitted", Ago(job.submitted, now), width);
  if (job.started) JobLine(out, "started", Ago(*job.started, now), width);
  if (job.attempt > 1) {
    JobLine(out, "attempts",
            fmt::format(
                "{}, of them {} out of GPU memory or failed with its neighbours, and {} evicted",
                job.attempt, job.ooms, job.evicted),
            width);
  }
  if (job.ended) JobLine(out, "ended", Ago(*job.ended, now), width);
  if (core::IsOver(job.phase) && !job.gpus.empty()) {
    JobLine(out, "ran on", GpusInWords(job.gpus), width);
  }
  if (job.attempt > 0) JobLine(out, "given", GivenInWords(job), width);
  if (HasItsPlace(job)) JobLine(out, "guest", core::GuestInWords(job), width);
  PutTold(out, job, width);
  PutMetrics(out, metrics, width);
  JobLine(out, "needs", NeedsInWords(job.believed), width);
  JobLine(out, "pace", PaceInWords(job), width);
  if (job.attempt == 0) return out;  // what is believed stands above
  if (const std::string figures = Figures(job, now); !figures.empty()) out += "\n" + figures;
  return out;
}

}  // namespace sharewell::report
