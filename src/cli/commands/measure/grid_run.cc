#include "cli/commands/measure/grid_run.h"

#include <fmt/format.h>

#include "cli/args/out_folder.h"
#include "cli/args/store_flag.h"
#include "core/result.h"
#include "platform/process/cpu_set.h"
#include "report/text/format.h"

namespace sharewell::cli {
namespace {

std::string Rates(const measure::JournalEntry& entry) {
  std::string text;
  for (const measure::RunSummary& run : entry.runs) {
    const auto& rate = run.profile.steps_per_second;
    if (!text.empty()) text += " and ";
    text += rate ? fmt::format("{:.4g} steps/s", *rate) : "no steps reported";
    if (run.uncertainty) text += fmt::format(" ± {}", report::Percent(*run.uncertainty));
  }
  return text;
}

}  // namespace

void GridRun::AddFlags(CLI::App& app) {
  app.add_option("spec", spec_, "what to run")->type_name("SPEC")->required();
  app.add_option("--out", folder_, "folder for the results, where a second run continues")
      ->type_name("DIR");
  app.add_option("--store", store_, "a file, or postgresql://USER@HOST/DATABASE")
      ->type_name("FILE|none");
  app.add_flag("--retry", retry_, "run again what failed before")->disable_flag_override();
  auto* dry = app.add_flag("--dry-run", dry_run_, "list what would be run, and run nothing")
                  ->disable_flag_override();
  app.add_flag("--json", json_, "print JSON")->disable_flag_override()->excludes(dry);
}

core::Result<void> GridRun::Prepare(const std::string& name, const char* ending) {
  if (folder_.empty()) folder_ = fmt::format("{}-{}", name, ending);
  if (auto ok = CheckOutFolder(folder_); !ok) return ok;
  if (store_ != "none") {
    auto opened = store::Open(StorePlace(store_));
    if (!opened) {
      core::Error error = opened.error();
      error.message += "; --store none does without";
      return tl::unexpected(std::move(error));
    }
    opened_ = *std::move(opened);
  }
  options_.folder = folder_;
  options_.retry = retry_;
  options_.store = opened_.get();
  options_.watch = measure::WatchHere();
  // One for all cells: an interrupt between two of them is not lost, and ends the next one.
  world_ = measure::ThisMachine();
  options_.watch.world = world_.get();
  options_.run = measure::Watch;
  options_.cpus = platform::AllowedCpus();
  // No GPU is no error: then CPU jobs are measured.
  if (auto gpus = collect::FindGpus(collect::GivenNvmlLibrary())) options_.gpus = *std::move(gpus);
  bar_ = std::make_unique<ProgressBar>();
  options_.progress = [this](const measure::GridProgress& progress) { Show(progress); };
  return {};
}

void GridRun::Show(const measure::GridProgress& progress) {
  const std::string left = progress.left && progress.done < progress.of
                               ? fmt::format(", about {} left", report::Duration(*progress.left))
                               : std::string();
  if (!progress.ended) {
    bar_->Show(fmt::format("{}{}", progress.label, left), progress.done, progress.of);
    return;
  }
  bar_->Clear();
  const measure::JournalEntry& entry = *progress.entry;
  WriteErr(fmt::format("[{}/{}] {}: {}{}\n", progress.done, progress.of, progress.label,
                       entry.done ? Rates(entry) : "failed: " + entry.why, left));
}

void GridRun::TellHowToResume(const char* command) const {
  WriteErr(fmt::format(
      "interrupted; what is finished is kept. Continue with: sharewell {} {} --out {}\n", command,
      spec_, folder_));
}

core::Result<ExitCode> GridRun::Finish(const std::string& text, bool interrupted,
                                       bool failures) const {
  RETURN_IF_ERROR(WriteOut(text));
  return interrupted ? kInterrupted : failures ? kFinishedWithFailures : kOk;
}

}  // namespace sharewell::cli
