#include "catalogue/builtin_measurements.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "catalogue/groups_file.h"
#include "catalogue/pairs_file.h"
#include "catalogue/profiles_file.h"
#include "core/result.h"
#include "platform/files/embedded.h"

namespace sharewell::catalogue {
namespace {

// The files are the program's own: a test reads them all.
template <class T>
T Own(core::Result<T> read) {
  SHAREWELL_CHECK(read.has_value());
  return *std::move(read);
}

std::vector<core::PairMeasurement> LaterPairs() {
  return Own(ReadPairsText(platform::EmbeddedH200Pairs2(), "the built-in data/h200/pairs-2.csv"))
      .pairs;
}

// Those of workloads that are not there yet.
void AddNew(std::string_view text, const std::string& name, std::vector<core::Profile>& profiles) {
  std::set<core::Workload> known;
  for (const core::Profile& profile : profiles) known.insert(profile.workload);
  for (core::Profile& profile : Own(ReadProfilesText(text, "the built-in data/h200/" + name))) {
    if (!known.contains(profile.workload)) profiles.push_back(std::move(profile));
  }
}

using Both = std::pair<core::Workload, core::Workload>;

Both BothOf(const core::PairMeasurement& pair) {
  return pair.a < pair.b ? Both(pair.a, pair.b) : Both(pair.b, pair.a);
}

}  // namespace

core::Measurements FirstSitting() {
  core::Measurements out;
  out.profiles = Own(
      ReadProfilesText(platform::EmbeddedH200Profiles(), "the built-in data/h200/profiles.csv"));
  out.pairs =
      Own(ReadPairsText(platform::EmbeddedH200Pairs(), "the built-in data/h200/pairs.csv")).pairs;
  return out;
}

core::Measurements BuiltinMeasurements() {
  core::Measurements out = FirstSitting();
  out.stand_ins = out.profiles.size();
  std::set<Both> pairs;
  for (const auto& pair : out.pairs) pairs.insert(BothOf(pair));
  AddNew(platform::EmbeddedH200Profiles2(), "profiles-2.csv", out.profiles);
  for (auto& pair : LaterPairs()) {
    if (!pairs.contains(BothOf(pair))) out.pairs.push_back(std::move(pair));
  }
  return out;
}

std::vector<core::GroupMeasurement> BuiltinGroups() {
  const core::Measurements first = FirstSitting();
  std::map<core::Workload, double> rates;
  for (const auto& profile : first.profiles) {
    if (profile.steps_per_second) rates.emplace(profile.workload, *profile.steps_per_second);
  }
  std::vector<core::GroupMeasurement> out;
  const auto add = [&](const core::PairMeasurement& pair) {
    if (!pair.fits) return;
    out.push_back({{pair.a, pair.b},
                   {pair.steps_per_second_a, pair.steps_per_second_b},
                   {pair.alone_a ? *pair.alone_a : rates.at(pair.a),
                    pair.alone_b ? *pair.alone_b : rates.at(pair.b)}});
  };
  for (const auto& pair : first.pairs) add(pair);
  for (const auto& pair : LaterPairs()) add(pair);
  for (auto& triple :
       Own(ReadGroupsText(platform::EmbeddedH200Triples(), "the built-in data/h200/triples.csv"))) {
    out.push_back(std::move(triple));
  }
  return out;
}

std::vector<MeasuredGroup> BuiltinMeasuredGroups() {
  std::map<core::Workload, double> rates;
  for (const auto& profile : FirstSitting().profiles) {
    if (profile.steps_per_second) rates.emplace(profile.workload, *profile.steps_per_second);
  }
  std::vector<MeasuredGroup> out;
  for (const auto& [text, name] : {std::pair(platform::EmbeddedH200Pairs(), "pairs.csv"),
                                   std::pair(platform::EmbeddedH200Pairs2(), "pairs-2.csv"),
                                   std::pair(platform::EmbeddedH200Triples(), "triples.csv"),
                                   std::pair(platform::EmbeddedH200Shares(), "shares.csv"),
                                   std::pair(platform::EmbeddedH200Groups(), "groups.csv"),
                                   std::pair(platform::EmbeddedH200Groups2(), "groups-2.csv")}) {
    for (MeasuredGroup& group :
         Own(ReadMeasuredGroups(text, std::string("the built-in data/h200/") + name))) {
      for (GroupMember& member : group) {
        if (!member.alone) member.alone = rates.at(member.workload);
      }
      out.push_back(std::move(group));
    }
  }
  return out;
}

std::vector<core::Profile> ProfilesOfMeasuredGroups() {
  std::vector<core::Profile> out = BuiltinMeasurements().profiles;
  AddNew(platform::EmbeddedH200Profiles3(), "profiles-3.csv", out);
  AddNew(platform::EmbeddedH200Profiles4(), "profiles-4.csv", out);
  AddNew(platform::EmbeddedH200Profiles5(), "profiles-5.csv", out);
  AddNew(platform::EmbeddedH200Profiles9(), "profiles-9.csv", out);
  return out;
}

}  // namespace sharewell::catalogue
