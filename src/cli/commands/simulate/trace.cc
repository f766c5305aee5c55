#include <fmt/format.h>

#include "cli/args/values.h"
#include "cli/commands/commands.h"
#include "cli/commands/slurm/history.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "core/text/words.h"
#include "platform/files/mapped_file.h"
#include "platform/files/write_file.h"
#include "trace/csv.h"
#include "trace/kube_pods.h"
#include "trace/sacct.h"

namespace sharewell::cli {
namespace {

using core::Quoted;
using core::Result;
using core::UsageError;

// "2026-01-01" or "2026-01-01T12:00:00": what sacct takes, and nothing that it would guess at.
Result<void> CheckDate(const char* flag, const std::string& text) {
  const auto digits = [&](std::size_t at, std::size_t size) {
    return text.size() >= at + size && text.find_first_not_of("0123456789", at) >= at + size;
  };
  const bool day = text.size() >= 10 && digits(0, 4) && text[4] == '-' && digits(5, 2) &&
                   text[7] == '-' && digits(8, 2);
  const bool time = text.size() == 19 && text[10] == 'T' && digits(11, 2) && text[13] == ':' &&
                    digits(14, 2) && text[16] == ':' && digits(17, 2);
  if (day && (text.size() == 10 || time)) return {};
  return UsageError("{}: {} is not allowed; give a date such as 2026-01-01", flag, Quoted(text));
}

class TraceCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("action", action_, "what to do")->type_name("import")->required();
    app.add_option("format", format_, "source: Slurm's accounting, or a dump of a cluster's pods")
        ->type_name("sacct|kubernetes")
        ->required();
    app.add_option("from", from_,
                   "what `sacct --parsable2` printed (without it, --since asks sacct), or `kubectl "
                   "get pods -A -o json`")
        ->type_name("FILE");
    app.add_option("--since", since_, "run sacct here, for all jobs since this day: 2026-01-01")
        ->type_name("DATE");
    app.add_option("--before", before_, "with --since: until this day (default: now)")
        ->type_name("DATE");
    app.add_option("--partition", partition_, "only jobs of this partition")->type_name("NAME");
    app.add_option("--namespace", name_space_, "with kubernetes: only pods of this namespace")
        ->type_name("NAME");
    app.add_option("--out", out_, "write the trace there (default: print it)")->type_name("FILE");
  }

  Result<ExitCode> Run() override {
    RETURN_IF_ERROR(CheckFlags());
    auto text = from_.empty() ? AskSacct(since_, before_, partition_) : ReadFile();
    RETURN_IF_ERROR(text);
    const std::string name = from_.empty() ? "sacct" : from_;
    const auto trace = format_ == "kubernetes" ? trace::ReadKubePods(*text, name, name_space_)
                                               : trace::ReadSacct(*text, name, partition_);
    RETURN_IF_ERROR(trace);
    const std::string csv = trace::WriteCsv(*trace);
    if (out_.empty()) {
      RETURN_IF_ERROR(WriteOut(csv));
    } else {
      RETURN_IF_ERROR(platform::WriteFile(out_, csv));
    }
    SayLine(fmt::format("{}: {}", name, core::Count(trace->jobs.size(), "job")));
    for (const std::string& remark : trace->remarks) SayLine("note: " + remark);
    if (!out_.empty()) {
      SayLine(
          fmt::format("wrote {}; see what would have changed: sharewell whatif --trace {} "
                      "--cluster CLUSTER",
                      out_, out_));
    }
    return kOk;
  }

 private:
  Result<void> CheckFlags() {
    if (action_ != "import") {
      return UsageError("trace: {} is not allowed; give import{}", Quoted(action_),
                        core::DidYouMean(action_, std::vector<std::string>{"import"}));
    }
    if (format_ != "sacct" && format_ != "kubernetes") {
      return UsageError(
          "trace: {} cannot be imported; give sacct or kubernetes{}. Public traces need no import: "
          "`sharewell simulate --trace FILE` reads them",
          Quoted(format_),
          core::DidYouMean(format_, std::vector<std::string>{"sacct", "kubernetes"}));
    }
    if (format_ == "kubernetes") {
      if (!since_.empty() || !before_.empty() || !partition_.empty()) {
        return UsageError("trace: --since, --before and --partition are for sacct");
      }
      if (!from_.empty()) return {};
      return UsageError("trace: give a file, made with: kubectl get pods -A -o json > FILE");
    }
    if (!name_space_.empty()) return UsageError("trace: --namespace is for kubernetes");
    if (from_.empty() == since_.empty()) {
      return UsageError(
          "trace: give a file, or --since to ask sacct here; a file is made with: sacct --allusers "
          "--duplicates --noconvert --parsable2 --starttime=2026-01-01 --format={} > FILE",
          trace::kSacctFields);
    }
    if (since_.empty() && !before_.empty()) return UsageError("trace: --before needs --since");
    if (!since_.empty()) {
      RETURN_IF_ERROR(CheckDate("--since", since_));
    }
    if (!before_.empty()) {
      RETURN_IF_ERROR(CheckDate("--before", before_));
    }
    return {};
  }

  Result<std::string> ReadFile() const {
    const auto file = platform::MappedFile::Open(from_);
    RETURN_IF_ERROR(file);
    return std::string(file->text());
  }

  std::string action_, format_, from_, since_, before_, partition_, name_space_, out_;
};

}  // namespace

std::unique_ptr<Command> NewTraceCommand() { return std::make_unique<TraceCommand>(); }

}  // namespace sharewell::cli
