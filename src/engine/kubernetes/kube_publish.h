// What GPUs a node has, written by its own agent into the annotation sharewell.io/gpus of the node
// object, where the scheduler reads it.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "engine/kubernetes/kube_driver.h"

namespace sharewell::engine {

// "H200 GPU-8f2a... GPU-77aa...": what ParseKubeGpus reads. A model's spaces become dashes, which
// the catalogue takes for the same. An error: it could not be read back.
core::Result<std::string> FormatKubeGpus(const std::string& model,
                                         const std::vector<std::string>& uuids);

// Whether anything was written: not where the node says so already. Errors say what to do: no such
// node, a right that is missing, no answer. It can be called again at any time.
core::Result<bool> PublishKubeGpus(KubeDriver& driver, const std::string& node,
                                   const std::string& gpus);

}  // namespace sharewell::engine
