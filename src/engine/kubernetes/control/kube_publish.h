// What GPUs a node has, written on the node itself into its object: into the annotation
// sharewell.io/gpus, where the scheduler reads it, and their memory as the extended resource
// sharewell.io/gpu-memory, of which Kubernetes counts what pods ask for.
#pragma once

#include <string>
#include <vector>

#include "core/gpu_islands.h"
#include "core/result.h"
#include "core/units.h"
#include "engine/kubernetes/api/kube_driver.h"

namespace sharewell::engine {

struct PublishedGpus {
  std::string model;
  std::vector<std::string> uuids;  // by number; empty: that GPU is not for pods
  core::GpuIslands islands;        // by the same numbers
  core::Bytes memory{};            // of each of them
};

// "H200 GPU-8f2a... - GPU-77aa... near:0,2": what ParseKubeGpus reads. A model's spaces become
// dashes, which the catalogue takes for the same. An error: it could not be read back.
core::Result<std::string> FormatKubeGpus(const PublishedGpus& gpus);

struct PublishedNode {
  bool changed = false;       // false: the node said so already, and nothing was written
  std::string words;          // as they stand there now
  std::vector<int> left_out;  // by number: the node's annotation says that they are not for pods
};

// What somebody has left out on the node (a "-" in its place) stays left out. Errors say what to
// do: no such node, a right that is missing, no answer. It can be called again at any time.
core::Result<PublishedNode> PublishKubeGpus(KubeDriver& driver, const std::string& node,
                                            PublishedGpus gpus);

}  // namespace sharewell::engine
