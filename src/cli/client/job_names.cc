#include "cli/client/job_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "core/text/quoted.h"
#include "core/text/suggest.h"

namespace sharewell::cli {
namespace {

using core::JobRecord;
using core::Result;
using core::UsageError;

constexpr std::size_t kMostSearched = 5000;  // the newest: a name is of what one works on now
constexpr std::size_t kMostListed = 10;      // numbers in a message

constexpr std::int64_t kMostNamed = 10'000;  // jobs that one range names

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "17" or "71-370", whether or not there are such jobs.
bool LooksLikeNumbers(std::string_view text) {
  const auto dash = text.find('-');
  return IsDigits(text.substr(0, dash)) &&
         (dash == std::string_view::npos || IsDigits(text.substr(dash + 1)));
}

Result<void> AddNumbers(std::string_view text, std::set<std::int64_t>& numbers) {
  const auto dash = text.find('-');
  const auto first = ParseJob(text.substr(0, dash));
  RETURN_IF_ERROR(first);
  const auto last = dash == std::string_view::npos ? first : ParseJob(text.substr(dash + 1));
  RETURN_IF_ERROR(last);
  if (*last < *first || *last - *first >= kMostNamed) {
    return UsageError("{}: give a range as 71-370, of at most {} jobs", core::Quoted(text),
                      kMostNamed);
  }
  for (std::int64_t number = *first; number <= *last; ++number) numbers.insert(number);
  return {};
}

std::vector<JobRecord> Named(std::vector<JobRecord> jobs, std::string_view name) {
  std::erase_if(jobs, [&](const JobRecord& job) { return core::DisplayName(job.asked) != name; });
  return jobs;
}

std::string Numbers(const std::vector<JobRecord>& jobs, std::size_t from) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = from; i < jobs.size(); ++i) numbers.push_back(jobs[i].number);
  std::sort(numbers.begin(), numbers.end());
  const std::size_t more = numbers.size() - std::min(numbers.size(), kMostListed);
  numbers.resize(numbers.size() - more);
  return fmt::format("{}{}", fmt::join(numbers, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

core::Error NoneNamed(std::string_view name, const std::vector<JobRecord>& jobs) {
  std::vector<std::string> names;
  for (const JobRecord& job : jobs) names.push_back(core::DisplayName(job.asked));
  return {core::ErrorKind::kUsage,
          fmt::format("there is no job named {}{}; give its number or its name, which "
                      "`sharewell jobs --all` shows",
                      core::Quoted(name), core::DidYouMean(name, names))};
}

Result<std::int64_t> LiveJobOfMine(const ServerClient& client, std::string_view name) {
  const auto me = client.User();
  RETURN_IF_ERROR(me);
  const auto live = client.Jobs("live=1", kMostSearched);
  RETURN_IF_ERROR(live);
  const std::vector<JobRecord> all = Named(live->jobs, name);
  std::vector<JobRecord> mine = all;
  std::erase_if(mine, [&](const JobRecord& job) { return job.user.name != *me; });
  if (mine.size() == 1) return mine[0].number;
  if (mine.size() > 1) {
    return UsageError("{} of your jobs are named {}: {}; give the number of the one you mean",
                      mine.size(), core::Quoted(name), Numbers(mine, 0));
  }
  if (all.empty()) {
    return UsageError(
        "no job that runs or waits is named {}; give its number or its name, which "
        "`sharewell jobs` shows",
        core::Quoted(name));
  }
  return UsageError("no job of yours is named {}, but {} of others; give its number if you mean it",
                    core::Quoted(name), Numbers(all, 0));
}

}  // namespace

Result<std::int64_t> ParseJob(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && rest == end && number > 0) return number;
  return UsageError("{} is not a job; give its number, which `sharewell jobs` shows",
                    core::Quoted(text));
}

Result<NamedJob> JobToLookAt(const ServerClient& client, std::string_view job) {
  if (const auto number = ParseJob(job)) return NamedJob{*number, ""};
  const auto listed = client.Jobs("", kMostSearched);
  RETURN_IF_ERROR(listed);
  std::vector<JobRecord> named = Named(listed->jobs, job);
  if (named.empty()) return tl::unexpected(NoneNamed(job, listed->jobs));
  // Who asks without a token has no jobs of their own.
  if (const auto me = client.User()) {
    const auto own = [&](const JobRecord& one) { return one.user.name == *me; };
    if (std::any_of(named.begin(), named.end(), own)) {
      std::erase_if(named, [&](const JobRecord& one) { return !own(one); });
    }
  }
  NamedJob found{named[0].number, ""};
  if (named.size() > 1) {
    found.said = fmt::format("job {}, the newest of {} named {}; others: {}", found.number,
                             named.size(), core::Quoted(job), Numbers(named, 1));
  }
  return found;
}

Result<std::vector<std::int64_t>> JobsToActOn(const ServerClient& client,
                                              const std::vector<std::string>& jobs) {
  std::set<std::int64_t> numbers;
  for (const std::string& job : jobs) {
    if (LooksLikeNumbers(job)) {
      RETURN_IF_ERROR(AddNumbers(job, numbers));
      continue;
    }
    const auto number = LiveJobOfMine(client, job);
    RETURN_IF_ERROR(number);
    numbers.insert(*number);
  }
  return std::vector<std::int64_t>(numbers.begin(), numbers.end());
}

}  // namespace sharewell::cli
