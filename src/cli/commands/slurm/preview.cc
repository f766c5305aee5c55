#include "cli/commands/slurm/preview.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "cli/args/values.h"
#include "cli/commands/simulate/switch_over_run.h"
#include "cli/commands/slurm/history.h"
#include "cli/terminal.h"
#include "core/text/quoted.h"
#include "core/text/words.h"
#include "engine/slurm/site/site_cluster.h"
#include "platform/clock/wall_clock.h"
#include "platform/files/write_file.h"
#include "report/simulation/switch_over.h"
#include "report/text/table.h"
#include "trace/csv.h"
#include "trace/sacct.h"

namespace sharewell::cli {
namespace {

using core::Result;

constexpr std::uint64_t kMostPreviewDays = 366;
// What the jobs do Slurm does not tell; so busy they may keep their GPUs.
constexpr std::array kBusyGuesses = {30, 60, 90};  // in per cent

std::string SacctTime(core::UnixMillis time) {
  const auto seconds = static_cast<std::time_t>(time / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return text.data();
}

Result<void> WriteHistory(const PreviewFlags& flags, std::uint64_t days, const std::string& file) {
  const core::UnixMillis since =
      platform::UnixNow() - static_cast<core::UnixMillis>(days) * 86'400'000;
  const auto text = AskSacct(SacctTime(since), "", flags.partition);
  RETURN_IF_ERROR(text);
  const auto trace = trace::ReadSacct(*text, "sacct", flags.partition);
  if (!trace) {
    return core::FailedError("slurm preview: of the last {} (--days N looks further back): {}",
                             core::Count(days, "day"), trace.error().message);
  }
  SayLine(fmt::format("sacct: {} of the last {}", core::Count(trace->jobs.size(), "job"),
                      core::Count(days, "day")));
  for (const std::string& remark : trace->remarks) SayLine("note: " + remark);
  return platform::WriteFile(file, trace::WriteCsv(*trace));
}

// The change of the mean completion time where every job keeps its GPU so busy.
Result<std::string> WhereBusier(SimulateFlags simulate) {
  std::string text =
      "Slurm does not tell what the jobs do, and how much they share hangs on that. The change of "
      "the mean completion time if each kept its GPU";
  const char* before = " ";
  for (const int busy : kBusyGuesses) {
    simulate.mix = fmt::format("busy:{}", busy / 100.0);
    const auto run = RunSwitchOver(simulate);
    RETURN_IF_ERROR(run);
    std::optional<double> change;
    if (!run->result.changes.empty()) change = run->result.changes.back().jct_mean;
    text += fmt::format("{}{} % busy: {}", before, busy,
                        change ? fmt::format("{:+.1f} %", 100 * *change) : "-");
    before = ", ";
  }
  return text + ".";
}

}  // namespace

Result<ExitCode> PreviewSite(const PreviewFlags& flags, const engine::SlurmSite& site,
                             const catalogue::GpuCatalogue& catalogue) {
  const auto days = ParseWhole("--days", flags.days, 1, kMostPreviewDays);
  RETURN_IF_ERROR(days);
  if (!site.reached) {
    return tl::unexpected(core::Error{
        core::ErrorKind::kAbsent,
        fmt::format("slurm preview: slurmctld does not answer{}; run this where squeue works",
                    site.unreached.empty() ? "" : ": " + core::QuotedEnd(site.unreached))});
  }
  const auto named = [&](std::string_view name) -> std::optional<engine::KnownGpuModel> {
    const auto found = catalogue.Find(std::string(name));
    if (!found) return std::nullopt;
    return engine::KnownGpuModel{found->name, {}};
  };
  const auto machines = engine::SiteClusterText(site.nodes, named);
  if (!machines) return core::FailedError("slurm preview: {}", machines.error().message);
  std::error_code error;
  std::filesystem::create_directories(flags.out, error);
  if (error) {
    return core::FailedError("--out: folder {} cannot be made: {}", core::Quoted(flags.out),
                             error.message());
  }
  SimulateFlags simulate;
  simulate.trace = flags.out + "/history.csv";
  simulate.cluster = flags.out + "/cluster.toml";
  simulate.policies = {"slot,sharewell"};
  if (!flags.gpu_catalogue.empty()) simulate.gpu_catalogue = flags.gpu_catalogue;
  RETURN_IF_ERROR(WriteHistory(flags, *days, simulate.trace));
  RETURN_IF_ERROR(platform::WriteFile(simulate.cluster, *machines));
  const auto run = RunSwitchOver(simulate);
  RETURN_IF_ERROR(run);
  if (flags.json) {
    RETURN_IF_ERROR(WriteOut(report::SwitchOverJson(run->report, run->result)));
    return run->ExitCodeOf();
  }
  const std::size_t width = OutWidth().value_or(100);
  const auto busier = WhereBusier(simulate);
  RETURN_IF_ERROR(busier);
  const std::string again =
      fmt::format("sharewell whatif --trace {} --cluster {}", simulate.trace, simulate.cluster);
  RETURN_IF_ERROR(WriteOut(report::SwitchOverText(run->report, run->result, width) + "\n" +
                           report::Wrapped(*busier, width, 0) +
                           "\n\nWith what you know of your jobs (--mix): " + again + "\n"));
  return run->ExitCodeOf();
}

}  // namespace sharewell::cli
