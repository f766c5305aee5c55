// What pods of this machine are called: agents know them by their uid alone, as control groups have
// it. The kubelet keeps a link for each container's log, whose target names the pod; the logs
// themselves need not be readable.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "collect/host/files.h"

namespace sharewell::collect {

struct PodName {
  std::string name_space, name;

  friend bool operator==(const PodName&, const PodName&) = default;
};

// By job ("pod/UID"). Empty where no kubelet is.
std::map<std::string, PodName> ReadPodNames(HostFiles& files,
                                            std::string_view folder = "/var/log/containers");

}  // namespace sharewell::collect
