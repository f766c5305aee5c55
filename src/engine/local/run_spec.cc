#include "engine/local/run_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <concepts>

namespace sharewell::engine {
namespace {

using core::Quantity;
using engine::JobSpec;

// One function names all fields; it is called with one that writes them and with one that reads.
template <class Request, class F>
void EachField(Request& r, F&& field) {
  auto& asked = r.asked;
  field("job", r.id.job);
  field("attempt", r.id.attempt);
  field("user", r.user.name);
  field("user_uid", r.user.uid);
  field("user_gid", r.user.gid);
  field("user_admin", r.user.admin);
  field("cores", r.cores);
  field("thread_share", r.thread_share);
  field("gpu_memory", r.gpu_memory);
  field("shares", r.shares);
  field("asked_name", asked.name);
  field("asked_word", asked.command);
  field("asked_folder", asked.folder);
  field("asked_env", asked.environment);
  field("asked_gpus", asked.gpus);
  field("asked_cores", asked.cores);
  field("asked_gpu_memory", asked.gpu_memory);
  field("asked_memory", asked.memory);
  field("asked_gpu_model", asked.gpu_models);
  field("asked_exclusive", asked.exclusive);
  field("asked_max_slowdown", asked.max_slowdown);
  field("asked_priority", asked.priority);
  field("asked_sm_share", asked.sm_share);
  field("asked_latency_sensitive", asked.latency_sensitive);
  field("asked_time_limit", asked.time_limit);
  field("asked_image", asked.image);
  field("asked_after", asked.after);
  field("asked_held", asked.held);
  field("asked_requeue", asked.requeue);
  field("asked_terminal", asked.terminal);
  field("asked_umask", asked.umask);
  field("asked_profile", asked.profile);
  field("asked_array", asked.array);
  field("asked_array_at_once", asked.array_at_once);
}

template <class Needs, class F>
void EachNeed(Needs& needs, F&& field) {
  auto& profile = needs.profile;
  field("needs_source", needs.source);
  field("needs_from", needs.from);
  field("needs_workload", profile.workload.name);
  field("needs_batch", profile.workload.batch);
  field("needs_precision", profile.workload.precision);
  field("needs_workers", profile.workload.workers);
  field("needs_gpu", profile.gpu);
  field("needs_steps_per_second", profile.steps_per_second);
  field("needs_busy", profile.busy);
  field("needs_sm", profile.sm);
  field("needs_dram", profile.dram);
  field("needs_gpu_memory", profile.gpu_memory);
  field("needs_pcie", profile.pcie);
  field("needs_cpu_cores", profile.cpu_cores);
  field("needs_host_memory", profile.host_memory);
  field("needs_host_bandwidth", profile.host_bandwidth);
  field("needs_power", profile.power);
  field("needs_kernel_time", profile.kernel_time);
  field("needs_kernels", profile.kernels);
  field("needs_cpu_curve", profile.cpu_curve);
  field("needs_gpu_memory_upper", needs.gpu_memory_upper);
  field("needs_cores_upper", needs.cores_upper);
  field("needs_duration", needs.duration);
  field("needs_graph", needs.graph);
  field("needs_optimizer", needs.optimizer);
  field("needs_retrained", needs.retrained);
}

template <class F>
void EachGpu(F&& field, auto& gpu) {
  field("given_index", gpu.index);
  field("given_uuid", gpu.uuid);
  field("given_model", gpu.model);
}

struct Writer {
  JobSpec& spec;
  bool plain = true;  // no text has a zero byte

  void operator()(std::string_view key, const std::string& text) {
    plain = plain && text.find('\0') == text.npos;
    spec.Put(key, text);
  }
  void operator()(std::string_view key, double number) { spec.Put(key, number); }
  void operator()(std::string_view key, core::Source source) {
    spec.Put(key, fmt::format("{}", static_cast<int>(source)));
  }
  template <std::integral T>
  void operator()(std::string_view key, T number) {
    spec.Put(key, fmt::format("{}", static_cast<std::int64_t>(number)));
  }
  template <class Tag>
  void operator()(std::string_view key, Quantity<Tag> quantity) {
    spec.Put(key, quantity.value);
  }
  template <class T>
  void operator()(std::string_view key, const std::optional<T>& value) {
    if (value) (*this)(key, *value);
  }
  template <class T>
  void operator()(std::string_view key, const std::vector<T>& values) {
    for (const T& value : values) (*this)(key, value);
  }
  void operator()(std::string_view key, const std::pair<std::string, std::string>& entry) {
    (*this)(key, entry.first + "=" + entry.second);
  }
  void operator()(std::string_view key, const std::pair<double, double>& point) {
    spec.Put(key, fmt::format("{} {}", point.first, point.second));
  }
};

template <class T>
bool NumberFrom(std::string_view text, T& out) {
  return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc();
}

bool FromText(std::string_view text, std::string& out) {
  out = text;
  return true;
}
bool FromText(std::string_view text, double& out) { return NumberFrom(text, out); }
bool FromText(std::string_view text, bool& out) {
  out = text == "1";
  return true;
}
template <std::integral T>
bool FromText(std::string_view text, T& out) {
  return NumberFrom(text, out);
}
bool FromText(std::string_view text, core::Source& out) {
  int number = 0;
  if (!NumberFrom(text, number) || number < 0 || number > 2) return false;
  out = static_cast<core::Source>(number);
  return true;
}
template <class Tag>
bool FromText(std::string_view text, Quantity<Tag>& out) {
  return NumberFrom(text, out.value);
}
bool FromText(std::string_view text, std::pair<std::string, std::string>& out) {
  const std::size_t equals = std::min(text.find('='), text.size());
  out = {std::string(text.substr(0, equals)),
         std::string(text.substr(std::min(equals + 1, text.size())))};
  return true;
}
bool FromText(std::string_view text, std::pair<double, double>& out) {
  const std::size_t space = std::min(text.find(' '), text.size());
  return NumberFrom(text.substr(0, space), out.first) && space < text.size() &&
         NumberFrom(text.substr(space + 1), out.second);
}

// Of a spec's records, the `which`th of each key (GPUs), or all of them for a list.
struct Reader {
  const JobSpec& spec;
  std::size_t which = 0;

  template <class T>
  void operator()(std::string_view key, T& out) const {
    const auto all = spec.All(key);
    if (which < all.size()) FromText(all[which], out);
  }
  template <class T>
  void operator()(std::string_view key, std::optional<T>& out) const {
    T value{};
    const auto text = spec.Get(key);
    if (text && FromText(*text, value)) out = value;
  }
  template <class T>
  void operator()(std::string_view key, std::vector<T>& out) const {
    for (const std::string_view text : spec.All(key)) {
      T value{};
      if (FromText(text, value)) out.push_back(std::move(value));
    }
  }
};

}  // namespace

bool PutRequest(const RunRequest& request, JobSpec& spec) {
  Writer writer{spec};
  EachField(request, writer);
  for (const core::GivenGpu& gpu : request.gpus) EachGpu(writer, gpu);
  if (request.asked.needs) EachNeed(*request.asked.needs, writer);
  return writer.plain;
}

RunRequest RequestIn(const JobSpec& spec) {
  RunRequest request;
  EachField(request, Reader{spec});
  request.gpus.resize(spec.All("given_uuid").size());
  for (std::size_t i = 0; i < request.gpus.size(); ++i) EachGpu(Reader{spec, i}, request.gpus[i]);
  if (spec.Get("needs_source")) EachNeed(request.asked.needs.emplace(), Reader{spec});
  return request;
}

}  // namespace sharewell::engine
