#include "research/reproduce/reproduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/args/values.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/suggest.h"
#include "core/version.h"
#include "platform/files/embedded.h"
#include "platform/files/text.h"
#include "platform/files/write_file.h"
#include "research/commands/commands.h"
#include "research/pages/experiments.h"
#include "research/pages/papers_report.h"
#include "research/pages/reproduce_page.h"

namespace sharewell::research {
namespace {

constexpr const char* kAll = "all";
constexpr std::uint64_t kMostSeeds = 10000;
constexpr std::uint64_t kPageSeeds = 20;

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const std::string_view name : ExperimentNames()) names.emplace_back(name);
  names.emplace_back(kAll);
  return names;
}

class ReproduceCommand : public cli::Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("experiment", experiment_, "the paper, by its first author")
        ->type_name(fmt::format("{}", fmt::join(Names(), "|")))
        ->capture_default_str();
    app.add_option("--seeds", seeds_, "number of random draws that each figure averages")
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--real", real_,
                   "with yeung: records of a mix run on a real machine, one a policy")
        ->type_name("FILE,...")
        ->delimiter(',');
    app.add_flag("--frontier", frontier_,
                 "with yeung: the makespan over the slowdown bound, with shares of the SMs and "
                 "without")
        ->disable_flag_override();
    app.add_option("--part", part_,
                   "with yeung: its predictor by learner (half a minute, in the repository), or "
                   "the distance from the optimum with co-location")
        ->type_name("predictor|optimum");
    auto* json = app.add_flag("--json", json_, "print JSON")->disable_flag_override();
    auto* page =
        app.add_flag("--page", page_,
                     "with all: print docs/reproduce.md, from what the program carries alone")
            ->disable_flag_override()
            ->excludes(json);
    app.add_option("--html", html_, "write one page of HTML with all of it")
        ->type_name("FILE")
        ->excludes(json)
        ->excludes(page);
  }

  core::Result<cli::ExitCode> Run() override {
    const auto known = Names();
    if (std::find(known.begin(), known.end(), experiment_) == known.end()) {
      return core::UsageError("reproduce: {} is not allowed; give one of {}{}",
                              platform::Quoted(experiment_), fmt::join(known, ", "),
                              core::DidYouMean(experiment_, known));
    }
    const auto seeds = cli::ParseWhole("--seeds", seeds_, 1, kMostSeeds);
    RETURN_IF_ERROR(seeds);
    if (!real_.empty() && experiment_ != "yeung") {
      return core::UsageError("--real goes with yeung: sharewell-lab reproduce yeung --real FILE");
    }
    if (frontier_ && experiment_ != "yeung") {
      return core::UsageError(
          "--frontier goes with yeung: sharewell-lab reproduce yeung --frontier");
    }
    if (page_ && experiment_ != kAll) {
      return core::UsageError(
          "--page is of all papers: sharewell-lab reproduce all --page > docs/reproduce.md");
    }
    if (page_ && *seeds != kPageSeeds) {
      return core::UsageError("--page has figures of {} seeds: leave --seeds out", kPageSeeds);
    }
    if (!part_.empty() && experiment_ != "yeung") {
      return core::UsageError("--part goes with yeung: sharewell-lab reproduce yeung --part {}",
                              platform::Quoted(part_));
    }
    std::vector<Experiment> experiments;
    cli::ProgressBar bar;
    ReproduceOptions options;
    options.seeds = static_cast<int>(*seeds);
    options.real = real_;
    options.frontier = frontier_;
    options.own_data_only = page_;
    options.part = part_;
    for (const std::string& name : known) {
      if (name == kAll || (experiment_ != kAll && experiment_ != name)) continue;
      options.progress = [&](std::string_view what, std::size_t done, std::size_t of) {
        bar.Show(fmt::format("{}: {}", name, what), done, of);
      };
      auto experiment = Reproduce(name, options);
      RETURN_IF_ERROR(experiment);
      experiments.push_back(std::move(*experiment));
    }
    bar.Clear();
    if (page_) {
      const auto page = ExperimentsPage(experiments, platform::EmbeddedReproducePage());
      RETURN_IF_ERROR(page);
      RETURN_IF_ERROR(cli::WriteOut(*page));
      return cli::kOk;
    }
    if (!html_.empty()) {
      const std::string made = fmt::format("Made by sharewell {}.", core::kVersion);
      RETURN_IF_ERROR(platform::WriteFile(html_, PapersPage(experiments, made)));
      RETURN_IF_ERROR(cli::WriteOut(fmt::format("written to {}\n", html_)));
      return cli::kOk;
    }
    RETURN_IF_ERROR(
        cli::WriteOut(json_ ? ExperimentsJson(experiments) : ExperimentsTable(experiments)));
    return cli::kOk;
  }

 private:
  std::string experiment_ = kAll;
  std::string seeds_ = "20";
  std::vector<std::string> real_;
  bool frontier_ = false;
  std::string part_, html_;
  bool json_ = false;
  bool page_ = false;
};

}  // namespace

std::unique_ptr<cli::Command> NewReproduceCommand() { return std::make_unique<ReproduceCommand>(); }

}  // namespace sharewell::research
