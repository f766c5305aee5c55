#include "cli/commands/slurm/history.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/text/quoted.h"
#include "engine/slurm/read/slurm_driver.h"
#include "trace/sacct.h"

namespace sharewell::cli {
namespace {

// A year of a large site takes sacct minutes.
constexpr core::Seconds kSacctPatience{600};

}  // namespace

core::Result<std::string> AskSacct(const std::string& since, const std::string& before,
                                   const std::string& partition) {
  std::vector<std::string> words{"sacct",
                                 "--allusers",
                                 "--duplicates",
                                 "--noconvert",
                                 "--parsable2",
                                 "--starttime=" + since,
                                 fmt::format("--format={}", trace::kSacctFields)};
  if (!before.empty()) words.push_back("--endtime=" + before);
  if (!partition.empty()) words.push_back("--partition=" + partition);
  auto answer = engine::NewCommandDriver()->Run(words, "", kSacctPatience);
  RETURN_IF_ERROR(answer);
  if (answer->exit_code != 0 || answer->output.empty()) {
    while (answer->errors.ends_with('\n')) answer->errors.pop_back();
    return tl::unexpected(core::Error{
        core::ErrorKind::kAbsent,
        fmt::format("sacct ended with exit code {}{}; where Slurm keeps no accounting, import a "
                    "file that a machine with accounting has made",
                    answer->exit_code,
                    answer->errors.empty() ? "" : " and said " + core::QuotedEnd(answer->errors))});
  }
  return std::move(answer->output);
}

}  // namespace sharewell::cli
