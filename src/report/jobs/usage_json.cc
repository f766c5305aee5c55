#include "report/jobs/usage_json.h"

#include <algorithm>
#include <utility>

#include "core/numbers/statistics.h"
#include "report/html/week_figures.h"
#include "report/simulation/group_times.h"
#include "report/text/json.h"

namespace sharewell::report {
namespace {

using json::Writer;

constexpr std::size_t kMostUsageUsers = 1000;

void WriteUsed(Writer& out, const UserWeek& used) {
  const bool known = used.known_hours > 0;
  out.Field("jobs", used.jobs);
  out.Field("failed", used.failed);
  out.Field("gpu_hours", used.gpu_hours);
  out.Field("known_gpu_hours", used.known_hours);
  out.Field("idle_gpu_hours", known ? std::optional(used.idle_hours) : std::nullopt);
  out.Field("failed_gpu_hours", used.failed_hours);
  out.Field("wait_mean_seconds", core::Mean(used.waits));
  out.Field("wait_median_seconds", core::Quantile(used.waits, 0.5));
  out.Field("wait_p99_seconds", core::Quantile(used.waits, 0.99));
  out.Field("jct_mean_seconds", core::Mean(used.completions));
  out.Field("jct_p99_seconds", core::Quantile(used.completions, 0.99));
  out.Field("speed_mean", core::Mean(used.speeds));
}

void WriteSide(Writer& out, const char* key, const simulation::SavingsSide& side) {
  out.Object(key, [&] {
    out.Field("gpu_hours", side.gpu_hours);
    out.Field("energy_kwh", side.energy_kwh);
    out.Field("makespan_seconds", side.makespan);
    out.Field("jct_mean_seconds", side.jct_mean);
    out.Field("wait_mean_seconds", side.wait_mean);
  });
}

void WriteSavings(Writer& out, const simulation::Savings& savings) {
  out.Object("savings", [&] {
    out.Field("jobs", savings.jobs);
    out.Field("shared", savings.shared);
    WriteSide(out, "really", savings.really);
    WriteSide(out, "exclusive", savings.exclusive);
    WriteSide(out, "saved", simulation::SavedOf(savings));
    out.Field("how", simulation::kHowSavingsAreFound);
    out.Field("remarks", savings.remarks);
  });
}

}  // namespace

std::string UsageJson(const WeekParts& parts, const std::vector<UsageBin>& bins,
                      const simulation::Savings& savings) {
  const Week week = FiguresOf(parts);
  std::vector<std::pair<std::string, const UserWeek*>> users;
  for (const auto& [name, used] : week.users) users.emplace_back(name, &used);
  std::stable_sort(users.begin(), users.end(), [](const auto& a, const auto& b) {
    return a.second->gpu_hours > b.second->gpu_hours;
  });
  const bool cut = parts.cut || users.size() > kMostUsageUsers;
  if (users.size() > kMostUsageUsers) users.resize(kMostUsageUsers);
  // The bins are of one length, so that the mean of all is theirs.
  const auto mean = [&](auto pick) {
    std::vector<double> known;
    for (const UsageBin& bin : bins) {
      if (const std::optional<double> value = bin.*pick) known.push_back(*value);
    }
    return core::Mean(known);
  };
  return JsonLine([&](Writer& out) {
    out.Field("from_ms", parts.from);
    out.Field("to_ms", parts.to);
    out.Field("gpus", parts.gpus.size());
    out.Field("cut", cut);
    out.Object("all", [&] { WriteUsed(out, week.all); });
    out.List("users", users, [&](const auto& user) {
      out.Object([&] {
        out.Field("user", user.first);
        WriteUsed(out, *user.second);
      });
    });
    WriteGroups(out, "by_size", "size", week.by_size);
    out.Field("fairness_jain", week.jain);
    out.Field("held", mean(&UsageBin::held));
    out.Field("shared", mean(&UsageBin::shared));
    out.Field("busy", mean(&UsageBin::busy));
    out.List("bins", bins, [&](const UsageBin& bin) {
      out.Object([&] {
        out.Field("from_ms", bin.from);
        out.Field("held", bin.held);
        out.Field("shared", bin.shared);
        out.Field("busy", bin.busy);
      });
    });
    WriteSavings(out, savings);
  });
}

}  // namespace sharewell::report
