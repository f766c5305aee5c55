// data/h200/groups-2.csv as a hidden set: its 20 workloads are in no other file of co-locations.
// How well a model that was fitted to the other files tells its speeds, beside two rules of thumb;
// whether these groups help to tell speeds of workloads that were never fitted; and what it costs
// not to know how long kernels are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "advice/measured_groups.h"
#include "catalogue/groups_file.h"
#include "platform/files/embedded.h"
#include "research/evaluate/evaluate_pairs.h"

namespace sharewell::research {
namespace {

using predict::Colocation;

struct Told {
  int count = 0;
  double absolute = 0, squares = 0;

  void Add(double told, double measured) {
    ++count;
    absolute += std::abs(told - measured);
    squares += (told - measured) * (told - measured);
  }
  double Mean() const { return absolute / count; }
  double Root() const { return std::sqrt(squares / count); }
};

struct Ways {
  Told model, no_interference, time_slicing;
};

// Groups of groups-2.csv, and those of all other files.
struct Halves {
  std::vector<Colocation> hidden, rest, all;
};

void Read(Halves& out) {
  const auto read =
      catalogue::ReadMeasuredGroups(platform::EmbeddedH200Groups2(), "data/h200/groups-2.csv");
  ASSERT_TRUE(read) << read.error().message;
  std::set<std::string> names;
  for (const catalogue::MeasuredGroup& group : *read) {
    for (const catalogue::GroupMember& member : group) names.insert(member.workload.name);
  }
  const auto measured = advice::BuiltinColocations();
  ASSERT_TRUE(measured) << measured.error().message;
  out.all = predict::Averaged(measured->groups);
  for (const Colocation& group : out.all) {
    const auto in = std::count_if(
        group.residents.begin(), group.residents.end(),
        [&](const predict::Resident& resident) { return names.contains(resident.workload.name); });
    ASSERT_TRUE(in == 0 || in == std::ssize(group.residents)) << "it is no hidden set";
    (in == 0 ? out.rest : out.hidden).push_back(group);
  }
}

std::string KindOf(const Colocation& group) {
  double share = 1;
  for (const predict::Resident& resident : group.residents) {
    share = std::min(share, resident.sm_share);
  }
  return fmt::format("{} jobs, last at {:.0f} %", group.residents.size(), 100 * share);
}

TEST(HiddenGroups, AreToldByAModelThatNeverSawThem) {
  Halves halves;
  ASSERT_NO_FATAL_FAILURE(Read(halves));
  const auto coefficients = predict::FitCoefficients(halves.rest);
  std::map<std::string, Ways> kinds;
  std::size_t groups = 0;
  for (const Colocation& group : halves.hidden) {
    const std::size_t jobs = group.residents.size();
    if (jobs < 2) continue;
    ++groups;
    for (std::size_t i = 0; i < jobs; ++i) {
      const double was = std::min(group.speeds[i], 1.0);
      for (Ways* ways : {&kinds[KindOf(group)], &kinds["all"]}) {
        ways->model.Add(predict::ModelledSpeed(group.residents, i, coefficients), was);
        ways->no_interference.Add(1, was);
        ways->time_slicing.Add(1 / static_cast<double>(jobs), was);
      }
    }
  }
  EXPECT_EQ(groups, 126U);
  std::printf("mean absolute error and root mean square: model, no interference, time slicing\n");
  for (const auto& [kind, ways] : kinds) {
    std::printf("%-22s %3d speeds  %.3f %.3f  %.3f %.3f  %.3f %.3f\n", kind.c_str(),
                ways.model.count, ways.model.Mean(), ways.model.Root(), ways.no_interference.Mean(),
                ways.no_interference.Root(), ways.time_slicing.Mean(), ways.time_slicing.Root());
    EXPECT_LT(2 * ways.model.Mean(), ways.no_interference.Mean()) << kind;
    EXPECT_LT(2 * ways.model.Mean(), ways.time_slicing.Mean()) << kind;
  }
  EXPECT_LE(kinds["all"].model.Mean(), 0.065);
  EXPECT_LE(kinds["all"].model.Root(), 0.09);
}

// Each group told by a fit without its workloads: to the other files alone, and to all.
TEST(HiddenGroups, HelpToTellWorkloadsThatWereNotFitted) {
  Halves halves;
  ASSERT_NO_FATAL_FAILURE(Read(halves));
  const auto without = EvaluateUnseen(halves.rest, predict::PredictUnseen(halves.rest)).measured;
  Told hidden_without, rest_with, hidden_with;
  const auto coefficients = predict::FitCoefficients(halves.rest);
  const auto told = predict::PredictUnseen(halves.all);
  std::set<std::string> hidden;
  for (const Colocation& group : halves.hidden) hidden.insert(group.residents[0].workload.name);
  for (std::size_t c = 0; c < halves.all.size(); ++c) {
    const Colocation& group = halves.all[c];
    const bool is_hidden = hidden.contains(group.residents[0].workload.name);
    for (std::size_t i = 0; i < told[c].of_measured.size(); ++i) {
      const double was = std::min(group.speeds[i], 1.0);
      (is_hidden ? hidden_with : rest_with).Add(told[c].of_measured[i], was);
      if (is_hidden) {
        hidden_without.Add(predict::ModelledSpeed(group.residents, i, coefficients), was);
      }
    }
  }
  const auto speeds = static_cast<double>(without.speeds);
  const double before =
      (without.mean_absolute * speeds + hidden_without.absolute) / (speeds + hidden_without.count);
  const double after =
      (rest_with.absolute + hidden_with.absolute) / (rest_with.count + hidden_with.count);
  std::printf(
      "fitted without groups-2.csv and with it: other groups %.4f %.4f, groups-2 %.4f %.4f,"
      " all %.4f %.4f\n",
      without.mean_absolute, rest_with.Mean(), hidden_without.Mean(), hidden_with.Mean(), before,
      after);
  EXPECT_LT(rest_with.Mean(), without.mean_absolute);
  EXPECT_NEAR(hidden_with.Mean(), hidden_without.Mean(), 0.002);
  EXPECT_LT(after, before);
}

// Each group told by a fit without its workloads, as if nobody knew how long its kernels are.
TEST(HiddenGroups, AreToldWithoutTheTimesOfKernels) {
  Halves halves;
  ASSERT_NO_FATAL_FAILURE(Read(halves));
  std::vector<Colocation> unknown = halves.all, equal = halves.all;
  for (std::size_t c = 0; c < halves.all.size(); ++c) {
    unknown[c].predicted = equal[c].predicted = halves.all[c].residents;
    for (predict::Resident& resident : unknown[c].predicted) resident.demand.kernel_time.reset();
    for (predict::Resident& resident : equal[c].predicted) {
      resident.demand.kernel_time = core::Seconds(1e-5);
    }
  }
  const auto guessed = EvaluateUnseen(unknown, predict::PredictUnseen(unknown));
  const auto taken_for_equal = EvaluateUnseen(equal, predict::PredictUnseen(equal)).from_graphs;
  std::printf("times of kernels known %.4f, guessed %.4f, taken for equal %.4f\n",
              guessed.measured.mean_absolute, guessed.from_graphs.mean_absolute,
              taken_for_equal.mean_absolute);
  EXPECT_LE(guessed.from_graphs.mean_absolute, 0.072);
  EXPECT_LT(guessed.from_graphs.mean_absolute, 0.85 * taken_for_equal.mean_absolute);
}

}  // namespace
}  // namespace sharewell::research
