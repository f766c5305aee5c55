#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "cli/args/values.h"
#include "cli/commands/commands.h"
#include "cli/commands/report/report_pages.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "core/version.h"
#include "platform/clock/wall_clock.h"
#include "platform/files/write_file.h"
#include "report/measure/series.h"
#include "report/simulation/simulation_csv.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;

constexpr std::uint64_t kMostDays = 366;
constexpr std::size_t kMostFileName = 60;

struct ReportKind {
  const char* name;
  std::size_t words;  // that stand behind it
  const char* takes;  // what they are
  Result<std::string> (*page)(const ReportFlags& flags);
};

constexpr std::array<ReportKind, 6> kReportKinds = {{
    {"job", 1, "a job's number", JobReportPage},
    {"profile", 1, "the id or the name of a profile", ProfilePage},
    {"compare", 2, "the ids or the names of two profiles", ComparePage},
    {"simulation", 1, "the folder that `sharewell simulate --out DIR` wrote", SimulationFolderPage},
    {"sweep", 1, "the folder that `sharewell sweep --out DIR` wrote", SweepFolderPage},
    {"week", 0, "", WeekPage},
}};

std::string KindNames() {
  std::string names;
  for (const ReportKind& kind : kReportKinds) {
    names += fmt::format("{}{}", names.empty() ? "" : "|", kind.name);
  }
  return names;
}

Result<const ReportKind*> FindKind(const std::string& name) {
  std::vector<std::string> known;
  for (const ReportKind& kind : kReportKinds) {
    if (name == kind.name) return &kind;
    known.emplace_back(kind.name);
  }
  return UsageError("report: {} is not allowed; give {}{}", core::Quoted(name),
                    fmt::join(known, ", "), core::DidYouMean(name, known));
}

// "report-profile-resnet50.html".
std::string FileNameOf(const ReportFlags& flags) {
  std::string name = "report-" + flags.kind;
  for (const std::string& word : flags.words) {
    std::filesystem::path path(word);
    if (!path.has_filename()) path = path.parent_path();  // "results/"
    const std::string last = path.filename().string();
    name += "-" + report::FileNamePart(last.substr(0, kMostFileName));
  }
  return name + ".html";
}

class ReportCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("kind", flags_.kind, "what to report on")->type_name(KindNames())->required();
    app.add_option("what", flags_.words, "an id, a name, a folder or a job's number, by the kind")
        ->type_name("WHAT");
    app.add_option("--out", out_, "the file to write, or a folder for it")->type_name("FILE");
    app.add_option("--store", flags_.store, "a file, or postgresql://USER@HOST/DATABASE")
        ->type_name("FILE");
    app.add_option("--server", flags_.server,
                   "job and week: the server's socket or URL (default: the one of this machine)")
        ->type_name("PATH|URL");
    app.add_option("--days", days_, "week: how many days to look back (default 7)")->type_name("N");
  }

  Result<ExitCode> Run() override {
    const auto kind = FindKind(flags_.kind);
    RETURN_IF_ERROR(kind);
    if (flags_.words.size() != (*kind)->words) {
      return (*kind)->words == 0
                 ? UsageError("report {}: nothing may stand behind it", flags_.kind)
                 : UsageError("report {}: give {}, and nothing else", flags_.kind, (*kind)->takes);
    }
    if (!days_.empty()) {
      if (flags_.kind != "week") return UsageError("report: --days is for week");
      const auto days = ParseWhole("--days", days_, 1, kMostDays);
      RETURN_IF_ERROR(days);
      flags_.days = static_cast<int>(*days);
    }
    flags_.made = fmt::format("Made by sharewell {} on {} UTC.", core::kVersion,
                              report::UtcTime(platform::UnixNow()));
    const auto page = (*kind)->page(flags_);
    RETURN_IF_ERROR(page);
    std::error_code error;
    std::filesystem::path file = out_.empty() ? FileNameOf(flags_) : out_;
    if (std::filesystem::is_directory(file, error)) file /= FileNameOf(flags_);
    RETURN_IF_ERROR(platform::WriteFile(file.string(), *page));
    RETURN_IF_ERROR(WriteOut(fmt::format("written to {}\n", file.string())));
    return kOk;
  }

 private:
  ReportFlags flags_;
  std::string out_, days_;
};

}  // namespace

std::unique_ptr<Command> NewReportCommand() { return std::make_unique<ReportCommand>(); }

}  // namespace sharewell::cli
