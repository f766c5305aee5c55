#include "predict/colocation/colocation_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/result.h"
#include "predict/learn/json_reading.h"
#include "predict/learn/json_value.h"
#include "predict/learn/serialize.h"

namespace sharewell::predict {
namespace {

using nlohmann::json;

constexpr std::size_t kMostResidents = 10'000;
constexpr std::size_t kMostGroups = 5'000;  // more would take minutes to factorise
constexpr std::size_t kMostOnOneGpu = 64;
constexpr std::size_t kMostTimes = 1'000'000;
constexpr double kLargestCount = 1e9;
constexpr double kLargestCoefficient = 1e4;

// What a file says of the coefficients, by name.
constexpr std::pair<const char*, double interference::Coefficients::*> kCoefficients[] = {
    {"host", &interference::Coefficients::host},
    {"neighbour", &interference::Coefficients::neighbour},
    {"dram", &interference::Coefficients::dram},
    {"wait", &interference::Coefficients::wait},
    {"length", &interference::Coefficients::length},
    {"narrow", &interference::Coefficients::narrow},
    {"room", &interference::Coefficients::room},
    {"residual", &interference::Coefficients::residual},
    {"residual_of_three", &interference::Coefficients::residual_of_three}};

json Json(const Resident& resident) {
  json out = {{"workload", resident.workload.name},
              {"batch", resident.workload.batch},
              {"precision", resident.workload.precision},
              {"workers", resident.workload.workers},
              {"busy", resident.demand.busy},
              {"sm", resident.demand.sm},
              {"dram", resident.demand.dram},
              {"cores", resident.demand.cpu_cores},
              {"step", resident.step.value}};
  if (resident.demand.kernel_time) out["kernel"] = resident.demand.kernel_time->value;
  if (resident.sm_share < 1) out["sm_share"] = resident.sm_share;
  return out;
}

// JSON has no order of its own to keep: nlohmann's objects are sorted by key.
json Json(const learn::Conformal& bounds) {
  return bounds.levels.empty() ? json() : json::parse(learn::Write(bounds));
}

Resident ResidentFrom(const learn::JsonValue& value, learn::Reader& reader) {
  reader.Only(value, {"workload", "batch", "precision", "workers", "busy", "sm", "dram", "cores",
                      "step", "kernel", "sm_share"});
  Resident out;
  out.workload.name = reader.Text(value, "workload");
  out.workload.precision = reader.Text(value, "precision");
  out.workload.batch = static_cast<int>(reader.Count(value, "batch", 1'000'000'000));
  out.workload.workers = static_cast<int>(reader.Count(value, "workers", 1'000'000));
  out.demand.known = true;
  out.demand.busy = reader.Bounded(value, "busy", 0, 1);
  out.demand.sm = reader.Bounded(value, "sm", 0, 1);
  out.demand.dram = reader.Bounded(value, "dram", 0, 1);
  out.demand.cpu_cores = reader.Bounded(value, "cores", 0, kLargestCount);
  out.step = core::Seconds(reader.Bounded(value, "step", 0, kLargestCount));
  if (value.Has("kernel")) {
    out.demand.kernel_time = core::Seconds(reader.Bounded(value, "kernel", 0, kLargestCount));
  }
  if (value.Has("sm_share")) out.sm_share = reader.Bounded(value, "sm_share", 0, 1);
  return out;
}

ColocationState::Measured ColocationFrom(const learn::JsonValue& value, std::size_t residents,
                                         learn::Reader& reader) {
  reader.Only(value, {"who", "speeds", "times"});
  ColocationState::Measured out;
  const auto who = reader.NumbersUpTo(kMostOnOneGpu, value, "who", 0, kLargestCount);
  const std::size_t count = who.size();
  reader.Expect(count >= 1, "a co-location of it has no jobs");
  for (const double place : who) {
    reader.Expect(place < static_cast<double>(residents) && std::floor(place) == place,
                  "a co-location of it names resident {} of {}", place, residents);
    if (!reader.failed()) out.who.push_back(static_cast<std::size_t>(place));
  }
  reader.Expect(std::is_sorted(out.who.begin(), out.who.end()),
                "a co-location of it is not in ascending order");
  out.speeds = reader.Numbers(value, "speeds", count, 0, 1);
  out.times = static_cast<int>(reader.Count(value, "times", kMostTimes));
  return out;
}

core::Result<learn::Conformal> BoundsFrom(const learn::JsonValue& value) {
  if (value.is_null()) return learn::Conformal();
  auto bounds = learn::ConformalFromJson(value);
  if (bounds && bounds->levels != std::vector<core::Ratio>{0.05, 0.95}) {
    return core::UsageError(
        "the speeds beside others are damaged: their bounds are not those at 0.05 "
        "and 0.95: `sharewell train` makes a new one");
  }
  return bounds;
}

}  // namespace

std::string Write(const ColocationModel& together) {
  const ColocationState& state = together.state();
  json residents = json::array();
  for (const Resident& resident : state.residents) residents.push_back(Json(resident));
  json groups = json::array();
  for (const auto& group : state.groups) {
    groups.push_back({{"who", group.who}, {"speeds", group.speeds}, {"times", group.times}});
  }
  json coefficients = json::object();
  for (const auto& [name, member] : kCoefficients) coefficients[name] = state.coefficients.*member;
  const json out = {
      {"format", "sharewell-together"},          {"version", 2},
      {"coefficients", std::move(coefficients)}, {"repeat", state.repeat},
      {"residents", std::move(residents)},       {"companies", std::move(groups)},
      {"of_measured", Json(state.of_measured)},  {"of_predicted", Json(state.of_predicted)}};
  // A name from a user's file may hold bytes that are no text.
  return out.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

core::Result<ColocationModel> ColocationFromJson(const learn::JsonValue& value) {
  learn::Reader reader("part of the model about speeds beside others");
  reader.Only(value, {"format", "version", "coefficients", "repeat", "residents", "companies",
                      "of_measured", "of_predicted"});
  reader.Expect(reader.Text(value, "format") == "sharewell-together", "it is of another kind");
  reader.Expect(reader.Count(value, "version", 1'000'000) == 2,
                "it was written by another version");
  ColocationState state;
  const learn::JsonValue coefficients = reader.At(value, "coefficients");
  for (const auto& [name, member] : kCoefficients) {
    state.coefficients.*member = reader.Bounded(coefficients, name, 0, kLargestCoefficient);
  }
  state.repeat = reader.Bounded(value, "repeat", 0, 1);
  for (const learn::JsonValue& one : reader.List(value, "residents", kMostResidents)) {
    state.residents.push_back(ResidentFrom(one, reader));
  }
  for (const learn::JsonValue& one : reader.List(value, "companies", kMostGroups)) {
    state.groups.push_back(ColocationFrom(one, state.residents.size(), reader));
  }
  const learn::JsonValue of_measured = reader.At(value, "of_measured");
  const learn::JsonValue of_predicted = reader.At(value, "of_predicted");
  if (reader.failed()) return reader.Error();
  auto measured = BoundsFrom(of_measured);
  RETURN_IF_ERROR(measured);
  auto predicted = BoundsFrom(of_predicted);
  RETURN_IF_ERROR(predicted);
  state.of_measured = *std::move(measured);
  state.of_predicted = *std::move(predicted);
  return ColocationModel::From(std::move(state));
}

core::Result<ColocationModel> ReadColocations(std::string_view text) {
  return ColocationFromJson(learn::ParsedJson(text).value());
}

}  // namespace sharewell::predict
