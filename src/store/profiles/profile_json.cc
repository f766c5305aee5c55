#include "store/profiles/profile_json.h"

#include <cmath>
#include <type_traits>
#include <utility>

#include "core/text/quoted.h"
#include "json/reader.h"
#include "json/writer.h"

namespace sharewell::store {
namespace {

constexpr std::size_t kDeepestProfile = 32;

template <class T, class Is>
concept Of = std::is_same_v<std::remove_const_t<T>, Is>;

// One list of the fields for both ways: FieldWriter writes them, FieldReader takes them.

void EachField(Of<core::Figure> auto& figure, auto& v) {
  v("metric", figure.metric);
  v("instance", figure.instance);
  v("unit", figure.unit);
  v("mean", figure.mean);
  v("least", figure.least);
  v("most", figure.most);
  v("median", figure.median);
  v("p95", figure.p95);
  v("deviation", figure.deviation);
  v("readings", figure.readings);
}

void EachField(Of<core::KernelFigure> auto& kernel, auto& v) {
  v("name", kernel.name);
  v("launches", kernel.launches);
  v("time_s", kernel.time);
  v("sm", kernel.sm);
  v("memory", kernel.memory);
  v("l2", kernel.l2);
  v("dram", kernel.dram);
  v("occupancy", kernel.occupancy);
  v("dram_read_bytes_per_s", kernel.dram_read);
  v("dram_write_bytes_per_s", kernel.dram_write);
  v("dram_read_share", kernel.dram_read_share);
  v("dram_write_share", kernel.dram_write_share);
}

void EachField(Of<core::ProfileRecord> auto& record, auto& v) {
  v("name", record.name);
  v("created_ms", record.created);
  v("source", record.source);
  v("user", record.user);
  v("by_admin", record.by_admin);
  auto& profile = record.profile;
  v("workload", profile.workload.name);
  v("batch", profile.workload.batch);
  v("precision", profile.workload.precision);
  v("workers", profile.workload.workers);
  v("gpu", profile.gpu);
  v("steps_per_second", profile.steps_per_second);
  v("busy", profile.busy);
  v("sm", profile.sm);
  v("dram", profile.dram);
  v("gpu_memory_bytes", profile.gpu_memory);
  v("pcie_bytes_per_s", profile.pcie);
  v("cpu_cores", profile.cpu_cores);
  v("host_memory_bytes", profile.host_memory);
  v("host_bandwidth_bytes_per_s", profile.host_bandwidth);
  v("power_w", profile.power);
  v("kernel_s", profile.kernel_time);
  v("kernels_per_step", profile.kernels);
  v("cpu_curve", profile.cpu_curve);
  v("command", record.command);
  v("environment", record.environment);
  v("figures", record.figures);
  v("kernels", record.kernels);
  v("throughput_source", record.throughput_source);
  v("warmup_s", record.warmup);
  v("window_s", record.window);
  v("repeats", record.repeats);
  v("settled", record.settled);
  v("uncertainty", record.uncertainty);
  v("exit_code", record.exit_code);
  v("bound_by", record.bound_by);
  v("notes", record.notes);
}

template <class T>
struct IsPair : std::false_type {};
template <class A, class B>
struct IsPair<std::pair<A, B>> : std::true_type {};

// What is not known is left out.
struct ProfileFieldWriter {
  json::Writer& writer;

  template <class T>
  void operator()(const char* key, const T& value) {
    writer.Field(key, value);
  }
  void operator()(const char* key, const double& value) {
    if (std::isfinite(value)) writer.Field(key, value);
  }
  template <class Tag>
  void operator()(const char* key, const core::Quantity<Tag>& value) {
    (*this)(key, value.value);
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) {
    if (value) (*this)(key, *value);
  }
  void operator()(const char* key, const core::CpuCurve& curve) {
    writer.Key(key);
    writer.List([&] {
      for (const auto& point : curve) {
        if (std::isfinite(point.first) && std::isfinite(point.second)) writer.Value(point);
      }
    });
  }
  template <class T>
  requires(!std::is_same_v<T, std::string> && !IsPair<T>::value) void operator()(
      const char* key, const std::vector<T>& values) {
    writer.List(key, values,
                [&](const T& value) { writer.Object([&] { EachField(value, *this); }); });
  }
};

struct ProfileFieldReader {
  json::Reader& reader;
  std::string& error;

  void operator()(const char* key, std::string& value) { reader.Text(key, value); }
  void operator()(const char* key, bool& value) { reader.Flag(key, value); }
  template <std::integral T>
  void operator()(const char* key, T& value) {
    reader.Whole(key, value);
  }
  template <std::integral T>
  void operator()(const char* key, std::optional<T>& value) {
    reader.Whole(key, value);
  }
  template <class T>
  void operator()(const char* key, T& value) {
    reader.Number(key, value);
  }
  void operator()(const char* key, std::vector<std::string>& values) {
    reader.Texts(key, values, json::Reader::kAnyLength);
  }
  template <class A, class B>
  void operator()(const char* key, std::vector<std::pair<A, B>>& values) {
    Entries(key, [&](json::Value entry) {
      const json::Value first = entry.At(0), second = entry.At(1);
      if constexpr (std::is_same_v<A, double>) {
        const auto a = first.Number(), b = second.Number();
        if (entry.size() == 2 && a && b) return void(values.emplace_back(*a, *b));
      } else {
        const auto a = first.Text(), b = second.Text();
        if (entry.size() == 2 && a && b) return void(values.emplace_back(*a, *b));
      }
      reader.Fail(key, fmt::format("{} is no pair that belongs there", entry.Quoted()));
    });
  }
  template <class T>
  void operator()(const char* key, std::vector<T>& values) {
    Entries(key, [&](json::Value entry) {
      json::Reader inner(entry, fmt::format("{}[].", key), json::Trust::kStored, error);
      ProfileFieldReader fields{inner, error};
      EachField(values.emplace_back(), fields);
    });
  }
  template <class F>
  void Entries(const char* key, F take) {
    reader.Each(key, json::Reader::kAnyLength, take);
  }
};

}  // namespace

std::string ProfileToJson(const core::ProfileRecord& record) {
  std::string out;
  json::Writer writer(out, json::Style::kFile);
  ProfileFieldWriter fields{writer};
  writer.Object([&] { EachField(record, fields); });
  return out;
}

core::Result<core::ProfileRecord> ProfileFromJson(std::string_view text) {
  const auto parsed = json::Document::Parse(text, kDeepestProfile);
  if (!parsed) {
    return core::FailedError("the profile is no JSON: {}: it begins with {}",
                             parsed.error().message, core::Quoted(text));
  }
  core::ProfileRecord record;
  std::string error;
  json::Reader reader(parsed->root(), "", json::Trust::kStored, error);
  ProfileFieldReader fields{reader, error};
  EachField(record, fields);
  if (!error.empty()) return core::FailedError("the profile is not one of ours: {}", error);
  return record;
}

}  // namespace sharewell::store
