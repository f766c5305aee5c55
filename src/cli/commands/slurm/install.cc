#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "cli/commands/commands.h"
#include "cli/commands/slurm/preview.h"
#include "cli/commands/slurm/site.h"
#include "cli/commands/slurm/try_site.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "engine/slurm/site/site_install.h"
#include "platform/files/embedded.h"
#include "platform/process/user_account.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;

constexpr std::size_t kSiteWidth = 100;

std::string SiteText(const std::vector<engine::SiteFinding>& findings,
                     const std::string& partition) {
  std::size_t longest = 0;
  for (const auto& finding : findings) {
    longest = std::max(longest, report::DisplayWidth(finding.name));
  }
  const std::size_t indent = 9 + longest + 2;
  std::string out;
  for (const auto& finding : findings) {
    const std::string pad(longest - report::DisplayWidth(finding.name), ' ');
    out += fmt::format("{:7}  {}{}  {}\n", engine::SiteStateWord(finding.state), finding.name, pad,
                       report::Wrapped(finding.what, kSiteWidth, indent, indent));
    // On a line of its own and never broken, so that it can be copied.
    if (!finding.mend.empty()) out += fmt::format("         mend: {}\n", finding.mend);
  }
  if (!engine::IsReady(findings)) {
    return out + "\nThis cluster is not ready yet; docs/slurm.md leads through it.\n";
  }
  return out + fmt::format("\nThis cluster is ready: sharewell serve --engine slurm{}{}\n",
                           partition.empty() ? "" : " --partition ", partition);
}

std::string SiteJson(const std::vector<engine::SiteFinding>& findings) {
  return report::JsonReport([&](json::Writer& out) {
    out.Field("ready", engine::IsReady(findings));
    out.List("findings", findings, [&](const engine::SiteFinding& finding) {
      out.Object([&] {
        out.Field("name", finding.name);
        out.Field("state", engine::SiteStateWord(finding.state));
        out.Field("what", finding.what);
        out.TextOrNull("mend", finding.mend);
      });
    });
  });
}

class SlurmCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("action", action_, "what to do")->type_name("check|install|preview")->required();
    app.add_option("--partition", partition_, "the partition that Sharewell places jobs in")
        ->type_name("NAME");
    app.add_flag("--print", print_, "install: print the script; nothing is changed")
        ->disable_flag_override();
    app.add_flag("--try", try_,
                 "install: have a slurmctld of its own read the changed configuration first")
        ->disable_flag_override();
    app.add_option("--user", user_, "install: the user that `sharewell serve` runs as, beside root")
        ->type_name("USER");
    app.add_option("--state", state_, "install: the server's folder, where it leaves a heartbeat")
        ->type_name("DIR");
    app.add_flag("--hold-cpu-jobs", hold_cpu_jobs_,
                 "install: also place jobs that ask for no GPU, beside training jobs")
        ->disable_flag_override();
    app.add_option("--gpu-catalogue", catalogue_, "GPU models of your own, added to ours")
        ->type_name("FILE");
    app.add_option("--days", preview_.days, "preview: how many days to look back (default 7)")
        ->type_name("N");
    app.add_option(
           "--out", preview_.out,
           "preview: the folder for the history and the cluster (default sharewell-preview)")
        ->type_name("DIR");
    app.add_flag("--json", json_, "check, preview: print JSON")->disable_flag_override();
  }

  Result<ExitCode> Run() override {
    const std::vector<std::string> actions = {"check", "install", "preview"};
    if (std::find(actions.begin(), actions.end(), action_) == actions.end()) {
      return UsageError("slurm: {} is not allowed; give check, install or preview{}",
                        core::Quoted(action_), core::DidYouMean(action_, actions));
    }
    if (!std::all_of(partition_.begin(), partition_.end(), [](char c) {
          return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ||
                 c == '.';
        })) {
      return UsageError("--partition: {} is no name of a partition; give one of `sinfo -h -o %R`",
                        core::Quoted(partition_));
    }
    auto catalogue = catalogue::GpuCatalogue::Builtin();
    if (!catalogue_.empty()) RETURN_IF_ERROR(catalogue.Extend(catalogue_));
    const auto driver = engine::NewCommandDriver();
    const engine::SlurmSite site = FindSlurmSite(*driver, partition_);
    if (!partition_.empty() && site.reached && site.partitions.count(partition_) == 0) {
      return UsageError("--partition: Slurm has no partition {}; `sinfo -h -o %R` lists them",
                        core::Quoted(partition_));
    }
    if (action_ == "preview") {
      preview_.partition = partition_;
      preview_.gpu_catalogue = catalogue_;
      preview_.json = json_;
      return PreviewSite(preview_, site, catalogue);
    }
    return action_ == "check" ? Check(site, catalogue) : Install(site, catalogue);
  }

 private:
  Result<ExitCode> Check(const engine::SlurmSite& site, const catalogue::GpuCatalogue& catalogue) {
    const auto findings = engine::CheckSlurmSite(
        site, [&](const std::string& feature) { return catalogue.Find(feature).has_value(); });
    RETURN_IF_ERROR(WriteOut(json_ ? SiteJson(findings) : SiteText(findings, partition_)));
    return engine::IsReady(findings) ? kOk : kFailed;
  }

  Result<ExitCode> Install(const engine::SlurmSite& site,
                           const catalogue::GpuCatalogue& catalogue) {
    if (!print_ && !try_) {
      return UsageError(
          "slurm install: give --print; the script it prints is to be read, and run by an admin");
    }
    std::error_code error;
    if (!site.unreadable.empty() && std::filesystem::is_regular_file(site.conf, error)) {
      return core::FailedError("slurm install: {}", site.unreadable);
    }
    if (!site.conf_there()) {
      return tl::unexpected(core::Error{
          core::ErrorKind::kAbsent,
          fmt::format("slurm install: {} cannot be read; run this on the machine of slurmctld, or "
                      "name the file in SLURM_CONF",
                      core::Quoted(site.conf))});
    }
    engine::InstallOptions options;
    options.partition = partition_;
    options.folder = std::filesystem::path(site.conf).parent_path().string();
    options.hold_cpu_jobs = hold_cpu_jobs_;
    if (!state_.empty()) options.state = state_;
    std::vector<std::string> paths = {options.folder, options.state};
    for (const auto& [path, text] : site.slurm.files) paths.push_back(path);
    for (const auto& [path, text] : site.gres.files) paths.push_back(path);
    for (const std::string& text : paths) {
      if (text.find_first_of("'\"\\$`\n |&#()*?[]{};<>") != std::string::npos) {
        return UsageError("slurm install: {} cannot stand in a script; use a plain path",
                          core::Quoted(text));
      }
    }
    if (!user_.empty()) {
      const auto account = platform::UserNamed(user_);
      if (!account) {
        return UsageError("--user: there is no user {} on this machine", core::Quoted(user_));
      }
      if (account->uid != 0) options.schedulers.push_back(account->uid);
    }
    // Slurm lets its own account change any job; the watchdog may run as it.
    if (const auto slurm = site.config.find("SlurmUser"); slurm != site.config.end()) {
      const std::string name = slurm->second.substr(0, slurm->second.find('('));
      const auto account = platform::UserNamed(name);
      const auto& there = options.schedulers;
      if (account && std::find(there.begin(), there.end(), account->uid) == there.end()) {
        options.schedulers.push_back(account->uid);
      }
    }
    const auto model = [&](const std::string& type) {
      const auto found = catalogue.Find(type);
      return found ? found->name : std::string();
    };
    const auto change = engine::ChangeSite(site.slurm, site.gres, options, model);
    if (!change) {
      return core::FailedError("slurm install: {}; nothing was changed", change.error().message);
    }
    const std::string nodes = engine::HostList(change->nodes);
    if (!std::all_of(nodes.begin(), nodes.end(), [](char c) {
          return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                 std::string_view("._-,[]").find(c) != std::string_view::npos;
        })) {
      return core::FailedError(
          "slurm install: {} cannot stand in a script; names of nodes have "
          "letters, digits, dots and dashes",
          core::Quoted(nodes));
    }
    if (try_) {
      const auto tried = Try(site, options, *change);
      RETURN_IF_ERROR(tried);
      if (!*tried) return kFailed;
    }
    if (!print_) return kOk;
    RETURN_IF_ERROR(
        WriteOut(engine::InstallScript(site,
                                       {.lua = platform::EmbeddedSlurmLua(),
                                        .cli_filter = platform::EmbeddedSlurmCliFilter(),
                                        .prolog = platform::EmbeddedSlurmProlog(),
                                        .epilog = platform::EmbeddedSlurmEpilog(),
                                        .task_prolog = platform::EmbeddedSlurmTaskProlog(),
                                        .watchdog = platform::EmbeddedSlurmWatchdog()},
                                       options, *change)));
    return kOk;
  }

  // What it said goes to stderr, so that the script can go to a file.
  Result<bool> Try(const engine::SlurmSite& site, const engine::InstallOptions& options,
                   const engine::SiteChange& change) {
    const auto changed = engine::ChangedConf(site.slurm, change);
    RETURN_IF_ERROR(changed);
    const bool own = !site.lua.empty() && site.lua.find("sharewell1") == std::string::npos;
    const auto driver = engine::NewCommandDriver();
    const auto report =
        TrySite(*driver, *changed, change,
                own ? site.lua : engine::LuaFor(platform::EmbeddedSlurmLua(), options));
    RETURN_IF_ERROR(report);
    fmt::print(stderr, "{}", report->text);
    return report->accepted;
  }

  std::string action_, partition_, user_, state_, catalogue_;
  PreviewFlags preview_;
  bool print_ = false, try_ = false, hold_cpu_jobs_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewSlurmCommand() { return std::make_unique<SlurmCommand>(); }

}  // namespace sharewell::cli
