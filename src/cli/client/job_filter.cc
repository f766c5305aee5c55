#include "cli/client/job_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/job/job_record.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"

namespace sharewell::cli {
namespace {

std::vector<std::string> StateNames() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(core::Phase::kCancelled); ++i) {
    names.emplace_back(core::NameOf(static_cast<core::Phase>(i)));
  }
  return names;
}

}  // namespace

void JobFilterFlags::Add(CLI::App& app) {
  app.add_option("whose", whose_, "mine: list only your own jobs")->type_name("mine");
  app.add_option("--user", user_, "list only this user's jobs")->type_name("USER");
  app.add_option("--state", states_,
                 fmt::format("list only jobs in these states: {}", fmt::join(StateNames(), ", ")))
      ->type_name("STATE,...");
  app.add_flag("--flat", flat_, "list each job of an array in a row of its own")
      ->disable_flag_override();
}

core::Result<report::JobsShown> JobFilterFlags::Find(const ServerClient& client) const {
  report::JobsShown shown{.user = user_, .phases = {}, .flat = flat_};
  for (std::string_view rest = states_; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (name.empty()) continue;
    const auto phase = core::PhaseNamed(core::LowerCase(name));
    if (!phase) {
      const std::vector<std::string> names = StateNames();
      const std::string suggestion = core::DidYouMean(name, names);
      return core::UsageError("--state: {} is not a state of a job{} The states are {}",
                              core::Quoted(name), suggestion.empty() ? "." : suggestion,
                              fmt::join(names, ", "));
    }
    shown.phases.push_back(*phase);
  }
  if (whose_.empty()) return shown;
  if (whose_ != "mine") {
    return core::UsageError("{} is not \"mine\"; give --user {} for the jobs of that user",
                            core::Quoted(whose_), core::Quoted(whose_));
  }
  if (!user_.empty()) return core::UsageError("\"mine\" and --user exclude each other; give one");
  auto me = client.User();
  RETURN_IF_ERROR(me);
  shown.user = std::move(*me);
  return shown;
}

std::string JobsQuery(const report::JobsShown& shown) {
  std::vector<std::string> parts;
  std::vector<std::string_view> phases;
  for (const core::Phase phase : shown.phases) phases.push_back(core::NameOf(phase));
  if (!phases.empty()) parts.push_back(fmt::format("phase={}", fmt::join(phases, ",")));
  if (!shown.user.empty()) parts.push_back("user=" + QueryText(shown.user));
  return fmt::format("{}", fmt::join(parts, "&"));
}

}  // namespace sharewell::cli
