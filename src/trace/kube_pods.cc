#include "trace/kube_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "core/text/quoted.h"
#include "core/text/words.h"
#include "json/value.h"
#include "trace/assemble.h"

namespace sharewell::trace {
namespace {

using json::Value;

constexpr int kMostPriority = 1'000'000;  // of a trace
constexpr std::size_t kLongestName = 253;
constexpr std::size_t kMostBytes = std::size_t{2} << 30;

std::string_view PodText(Value of, std::string_view key) { return of[key].Text().value_or(""); }

// "2026-01-05T10:00:00Z", perhaps with a fraction. From 1970 to 2286.
std::optional<double> PodTime(std::string_view text) {
  if (text.size() < 20 || text.back() != 'Z' || text[4] != '-' || text[7] != '-' ||
      text[10] != 'T' || text[13] != ':' || text[16] != ':' ||
      (text[19] != 'Z' && text[19] != '.')) {
    return std::nullopt;
  }
  bool fine = true;
  const auto part = [&](std::size_t at, std::size_t size) {
    unsigned value = 0;
    const char* end = text.data() + at + size;
    const auto [rest, error] = std::from_chars(text.data() + at, end, value);
    fine = fine && error == std::errc() && rest == end;
    return value;
  };
  const unsigned year = part(0, 4), month = part(5, 2), day = part(8, 2), hour = part(11, 2),
                 minute = part(14, 2), second = part(17, 2);
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(month), std::chrono::day(day)};
  if (!fine || !date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const double days = std::chrono::sys_days(date).time_since_epoch().count();
  const double seconds = days * 86400 + hour * 3600 + minute * 60 + second;
  return seconds > 0 && seconds <= 9'999'999'999 ? std::optional(seconds) : std::nullopt;
}

// "500m", "2", "1Gi", "1e3", "128M", as text or as a number.
std::optional<double> PodQuantity(Value value) {
  if (const auto number = value.Number()) {
    return *number >= 0 && *number < 1e18 ? number : std::nullopt;
  }
  if (!value.is_text()) return std::nullopt;
  const std::string_view text = *value.Text();
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  std::string_view suffix(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  double scale = 1;
  if (suffix == "m") {
    scale = 1e-3;
  } else if (!suffix.empty()) {
    const bool binary = suffix.size() == 2 && suffix[1] == 'i';
    const std::size_t at = std::string_view("kMGTPE").find(suffix[0] == 'K' ? 'k' : suffix[0]);
    if (at == std::string_view::npos || suffix.size() > (binary ? 2U : 1U)) return std::nullopt;
    scale = std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(at + 1));
  }
  const double out = number * scale;
  return out < 1e18 ? std::optional(out) : std::nullopt;
}

bool IsKubeName(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

bool IsWholeGpu(std::string_view resource) {
  return resource == "nvidia.com/gpu" || resource == "nvidia.com/gpu.shared" ||
         resource == "amd.com/gpu";
}

class KubePodsReader {
 public:
  KubePodsReader(const std::string& name, const std::string& name_space)
      : name_(name), name_space_(name_space) {}

  core::Result<Trace> Read(std::string_view text) {
    // Before it is copied for the parser: a file of gigabytes that is something else fails at once.
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || text[first] != '{' || text.size() > kMostBytes) {
      return core::UsageError("{}: it is no JSON{}; make it with: kubectl get pods -A -o json",
                              name_, text.size() > kMostBytes ? " of at most 2 GiB" : "");
    }
    const auto parsed = json::Document::Parse(text);
    if (!parsed) {
      return core::UsageError("{}: {}; make it with: kubectl get pods -A -o json", name_,
                              parsed.error().message);
    }
    const Value items = parsed->root()["items"];
    if (!items.is_list()) {
      return core::UsageError("{}: it has no items; make it with: kubectl get pods -A -o json",
                              name_);
    }
    Trace trace{"kubernetes", {}, {}};
    std::size_t number = 0;
    for (const Value pod : items.items()) {
      ++number;
      if (auto taken = Take(pod, trace); !taken) {
        return tl::unexpected(
            std::move(taken.error()).Within(fmt::format("{}: item {}", name_, number)));
      }
    }
    Remark(trace);
    if (trace.jobs.empty()) {
      return core::UsageError(
          "{}: no pod in it has run to its end{}; clusters remove ended pods after a while: dump "
          "them more often",
          name_, others_ > 0 ? fmt::format(" in the namespace {}", core::Quoted(name_space_)) : "");
    }
    return Assemble(std::move(trace), name_);
  }

 private:
  core::Result<void> Take(Value pod, Trace& trace) {
    const Value metadata = pod["metadata"], spec = pod["spec"], status = pod["status"];
    if (!pod.Has("metadata") || !pod.Has("spec")) {
      return core::UsageError("it is no pod: it has no metadata or spec");
    }
    if (const auto kind = PodText(pod, "kind"); !kind.empty() && kind != "Pod") {
      return core::UsageError("it is a {}, and no pod", core::Quoted(kind));
    }
    const std::string_view own = PodText(metadata, "name"), space = PodText(metadata, "namespace");
    if (!IsKubeName(own) || !IsKubeName(space)) {
      return core::UsageError("{}/{} is no name of a pod", core::Quoted(space), core::Quoted(own));
    }
    if (!name_space_.empty() && space != name_space_) {
      ++others_;
      return {};
    }
    const auto submit = PodTime(PodText(metadata, "creationTimestamp"));
    if (!submit) {
      return core::UsageError(
          "{}: metadata.creationTimestamp {} is not a time like "
          "2026-01-05T10:00:00Z",
          core::Quoted(own), core::Quoted(PodText(metadata, "creationTimestamp")));
    }
    if (OfDaemonSet(metadata)) {
      ++daemons_;
      return {};
    }
    if (!pod.Has("status")) {
      ++never_ran_;
      return {};
    }
    const std::string_view phase = PodText(status, "phase");
    if (phase != "Succeeded" && phase != "Failed") {
      ++live_;
      return {};
    }
    const Times times = TimesOf(status);
    if (!times.begin || !times.end || *times.end <= *times.begin) {
      ++never_ran_;
      return {};
    }
    TraceJob job;
    job.id = fmt::format("{}/{}", space, own);
    if (!ids_.insert(job.id).second) {
      ++doubles_;
      return {};
    }
    job.user = space;
    job.submit = core::Seconds(*submit);
    job.duration = core::Seconds(*times.end - *times.begin);
    const double placed = std::min(times.placed.value_or(*times.begin), *times.begin);
    job.waited = core::Seconds(std::max(0.0, placed - *submit));
    job.startup = core::Seconds(std::min(*times.begin - std::max(placed, *submit), 1e9));
    if (job.startup.value < 0) job.startup = core::Seconds(0);
    failed_ += phase == "Failed" ? 1 : 0;
    restarted_ += times.restarts ? 1 : 0;
    TakeNeeds(metadata, spec, job);
    trace.jobs.push_back(std::move(job));
    return {};
  }

  static bool OfDaemonSet(Value metadata) {
    const auto owners = metadata["ownerReferences"].items();
    return std::any_of(owners.begin(), owners.end(), [](Value owner) {
      const auto kind = PodText(owner, "kind");
      return kind == "DaemonSet" || kind == "Node";
    });
  }

  struct Times {
    std::optional<double> placed, begin, end;
    bool restarts = false;
  };
  static Times TimesOf(Value status) {
    Times out;
    for (const Value one : status["containerStatuses"].items()) {
      out.restarts = out.restarts || one["restartCount"].Whole().value_or(0) > 0;
      const Value ended = one["state"]["terminated"];
      const auto begin = PodTime(PodText(ended, "startedAt"));
      const auto end = PodTime(PodText(ended, "finishedAt"));
      if (begin) out.begin = std::min(out.begin.value_or(*begin), *begin);
      if (end) out.end = std::max(out.end.value_or(*end), *end);
    }
    for (const Value one : status["conditions"].items()) {
      if (PodText(one, "type") == "PodScheduled" && PodText(one, "status") == "True") {
        out.placed = PodTime(PodText(one, "lastTransitionTime"));
      }
    }
    const auto acknowledged = PodTime(PodText(status, "startTime"));
    if (!out.placed) out.placed = acknowledged;
    return out;
  }

  void TakeNeeds(Value metadata, Value spec, TraceJob& job) {
    double gpus = 0, cores = 0, memory = 0;
    for (const Value one : spec["containers"].items()) {
      // An extended resource asks for as much as it may have.
      for (const auto& [key, value] : one["resources"]["limits"].members()) {
        if (IsWholeGpu(key)) gpus += PodQuantity(value).value_or(0);
        if (key.starts_with("nvidia.com/mig-")) ++slices_;
      }
      for (const auto& [key, value] : one["resources"]["requests"].members()) {
        if (key == "cpu") cores += PodQuantity(value).value_or(0);
        if (key == "memory") memory += PodQuantity(value).value_or(0);
      }
    }
    const Value annotations = metadata["annotations"];
    const std::string_view ours = PodText(annotations, "sharewell.io/gpu-ids");
    if (gpus == 0 && !ours.empty()) {
      gpus = 1 + static_cast<double>(std::count(ours.begin(), ours.end(), ','));
    }
    const auto bytes = PodQuantity(annotations["sharewell.io/gpu-memory"]);
    if (bytes && *bytes > 0 && *bytes < 1e15) job.gpu_memory = core::Bytes(*bytes);
    job.gpus = static_cast<int>(std::min(std::ceil(gpus), static_cast<double>(kMostGpus)));
    if (cores > 0 && cores < 1e6) job.cores = cores;
    if (memory > 0 && memory < 1e15) job.host_memory = core::Bytes(memory);
    if (const auto priority = spec["priority"].Whole()) {
      cut_ += *priority > kMostPriority || *priority < -kMostPriority ? 1 : 0;
      job.priority =
          static_cast<int>(std::clamp<std::int64_t>(*priority, -kMostPriority, kMostPriority));
    }
    const std::string product(PodText(spec["nodeSelector"], "nvidia.com/gpu.product"));
    if (job.gpus == 0 || product.empty()) return;
    if (!catalogue_) catalogue_ = catalogue::GpuCatalogue::Builtin();
    if (const auto model = catalogue_->Find(product)) {
      job.gpu_models.push_back(model->name);
    } else {
      ++unknown_;
    }
  }

  void Remark(Trace& trace) const {
    const auto say = [&](std::size_t count, const char* words) {
      if (count > 0)
        trace.remarks.push_back(fmt::format("{} {}", core::Count(count, "pod"), words));
    };
    say(live_, "left out that wait or run");
    say(never_ran_, "left out that never ran, or do not say when");
    say(daemons_, "left out of DaemonSets or of the node itself");
    say(others_, "left out of other namespaces");
    say(doubles_, "left out that were there already");
    say(failed_, "failed: each is taken for a job that takes as long as it ran");
    say(restarted_, "were restarted: the last run is taken for the whole of the work");
    say(slices_, "had slices of a GPU (MIG), which are not counted");
    say(unknown_, "asked for a GPU that is no known model, and are bound to none");
    say(cut_, "have a priority beyond a million, which is taken for a million");
    trace.remarks.emplace_back("the namespace is taken for the user: a pod has none");
    trace.remarks.emplace_back(
        "Kubernetes does not know what the pods train, nor what GPU memory they need where no "
        "annotation says it");
  }

  const std::string& name_;
  const std::string& name_space_;
  std::optional<catalogue::GpuCatalogue> catalogue_;
  std::set<std::string> ids_;
  std::size_t live_ = 0, never_ran_ = 0, daemons_ = 0, others_ = 0, doubles_ = 0, failed_ = 0,
              restarted_ = 0, slices_ = 0, unknown_ = 0, cut_ = 0;
};

}  // namespace

bool DetectKubePods(std::string_view text) {
  const std::string_view begin = text.substr(0, 4096);
  const auto at = begin.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && begin[at] == '{' &&
         begin.find("\"items\"") != std::string_view::npos;
}

core::Result<Trace> ReadKubePods(std::string_view text, const std::string& name) {
  return ReadKubePods(text, name, "");
}

core::Result<Trace> ReadKubePods(std::string_view text, const std::string& name,
                                 const std::string& name_space) {
  return KubePodsReader(name, name_space).Read(text);
}

}  // namespace sharewell::trace
