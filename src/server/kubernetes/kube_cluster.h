// KubeCluster: the way to a Kubernetes cluster, opened: who we are there, which replica leads, and
// the runner of its pods.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "core/units.h"
#include "engine/kubernetes/control/kube_runner.h"

namespace sharewell::server {

class Learner;

// A Kubernetes cluster whose pods are bound here.
struct KubernetesOptions {
  std::string scheduler = "sharewell";  // pods with this schedulerName
  std::string name_space = {};          // of this namespace alone; empty: of all
  std::string kubeconfig = {};          // empty: $KUBECONFIG, the service account, ~/.kube/config
  std::string context = {};             // empty: the kubeconfig's current one
  // Where the Lease is by which one of several replicas leads; empty: there is but this one.
  std::string lease_namespace = {};
};

struct KubeClusterOptions {
  KubernetesOptions kubernetes;
  std::string node;    // this machine's name
  std::string models;  // the folder of model files that pods may name
  core::Seconds origin{0};
  std::int64_t first_number = 1;
  std::function<void(const std::string&)> say;
  engine::StepsOfRuns steps;  // what agents on the nodes tell
  // Whether one is at work on that node, as KubeControlOptions has it.
  std::function<std::optional<bool>(const std::string& node)> watched = {};
};

class KubeCluster {
 public:
  // Where there are replicas, it waits until this one leads. REQUIRES: signals are held, as
  // WaitForSignal has it; both others outlive it. An error too: no node has GPUs that can be used.
  static core::Result<std::unique_ptr<KubeCluster>> Open(KubeClusterOptions options,
                                                         const catalogue::GpuCatalogue& catalogue,
                                                         Learner& learner);
  ~KubeCluster();  // another replica may lead at once

  engine::KubeRunner& runner();
  void StopPredicting();  // the learner goes before this does

 private:
  struct Parts;
  explicit KubeCluster(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace sharewell::server
