#include "control/service/view/eviction_words.h"

#include <fmt/format.h>

namespace sharewell::control {
namespace {

std::string Named(std::int64_t number, const LiveJobs& live) {
  const LiveJob* job = live.Find(number);
  if (job == nullptr) return fmt::format("job {}", number);
  return fmt::format("job {} of {}", number, job->record.user.name);
}

std::string Named(core::JobId id, const LiveJobs& live) {
  const LiveJob* job = live.Find(id);
  return job == nullptr ? "a job" : Named(job->record.number, live);
}

std::string Listed(const std::vector<std::int64_t>& numbers, const LiveJobs& live) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool last = i + 1 == numbers.size();
    text += i == 0 ? "" : last ? " and " : ", ";
    text += Named(numbers[i], live);
  }
  return text.empty() ? "others" : text;
}

// "takes 1.67 times as long as alone (by its steps), and its bound is 1.25"
std::string HowSlow(const core::reason::Evicted& eviction) {
  return fmt::format("takes {:.2f} times as long as alone (by {}), and its bound is {:.2f}",
                     eviction.slowdown, eviction.by_steps ? "its steps" : "SM activity",
                     eviction.bound);
}

}  // namespace

EvictionWords WhyEvicted(core::JobId id, const core::reason::Evicted& evicted,
                         const std::vector<std::int64_t>& beside, bool alone_next,
                         const LiveJobs& live) {
  const LiveJob* job = live.Find(id);
  const bool itself = evicted.slowed == id;
  const std::string why =
      fmt::format("{} {} {}", itself ? "it" : Named(evicted.slowed, live),
                  itself ? "beside " + Listed(beside, live) : "beside it", HowSlow(evicted));
  if (job != nullptr && job->record.asked.terminal) {
    return {"ended: " + why, "ended, as an interactive job is not started again: " + why};
  }
  std::string next = "it goes back into the queue";
  if (alone_next) {
    next += " and has its GPUs to itself from now on, as it was evicted twice";
  } else if (beside.size() == 1) {
    next += fmt::format(" and is not put beside {} with these SM shares again",
                        Named(beside.front(), live));
  }
  return {fmt::format("evicted: {}; {}", why, next),
          fmt::format("it was evicted: {} (measured); {}", why, next)};
}

std::string WhyItStays(const Eviction& eviction, const LiveJobs& live) {
  return fmt::format(
      "beside {} it {}; both were evicted twice already, so both stay and it ends later",
      Named(eviction.job, live), HowSlow(eviction.why));
}

}  // namespace sharewell::control
