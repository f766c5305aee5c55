// Exposition: the newest readings of each collector as a page for Prometheus (text format 0.0.4).
//
// Names and labels are dcgm-exporter's and node_exporter's where they have the metric, ours
// (`sharewell_`) elsewhere. What a GPU does is told without jobs; who is on it is told by
// `sharewell_job_gpu_info`, and a job's own figures say whether they were measured or apportioned.
// A collector that is down, or whose reading is older than three intervals, is left out; the page
// never fails. All methods may be called from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/sampling/sampler.h"
#include "control/sampling/store_writer.h"
#include "core/metric.h"
#include "platform/mutex.h"

namespace sharewell::api {

inline constexpr std::string_view kExpositionType = "text/plain; version=0.0.4; charset=utf-8";

// Which pod a job is: labels of what is told of it.
struct PodLabels {
  std::string name_space, name;
};

// What dcgm-exporter's labels say of a GPU.
struct GpuLabels {
  std::string instance;  // Reading::instance of its device: "0"
  std::string uuid, pci_bus_id, device, model;
};

// The agent itself.
struct AgentFigures {
  std::vector<control::CollectorState> collectors;
  control::AgentCost cost;
  std::optional<control::StoreWriterState> store;  // absent: nothing is stored
  std::string version;
};

class Exposition {
 public:
  using FindGpus = std::function<std::vector<GpuLabels>()>;
  using FindPods = std::function<std::map<std::string, PodLabels>()>;  // by job: "pod/UID"

  // `find_gpus` is asked by Take when a GPU is not known yet, at most once a minute; `find_pods`
  // when a pod is not, at most every 5 s, and may be empty.
  Exposition(std::string hostname, FindGpus find_gpus, control::Clock& clock,
             FindPods find_pods = {});

  // A sink of the sampler.
  void Take(const control::CollectorState& state, const std::shared_ptr<const core::Batch>& batch);

  std::string Text(const AgentFigures& agent) const;

 private:
  struct Latest {
    std::shared_ptr<const core::Batch> batch;
    std::chrono::nanoseconds taken{0}, keep{0};
  };

  void LearnGpus(const core::Batch& batch) SHAREWELL_REQUIRES(mutex_);
  void LearnPods(const core::Batch& batch) SHAREWELL_REQUIRES(mutex_);

  const std::string hostname_;
  const FindGpus find_gpus_;
  control::Clock& clock_;
  const FindPods find_pods_;
  mutable platform::Mutex mutex_;
  std::map<std::string, Latest> latest_ SHAREWELL_GUARDED_BY(mutex_);  // by collector
  std::vector<GpuLabels> gpus_ SHAREWELL_GUARDED_BY(mutex_);
  std::map<std::string, PodLabels> pods_ SHAREWELL_GUARDED_BY(mutex_);
  std::optional<std::chrono::nanoseconds> looked_for_gpus_ SHAREWELL_GUARDED_BY(mutex_),
      looked_for_pods_ SHAREWELL_GUARDED_BY(mutex_);
};

}  // namespace sharewell::api
