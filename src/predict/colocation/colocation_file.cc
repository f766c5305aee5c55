#include "predict/colocation/colocation_file.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/result.h"
#include "json/reader.h"
#include "json/writer.h"
#include "predict/learn/damaged.h"
#include "predict/learn/serialize.h"

namespace sharewell::predict {
namespace {

using json::Reader;
using json::Trust;

constexpr int kVersion = 2;
constexpr std::size_t kMostResidents = 10'000;
constexpr std::size_t kMostGroups = 5'000;  // more would take minutes to factorise
constexpr std::size_t kMostOnOneGpu = 64;
constexpr double kLargestCount = 1e9;
constexpr double kLargestCoefficient = 1e4;
constexpr std::string_view kWhat = "part of the model about speeds beside others";

// What a file says of the coefficients, by name: in alphabetical order, as all members of this part
// of the file, which is compared byte by byte.
constexpr std::pair<const char*, double interference::Coefficients::*> kCoefficients[] = {
    {"dram", &interference::Coefficients::dram},
    {"host", &interference::Coefficients::host},
    {"length", &interference::Coefficients::length},
    {"narrow", &interference::Coefficients::narrow},
    {"neighbour", &interference::Coefficients::neighbour},
    {"residual", &interference::Coefficients::residual},
    {"residual_of_three", &interference::Coefficients::residual_of_three},
    {"room", &interference::Coefficients::room},
    {"wait", &interference::Coefficients::wait}};

void WriteResident(json::Writer& out, const Resident& resident) {
  out.Object([&] {
    out.Field("batch", resident.workload.batch);
    out.Field("busy", resident.demand.busy);
    out.Field("cores", resident.demand.cpu_cores);
    out.Field("dram", resident.demand.dram);
    if (resident.demand.kernel_time) out.Field("kernel", *resident.demand.kernel_time);
    out.Field("precision", resident.workload.precision);
    out.Field("sm", resident.demand.sm);
    if (resident.sm_share < 1) out.Field("sm_share", resident.sm_share);
    out.Field("step", resident.step);
    out.Field("workers", resident.workload.workers);
    out.Field("workload", resident.workload.name);
  });
}

// As learn/serialize.h has it but for the order of its members.
std::string BoundsText(const learn::Conformal& bounds) {
  std::string text;
  json::Writer out(text);
  if (bounds.levels.empty()) {
    out.Null();
    return text;
  }
  out.Object([&] {
    out.Object("families", [&] {
      for (const auto& [name, offsets] : bounds.family) out.Field(name, offsets);
    });
    out.Field("levels", bounds.levels);
    out.Field("pooled", bounds.pooled);
  });
  return text;
}

Resident ResidentFrom(Reader in) {
  Resident out;
  out.workload.name = in.NeedText("workload");
  out.workload.precision = in.NeedText("precision");
  out.workload.batch = static_cast<int>(in.NeedWhole("batch", {0, 1'000'000'000}));
  out.workload.workers = static_cast<int>(in.NeedWhole("workers", {0, 1'000'000}));
  out.demand.known = true;
  out.demand.busy = in.NeedNumber("busy", {0, 1});
  out.demand.sm = in.NeedNumber("sm", {0, 1});
  out.demand.dram = in.NeedNumber("dram", {0, 1});
  out.demand.cpu_cores = in.NeedNumber("cores", {0, kLargestCount});
  out.step = core::Seconds(in.NeedNumber("step", {0, kLargestCount}));
  in.Number("kernel", out.demand.kernel_time, {0, kLargestCount});
  in.Number("sm_share", out.sm_share, {0, 1});
  in.RefuseOthers();
  return out;
}

ColocationState::Measured ColocationFrom(Reader in, std::size_t residents) {
  ColocationState::Measured out;
  for (const json::Value place : in.NeedList("who", kMostOnOneGpu)) {
    const auto resident = in.WholeOf("who", place);
    in.Expect(resident && *resident >= 0 && *resident < static_cast<std::int64_t>(residents),
              "a co-location of it names resident {} of {}", resident.value_or(0), residents);
    if (!in.ok()) return out;
    out.who.push_back(static_cast<std::size_t>(*resident));
  }
  in.Expect(!out.who.empty(), "a co-location of it has no jobs");
  in.Expect(std::is_sorted(out.who.begin(), out.who.end()),
            "a co-location of it is not in ascending order");
  out.speeds = in.NeedNumbers("speeds", out.who.size(), {0, 1});
  out.times = static_cast<int>(in.NeedWhole("times", {0, 1'000'000}));
  in.RefuseOthers();
  return out;
}

core::Result<learn::Conformal> BoundsFrom(json::Value value, const std::string& place) {
  if (value.is_null()) return learn::Conformal();
  auto bounds = learn::ConformalFromJson(value, place);
  if (bounds && bounds->levels != std::vector<core::Ratio>{0.05, 0.95}) {
    return learn::Damaged(kWhat, place + "levels: are not 0.05 and 0.95");
  }
  return bounds;
}

}  // namespace

std::string Write(const ColocationModel& together) {
  const ColocationState& state = together.state();
  return json::Write(json::Style::kFile, [&](json::Writer& out) {
    out.Object([&] {
      out.Object("coefficients", [&] {
        for (const auto& [name, member] : kCoefficients) {
          out.Field(name, state.coefficients.*member);
        }
      });
      out.List("companies", state.groups, [&](const ColocationState::Measured& group) {
        out.Object([&] {
          out.Field("speeds", group.speeds);
          out.Field("times", group.times);
          out.Field("who", group.who);
        });
      });
      out.Field("format", "sharewell-together");
      out.Key("of_measured");
      learn::WriteInto(out, BoundsText(state.of_measured));
      out.Key("of_predicted");
      learn::WriteInto(out, BoundsText(state.of_predicted));
      out.Field("repeat", state.repeat);
      out.List("residents", state.residents,
               [&](const Resident& resident) { WriteResident(out, resident); });
      out.Field("version", kVersion);
    });
  });
}

core::Result<ColocationModel> ColocationFromJson(json::Value value, const std::string& place) {
  std::string error;
  Reader in(value, place, Trust::kSent, error);
  in.Expect(in.NeedText("format") == "sharewell-together", "it is of another kind");
  in.Expect(in.NeedWhole("version", {0, 1'000'000}) == kVersion,
            "it was written by another version");
  ColocationState state;
  Reader coefficients = in.Part("coefficients");
  for (const auto& [name, member] : kCoefficients) {
    state.coefficients.*member = coefficients.NeedNumber(name, {0, kLargestCoefficient});
  }
  state.repeat = in.NeedNumber("repeat", {0, 1});
  for (const json::Value one : in.NeedList("residents", kMostResidents)) {
    const std::string where = fmt::format("{}residents[{}].", place, state.residents.size());
    state.residents.push_back(ResidentFrom({one, where, Trust::kSent, error}));
    if (!in.ok()) break;
  }
  for (const json::Value one : in.NeedList("companies", kMostGroups)) {
    const std::string where = fmt::format("{}companies[{}]: ", place, state.groups.size());
    state.groups.push_back(
        ColocationFrom({one, where, Trust::kSent, error}, state.residents.size()));
    if (!in.ok()) break;
  }
  const json::Value of_measured = in.NeedOrNull("of_measured");
  const json::Value of_predicted = in.NeedOrNull("of_predicted");
  in.RefuseOthers();
  if (!in.ok()) return learn::Damaged(kWhat, error);
  auto measured = BoundsFrom(of_measured, place + "of_measured.");
  RETURN_IF_ERROR(measured);
  auto predicted = BoundsFrom(of_predicted, place + "of_predicted.");
  RETURN_IF_ERROR(predicted);
  state.of_measured = *std::move(measured);
  state.of_predicted = *std::move(predicted);
  return ColocationModel::From(std::move(state));
}

core::Result<ColocationModel> ReadColocations(std::string_view text) {
  const auto parsed = json::Document::Parse(text);
  if (!parsed) return learn::Damaged(kWhat, parsed.error().message);
  return ColocationFromJson(parsed->root());
}

}  // namespace sharewell::predict
