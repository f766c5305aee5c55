#include "report/html/simulation_gains.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "core/text/words.h"
#include "report/text/format.h"
#include "simulation/replay/gains.h"

namespace sharewell::report {
namespace {

using simulation::PolicyResult;
using simulation::SimulatedJob;

struct UserMeans {
  std::size_t jobs = 0, waited = 0, ended = 0;
  double wait = 0, jct = 0;

  std::optional<double> Jct() const {
    return ended > 0 ? std::optional(jct / static_cast<double>(ended)) : std::nullopt;
  }
  std::optional<double> Wait() const {
    return waited > 0 ? std::optional(wait / static_cast<double>(waited)) : std::nullopt;
  }
};

std::map<std::string, UserMeans> ByUser(const PolicyResult& policy) {
  std::map<std::string, UserMeans> users;
  for (const SimulatedJob& job : policy.jobs) {
    UserMeans& user = users[job.user];
    ++user.jobs;
    if (job.queue) {
      ++user.waited;
      user.wait += *job.queue;
    }
    if (job.jct) {
      ++user.ended;
      user.jct += *job.jct;
    }
  }
  return users;
}

// Of each job of the first policy, by its place there.
simulation::CompletionTimes TimesOf(const PolicyResult& policy,
                                    const std::unordered_map<std::string, std::size_t>& places) {
  simulation::CompletionTimes times(places.size());
  for (const SimulatedJob& job : policy.jobs) {
    const auto place = places.find(job.id);
    if (place != places.end()) times[place->second] = job.jct;
  }
  return times;
}

std::string GainsInWords(const simulation::PolicyChange& change, const std::string& first) {
  std::string words = fmt::format(
      "{} instead of {}: {} sooner, {} later, {} about the same (within 5 %)", change.policy, first,
      core::Count(change.sooner, "job"), change.later, change.same);
  if (change.jct_mean) {
    words += fmt::format("; mean completion time {:+.1f} %", 100 * *change.jct_mean);
  }
  if (change.later > 0 && change.worst) {
    words += fmt::format("; the job that loses most takes {}", Times(*change.worst));
  }
  return words + ".";
}

}  // namespace

HtmlTable UsersUnderPolicies(const simulation::SimulationResults& results) {
  HtmlTable table{{{"user", Align::kLeft}, {"jobs", Align::kRight}}, {}};
  std::vector<std::map<std::string, UserMeans>> by_policy;
  std::set<std::string> users;
  for (const PolicyResult& policy : results.policies) {
    by_policy.push_back(ByUser(policy));
    for (const auto& [user, means] : by_policy.back()) users.insert(user);
    table.columns.emplace_back(policy.summary.policy + ": waits", Align::kRight);
    table.columns.emplace_back("completes in", Align::kRight);
    if (by_policy.size() > 1) {
      table.columns.emplace_back("of " + results.policies.front().summary.policy, Align::kRight);
    }
  }
  const auto time = [](double s) { return Duration(core::Seconds(s)); };
  for (const std::string& user : users) {
    const std::size_t jobs = by_policy.front()[user].jobs;
    std::vector<std::string> row = {user, fmt::format("{}", jobs)};
    const auto first = by_policy.front()[user].Jct();
    for (std::size_t p = 0; p < by_policy.size(); ++p) {
      const UserMeans& means = by_policy[p][user];
      row.push_back(Or(means.Wait(), time));
      row.push_back(Or(means.Jct(), time));
      if (p == 0) continue;
      const auto jct = means.Jct();
      row.push_back(first && jct && *first > 0 ? Percent(*jct / *first) : kUnknown);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<PolicyGains> GainsUnderPolicies(const simulation::SimulationResults& results) {
  std::vector<PolicyGains> out;
  const PolicyResult& first = results.policies.front();
  std::unordered_map<std::string, std::size_t> places;
  std::vector<const SimulatedJob*> jobs;
  for (const SimulatedJob& job : first.jobs) {
    if (places.emplace(job.id, jobs.size()).second) jobs.push_back(&job);
  }
  if (jobs.empty()) return out;
  const simulation::CompletionTimes before = TimesOf(first, places);
  for (std::size_t p = 1; p < results.policies.size(); ++p) {
    const PolicyResult& policy = results.policies[p];
    if (policy.jobs.empty()) continue;
    const simulation::PolicyChange change =
        simulation::ChangeOf(policy.summary.policy, before, TimesOf(policy, places));
    PolicyGains gains;
    gains.words = GainsInWords(change, first.summary.policy);
    gains.jobs.columns = {{"", Align::kLeft},
                          {"job", Align::kLeft},
                          {"user", Align::kLeft},
                          {first.summary.policy, Align::kRight},
                          {policy.summary.policy, Align::kRight},
                          {"change", Align::kRight}};
    for (const auto* changes : {&change.gains, &change.losses}) {
      for (const simulation::JobChange& one : *changes) {
        gains.jobs.rows.push_back(
            {changes == &change.gains ? "gains" : "loses", jobs[one.job]->id, jobs[one.job]->user,
             Duration(core::Seconds(one.before)), Duration(core::Seconds(one.after)),
             fmt::format("{:+.0f} %", 100 * (one.after / std::max(one.before, 1e-9) - 1))});
      }
    }
    out.push_back(std::move(gains));
  }
  return out;
}

}  // namespace sharewell::report
