#include "store/profiles/profile_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "core/text/quoted.h"

namespace sharewell::store {
namespace {

using Json = nlohmann::ordered_json;

// Far below what a parser's recursion can bear.
constexpr int kDeepest = 32;

// One list of the fields for both ways: Writer puts them into an object, Reader takes them out.
class Writer {
 public:
  Json object = Json::object();

  void Field(const char* name, const std::string& value) { object[name] = value; }
  void Field(const char* name, const std::int64_t& value) { object[name] = value; }
  void Field(const char* name, const int& value) { object[name] = value; }
  void Field(const char* name, const bool& value) { object[name] = value; }
  void Field(const char* name, const double& value) {
    if (std::isfinite(value)) object[name] = value;
  }
  template <class Tag>
  void Field(const char* name, const core::Quantity<Tag>& value) {
    Field(name, value.value);
  }
  template <class T>
  void Field(const char* name, const std::optional<T>& value) {
    if (value) Field(name, *value);
  }
  void Field(const char* name, const std::vector<std::string>& values) { object[name] = values; }
  template <class A, class B>
  void Field(const char* name, const std::vector<std::pair<A, B>>& values) {
    Json& list = object[name] = Json::array();
    for (const auto& [first, second] : values) {
      if constexpr (std::is_same_v<A, double>) {
        if (!std::isfinite(first) || !std::isfinite(second)) continue;
      }
      list.push_back(Json::array({first, second}));
    }
  }
  template <class T>
  void Field(const char* name, const std::vector<T>& values) {
    Json& list = object[name] = Json::array();
    for (const T& value : values) {
      Writer inner;
      Fields(inner, value);
      list.push_back(std::move(inner.object));
    }
  }
};

class Reader {
 public:
  Reader(const Json& object, std::string place, std::string& error)
      : object_(object), place_(std::move(place)), error_(error) {
    if (!object.is_object()) Fail("", "an object");
  }

  void Field(const char* name, std::string& value) {
    Take(name, "text", [&](const Json& json) {
      if (!json.is_string()) return false;
      value = json.get<std::string>();
      return true;
    });
  }
  void Field(const char* name, std::int64_t& value) {
    Take(name, "a whole number", [&](const Json& json) { return Whole(json, value); });
  }
  void Field(const char* name, int& value) {
    Take(name, "a whole number", [&](const Json& json) {
      std::int64_t whole = 0;
      if (!Whole(json, whole) || whole < std::numeric_limits<int>::min() ||
          whole > std::numeric_limits<int>::max()) {
        return false;
      }
      value = static_cast<int>(whole);
      return true;
    });
  }
  void Field(const char* name, bool& value) {
    Take(name, "true or false", [&](const Json& json) {
      if (!json.is_boolean()) return false;
      value = json.get<bool>();
      return true;
    });
  }
  void Field(const char* name, double& value) {
    Take(name, "a number", [&](const Json& json) {
      if (!json.is_number()) return false;
      value = json.get<double>();
      return true;
    });
  }
  template <class Tag>
  void Field(const char* name, core::Quantity<Tag>& value) {
    Field(name, value.value);
  }
  template <class T>
  void Field(const char* name, std::optional<T>& value) {
    const auto found = object_.find(name);
    if (found == object_.end() || found->is_null()) return;
    Field(name, value.emplace());
  }
  void Field(const char* name, std::vector<std::string>& values) {
    Items(name, [&](const Json& json) {
      if (!json.is_string()) return false;
      values.push_back(json.get<std::string>());
      return true;
    });
  }
  template <class A, class B>
  void Field(const char* name, std::vector<std::pair<A, B>>& values) {
    Items(name, [&](const Json& json) {
      if (!json.is_array() || json.size() != 2) return false;
      for (const Json& part : json) {
        if (std::is_same_v<A, double> ? !part.is_number() : !part.is_string()) return false;
      }
      values.emplace_back(json[0].get<A>(), json[1].get<B>());
      return true;
    });
  }
  template <class T>
  void Field(const char* name, std::vector<T>& values) {
    Items(name, [&](const Json& json) {
      Reader inner(json, place_ + name + "[].", error_);
      if (error_.empty()) Fields(inner, values.emplace_back());
      return true;
    });
  }

 private:
  static bool Whole(const Json& json, std::int64_t& value) {
    if (json.is_number_unsigned() &&
        json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      return false;
    }
    if (!json.is_number_integer()) return false;
    value = json.get<std::int64_t>();
    return true;
  }
  void Fail(const char* name, const char* wanted) {
    if (error_.empty()) error_ = fmt::format("{}{} is not {}", place_, name, wanted);
  }
  template <class Taker>
  void Take(const char* name, const char* wanted, const Taker& taker) {
    if (!error_.empty()) return;
    const auto found = object_.find(name);
    if (found != object_.end() && !taker(*found)) Fail(name, wanted);
  }
  template <class Taker>
  void Items(const char* name, const Taker& taker) {
    Take(name, "a list of what belongs there", [&](const Json& json) {
      if (!json.is_array()) return false;
      for (const Json& item : json) {
        if (!taker(item)) return false;
      }
      return true;
    });
  }

  const Json& object_;
  std::string place_;
  std::string& error_;
};

template <class Visitor, class T>
concept Of = std::is_same_v<std::remove_const_t<Visitor>, T>;

void Visit(auto& v, Of<core::Figure> auto& figure) {
  v.Field("metric", figure.metric);
  v.Field("instance", figure.instance);
  v.Field("unit", figure.unit);
  v.Field("mean", figure.mean);
  v.Field("least", figure.least);
  v.Field("most", figure.most);
  v.Field("median", figure.median);
  v.Field("p95", figure.p95);
  v.Field("deviation", figure.deviation);
  v.Field("readings", figure.readings);
}

void Visit(auto& v, Of<core::KernelFigure> auto& kernel) {
  v.Field("name", kernel.name);
  v.Field("launches", kernel.launches);
  v.Field("time_s", kernel.time);
  v.Field("sm", kernel.sm);
  v.Field("memory", kernel.memory);
  v.Field("l2", kernel.l2);
  v.Field("dram", kernel.dram);
  v.Field("occupancy", kernel.occupancy);
  v.Field("dram_read_bytes_per_s", kernel.dram_read);
  v.Field("dram_write_bytes_per_s", kernel.dram_write);
  v.Field("dram_read_share", kernel.dram_read_share);
  v.Field("dram_write_share", kernel.dram_write_share);
}

void Visit(auto& v, Of<core::ProfileRecord> auto& record) {
  v.Field("name", record.name);
  v.Field("created_ms", record.created);
  v.Field("source", record.source);
  auto& profile = record.profile;
  v.Field("workload", profile.workload.name);
  v.Field("batch", profile.workload.batch);
  v.Field("precision", profile.workload.precision);
  v.Field("workers", profile.workload.workers);
  v.Field("gpu", profile.gpu);
  v.Field("steps_per_second", profile.steps_per_second);
  v.Field("busy", profile.busy);
  v.Field("sm", profile.sm);
  v.Field("dram", profile.dram);
  v.Field("gpu_memory_bytes", profile.gpu_memory);
  v.Field("pcie_bytes_per_s", profile.pcie);
  v.Field("cpu_cores", profile.cpu_cores);
  v.Field("host_memory_bytes", profile.host_memory);
  v.Field("host_bandwidth_bytes_per_s", profile.host_bandwidth);
  v.Field("power_w", profile.power);
  v.Field("kernel_s", profile.kernel_time);
  v.Field("kernels_per_step", profile.kernels);
  v.Field("cpu_curve", profile.cpu_curve);
  v.Field("command", record.command);
  v.Field("environment", record.environment);
  v.Field("figures", record.figures);
  v.Field("kernels", record.kernels);
  v.Field("throughput_source", record.throughput_source);
  v.Field("warmup_s", record.warmup);
  v.Field("window_s", record.window);
  v.Field("repeats", record.repeats);
  v.Field("settled", record.settled);
  v.Field("uncertainty", record.uncertainty);
  v.Field("exit_code", record.exit_code);
  v.Field("bound_by", record.bound_by);
  v.Field("notes", record.notes);
}

template <class Visitor, class T>
void Fields(Visitor& visitor, T& value) {
  Visit(visitor, value);
}

bool TooDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false, escaped = false;
  for (const char c : text) {
    if (in_string) {
      if (escaped) {
        escaped = false;
      } else if (c == '\\') {
        escaped = true;
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepest) return true;
  }
  return false;
}

}  // namespace

std::string ProfileToJson(const core::ProfileRecord& record) {
  Writer writer;
  Fields(writer, record);
  return writer.object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

core::Result<core::ProfileRecord> ProfileFromJson(std::string_view text) {
  if (TooDeep(text)) return core::FailedError("the profile is nested too deeply to be one of ours");
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return core::FailedError("the profile is no JSON: it begins with {}", core::Quoted(text));
  }
  core::ProfileRecord record;
  std::string error;
  Reader reader(json, "", error);
  if (error.empty()) Fields(reader, record);
  if (!error.empty()) return core::FailedError("the profile is not one of ours: {}", error);
  return record;
}

}  // namespace sharewell::store
