// InjectPods: adds to pods what they need to be placed by Sharewell, in the text that their user
// wrote: spec.schedulerName, in every container the environment variables that refer to the
// annotations of the binding, and a volume in which they may tell of their steps. All else stays as
// it is, byte for byte; what is there already stays too. Pods, and the pod templates of
// Deployments, Jobs and the like. An annotation of ours that the server would not understand is
// refused here, where its user sees it.
//
// A pod with sharewell.io/watch gets the watcher too (pod_watcher.h): its volume, and its folder in
// front of the PYTHONPATH of each container. The ConfigMap comes as a document before all others.
// `--model FILE` adds what the pod is predicted to need (pod_known.h), so that the model file need
// not be in the cluster. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "engine/kubernetes/pods/pod_watcher.h"
#include "engine/kubernetes/pods/pod_words.h"

namespace sharewell::engine {

// What stands in the annotation sharewell.io/known of a pod that says this.
using KnownOf = std::function<core::Result<std::string>(const PodWords&)>;

// `known`: empty: no pod gets that annotation. Usage errors: it is no YAML, has no pod, names
// another scheduler, has an annotation that is not understood, or cannot be changed by adding lines
// alone.
core::Result<std::string> InjectPods(std::string_view yaml, std::string_view scheduler,
                                     const WatcherContents& watcher, const KnownOf& known = {});

}  // namespace sharewell::engine
