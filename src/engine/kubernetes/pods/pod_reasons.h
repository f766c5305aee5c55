// What the service says of a job, in the words of Kubernetes: its users know pods, nodes and uuids
// of GPUs, and no numbers of jobs. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sharewell::engine {

// Of what is not known: empty, and the words stay as they are.
struct KubeNames {
  std::function<std::string(std::int64_t)> pod_of;  // a job: "team/train-x7"
  std::function<std::string(int)> gpu;              // by its number here: "GPU-8f2a of node n1"
};

// "GPU 2 has job 3 of team" becomes "GPU GPU-8f2a of node n1 has pod team/train-x7".
std::string InKubeWords(std::string_view words, const KubeNames& names);

}  // namespace sharewell::engine
