#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/args/store_flag.h"
#include "cli/commands/commands.h"
#include "cli/commands/measure/named_profiles.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "core/text/words.h"
#include "platform/files/write_file.h"
#include "report/measure/profile_charts.h"
#include "report/measure/profile_compare.h"
#include "report/measure/profile_record.h"
#include "report/measure/profiles_list.h"
#include "report/text/json.h"
#include "store/store.h"

namespace sharewell::cli {
namespace {

using core::ProfileRecord;
using core::Result;
using core::UsageError;
using Records = std::vector<ProfileRecord>;

constexpr std::array<const char*, 6> kProfileActions = {"list",   "show", "compare",
                                                        "export", "plot", "delete"};
constexpr std::size_t kPlotPoints = 280;  // of a line: two pixels of a chart each

class ProfilesCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("action", action_, "what to do")
        ->type_name(fmt::format("{}", fmt::join(kProfileActions, "|")))
        ->capture_default_str();
    app.add_option("profiles", words_,
                   "ids or names of profiles (of several with one name the newest is shown)")
        ->type_name("ID|NAME");
    app.add_option("--gpu", gpu_, "only those measured on this GPU model")->type_name("GPU");
    app.add_option("--source", source_, "only those made by this: profile, sweep, colocate ...")
        ->type_name("WORD");
    app.add_option("--user", user_, "only those that jobs of this user left")->type_name("USER");
    app.add_option("--by", by_, "compare: each workload on all GPUs, or on all CPUs, side by side")
        ->type_name("gpu|cpu");
    app.add_option("--store", store_, "a file, or postgresql://USER@HOST/DATABASE")
        ->type_name("FILE");
    app.add_option("--out", out_, "export: write to this file; plot: write charts into this folder")
        ->type_name("PATH");
    app.add_flag("--yes", yes_, "delete: delete without asking")->disable_flag_override();
    auto* json = app.add_flag("--json", json_, "print JSON; export: everything that is known")
                     ->disable_flag_override();
    app.add_flag("--csv", csv_, "export: what `train` and `simulate --profiles` read (default)")
        ->disable_flag_override()
        ->excludes(json);
  }

  Result<ExitCode> Run() override {
    RETURN_IF_ERROR(CheckFlags());
    auto opened = OpenStoreThatIsThere(store_);
    RETURN_IF_ERROR(opened);
    opened_ = std::move(*opened);
    const auto text = action_ == "list"      ? List()
                      : action_ == "show"    ? Show()
                      : action_ == "compare" ? CompareThem()
                      : action_ == "export"  ? Export()
                      : action_ == "plot"    ? Plot()
                                             : Delete();
    RETURN_IF_ERROR(text);
    RETURN_IF_ERROR(json_ || action_ == "export" ? WriteOut(*text) : WriteText(*text));
    return kOk;
  }

 private:
  Result<void> CheckFlags() const {
    if (std::find(kProfileActions.begin(), kProfileActions.end(), action_) ==
        kProfileActions.end()) {
      const std::vector<std::string> known(kProfileActions.begin(), kProfileActions.end());
      return UsageError(
          "profiles: {} is not allowed; give list, show, compare, export, plot or delete{}",
          core::Quoted(action_), core::DidYouMean(action_, known));
    }
    if (!by_.empty() && by_ != "gpu" && by_ != "cpu") {
      return UsageError("--by: {} is not allowed; give gpu or cpu", core::Quoted(by_));
    }
    if (!by_.empty() && action_ != "compare") return UsageError("profiles: --by is for compare");
    if (csv_ && action_ != "export") return UsageError("profiles: --csv is for export");
    if (!out_.empty() && action_ != "export" && action_ != "plot") {
      return UsageError("profiles: --out is for export and plot");
    }
    if (action_ == "plot" && out_.empty()) {
      return UsageError("profiles: plot needs a folder for its charts: --out DIR");
    }
    const bool named = !words_.empty() || (action_ == "delete" && !user_.empty());
    if ((action_ == "show" || action_ == "plot" || action_ == "delete") && !named) {
      return UsageError("profiles: {} needs an id or a name; `sharewell profiles list` shows them",
                        action_);
    }
    if (action_ == "compare" && by_.empty() && words_.size() != 2) {
      return UsageError("profiles: compare needs two ids or names, or --by gpu, or --by cpu");
    }
    return {};
  }

  // Those that a word names, oldest first; at least one.
  Result<Records> Named(const std::string& word) {
    auto named = NamedProfiles(*opened_, word, Filter(), "profiles");
    RETURN_IF_ERROR(named);
    OfUser(*named);
    if (!named->empty()) return named;
    return UsageError(
        "profiles: jobs of {} left no profile {}; `sharewell profiles list` shows them",
        core::Quoted(user_), core::Quoted(word));
  }

  void OfUser(Records& records) const {
    if (user_.empty()) return;
    std::erase_if(records, [&](const ProfileRecord& record) { return record.user != user_; });
  }

  store::ProfileFilter Filter() const {
    store::ProfileFilter filter;
    if (!gpu_.empty()) filter.gpu = gpu_;
    if (!source_.empty()) filter.source = source_;
    return filter;
  }

  // Those that the words name, or all; oldest first.
  Result<Records> Chosen() {
    if (words_.empty()) {
      auto all = opened_->Profiles(Filter());
      if (!all) return all;
      OfUser(*all);
      SortByAge(*all);
      return all;
    }
    Records chosen;
    for (const std::string& word : words_) {
      auto found = Named(word);
      if (!found) return found;
      for (ProfileRecord& record : *found) {
        const bool twice = std::any_of(chosen.begin(), chosen.end(),
                                       [&](const ProfileRecord& r) { return r.id == record.id; });
        if (!twice) chosen.push_back(std::move(record));
      }
    }
    return chosen;
  }

  Result<std::string> List() {
    const auto chosen = Chosen();
    RETURN_IF_ERROR(chosen);
    if (json_) return report::ProfilesListJson(*chosen);
    if (chosen->empty())
      return std::string("No profiles; `sharewell profile -- COMMAND` makes one.\n");
    return report::ProfilesTable(*chosen);
  }

  Result<std::string> Show() {
    std::string text;
    Records newest;
    for (const std::string& word : words_) {
      auto found = Named(word);
      RETURN_IF_ERROR(found);
      newest.push_back(found->back());
      if (!text.empty()) text += "\n";
      text += report::ProfileRecordText(found->back());
      if (found->size() > 1) {
        text += fmt::format("\n{} profiles have this name; this is the newest, id {}.\n",
                            found->size(), found->back().id);
      }
    }
    return json_ ? report::ProfileRecordsJson(newest) : text;
  }

  Result<std::string> CompareThem() {
    if (!by_.empty()) {
      const auto chosen = Chosen();
      RETURN_IF_ERROR(chosen);
      const auto table = report::Compare(
          *chosen, by_ == "gpu" ? report::CompareBy::kGpu : report::CompareBy::kCpu);
      return json_ ? report::ComparisonJson(table) : report::ComparisonText(table);
    }
    const auto a = Named(words_[0]);
    RETURN_IF_ERROR(a);
    const auto b = Named(words_[1]);
    RETURN_IF_ERROR(b);
    return json_ ? report::ProfilePairJson(a->back(), b->back())
                 : report::ProfilePairText(a->back(), b->back());
  }

  Result<std::string> Export() {
    const auto chosen = Chosen();
    RETURN_IF_ERROR(chosen);
    std::string text;
    if (json_) {
      text = report::ProfileRecordsJson(*chosen);
    } else {
      auto csv = report::ProfilesCsv(*chosen);
      if (csv.without_gpu > 0) {
        WriteErr(fmt::format("left out {} without a GPU; --json has all\n",
                             core::Count(csv.without_gpu, "profile")));
      }
      if (csv.older > 0) {
        WriteErr(fmt::format("left out {}: the same workload has a newer one on the same GPU\n",
                             core::Count(csv.older, "profile")));
      }
      if (csv.rows == 0) return UsageError("profiles: no profile is left to export");
      text = std::move(csv.csv);
    }
    if (out_.empty()) return text;
    RETURN_IF_ERROR(platform::WriteFile(out_, text));
    return std::string();
  }

  // The machine's series that charts draw, over the run.
  Result<std::vector<report::SeriesRead>> SamplesOf(const ProfileRecord& record) {
    store::SeriesFilter filter;
    if (const std::string node = report::ProfileNode(record); !node.empty()) filter.node = node;
    const auto listed = opened_->List(filter);
    RETURN_IF_ERROR(listed);
    const store::TimeRange range = report::ProfileRange(record);
    std::vector<report::SeriesRead> series;
    for (const store::SeriesInfo& info : *listed) {
      if (!info.key.job.empty() || !report::IsInProfileCharts(info.key.metric)) continue;
      auto buckets = opened_->Chart(info.key, range, kPlotPoints);
      RETURN_IF_ERROR(buckets);
      series.push_back({info, range, kPlotPoints, std::move(*buckets), {}});
    }
    return series;
  }

  Result<std::string> Plot() {
    std::error_code failed;
    std::filesystem::create_directories(out_, failed);
    if (failed) {
      return core::FailedError("profiles: the folder {} could not be made: {}", core::Quoted(out_),
                               failed.message());
    }
    std::string text;
    std::vector<std::string> files;
    for (const std::string& word : words_) {
      const auto found = Named(word);
      RETURN_IF_ERROR(found);
      const ProfileRecord& record = found->back();
      const auto series = SamplesOf(record);
      RETURN_IF_ERROR(series);
      const auto drawn = report::DrawProfileCharts(record, *series);
      for (const report::ProfileChart& chart : drawn.charts) {
        files.push_back(
            (std::filesystem::path(out_) / fmt::format("{}-{}.svg", record.id, chart.name))
                .string());
        RETURN_IF_ERROR(platform::WriteFile(files.back(), chart.svg));
        text += files.back() + "\n";
      }
      for (const std::string& missing : drawn.missing) {
        WriteErr(fmt::format("profile {}: no samples of {}; `sharewell doctor` says why\n",
                             record.id, missing));
      }
    }
    return json_ ? report::ProfileChartFilesJson(files) : text;
  }

  Result<std::string> Delete() {
    const auto chosen = Chosen();
    RETURN_IF_ERROR(chosen);
    if (!yes_) {
      return UsageError("profiles: this would delete {}; give --yes to do it",
                        core::Count(chosen->size(), "profile"));
    }
    std::vector<std::int64_t> ids;
    for (const ProfileRecord& record : *chosen) ids.push_back(record.id);
    const auto removed = opened_->RemoveProfiles(ids);
    RETURN_IF_ERROR(removed);
    if (json_) {
      return report::JsonReport(
          [&](json::Writer& out) { out.Field("deleted_profiles", *removed); });
    }
    return fmt::format("{} deleted.\n",
                       core::Count(static_cast<std::uint64_t>(*removed), "profile"));
  }

  std::string action_ = "list";
  std::vector<std::string> words_;
  std::string gpu_, source_, user_, by_, store_, out_;
  bool yes_ = false;
  bool json_ = false;
  bool csv_ = false;
  std::unique_ptr<store::Store> opened_;
};

}  // namespace

std::unique_ptr<Command> NewProfilesCommand() { return std::make_unique<ProfilesCommand>(); }

}  // namespace sharewell::cli
