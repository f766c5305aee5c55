#include "report/jobs/usage_json.h"

#include <algorithm>
#include <utility>

#include "core/numbers/statistics.h"
#include "report/html/week_figures.h"
#include "report/text/json.h"

namespace sharewell::report {
namespace {

constexpr std::size_t kMostUsageUsers = 1000;

Json UsedJson(const UserWeek& used) {
  const bool known = used.known_hours > 0;
  return {{"jobs", used.jobs},
          {"failed", used.failed},
          {"gpu_hours", used.gpu_hours},
          {"known_gpu_hours", used.known_hours},
          {"idle_gpu_hours", known ? Json(used.idle_hours) : Json(nullptr)},
          {"failed_gpu_hours", used.failed_hours},
          {"wait_mean_seconds", OrNull(core::Mean(used.waits))},
          {"wait_median_seconds", OrNull(core::Quantile(used.waits, 0.5))},
          {"speed_mean", OrNull(core::Mean(used.speeds))}};
}

Json SideJson(const study::SavingsSide& side) {
  return {{"gpu_hours", side.gpu_hours},
          {"energy_kwh", OrNull(side.energy_kwh)},
          {"makespan_seconds", OrNull(side.makespan)},
          {"jct_mean_seconds", OrNull(side.jct_mean)},
          {"wait_mean_seconds", OrNull(side.wait_mean)}};
}

Json SavingsJson(const study::Savings& savings) {
  const study::SavingsSide saved = study::SavedOf(savings);
  return {{"jobs", savings.jobs},
          {"shared", savings.shared},
          {"really", SideJson(savings.really)},
          {"exclusive", SideJson(savings.exclusive)},
          {"saved", SideJson(saved)},
          {"how", study::kHowSavingsAreFound},
          {"remarks", savings.remarks}};
}

}  // namespace

std::string UsageJson(const WeekParts& parts, const std::vector<UsageBin>& bins,
                      const study::Savings& savings) {
  const Week week = FiguresOf(parts);
  std::vector<std::pair<std::string, const UserWeek*>> users;
  for (const auto& [name, used] : week.users) users.emplace_back(name, &used);
  std::stable_sort(users.begin(), users.end(), [](const auto& a, const auto& b) {
    return a.second->gpu_hours > b.second->gpu_hours;
  });
  Json json = {{"schema", kSchema},
               {"from_ms", parts.from},
               {"to_ms", parts.to},
               {"gpus", parts.gpus.size()},
               {"cut", parts.cut || users.size() > kMostUsageUsers}};
  if (users.size() > kMostUsageUsers) users.resize(kMostUsageUsers);
  json["all"] = UsedJson(week.all);
  Json& list = json["users"] = Json::array();
  for (const auto& [name, used] : users) {
    Json row = {{"user", name}};
    row.update(UsedJson(*used));
    list.push_back(std::move(row));
  }
  json["fairness_jain"] = OrNull(week.jain);
  // The bins are of one length, so that the mean of all is theirs.
  const auto mean = [&](auto pick) {
    std::vector<double> known;
    for (const UsageBin& bin : bins) {
      if (const std::optional<double> value = bin.*pick) known.push_back(*value);
    }
    return OrNull(core::Mean(known));
  };
  json["held"] = mean(&UsageBin::held);
  json["shared"] = mean(&UsageBin::shared);
  json["busy"] = mean(&UsageBin::busy);
  Json& over_time = json["bins"] = Json::array();
  for (const UsageBin& bin : bins) {
    over_time.push_back({{"from_ms", bin.from},
                         {"held", bin.held},
                         {"shared", bin.shared},
                         {"busy", OrNull(bin.busy)}});
  }
  json["savings"] = SavingsJson(savings);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sharewell::report
