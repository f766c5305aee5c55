#include "collect/host/pod_names.h"

#include <algorithm>
#include <utility>

namespace sharewell::collect {
namespace {

constexpr std::size_t kMostLogLinks = 10'000;

// "NAMESPACE_NAME_UID": neither of the first two has a '_'.
void AddPodName(std::string_view folder, std::map<std::string, PodName>& names) {
  const std::size_t first = folder.find('_');
  const std::size_t last = folder.rfind('_');
  if (first == std::string_view::npos || first == 0 || last <= first + 1) return;
  const std::string_view uid = folder.substr(last + 1);
  const std::string_view name = folder.substr(first + 1, last - first - 1);
  if (uid.empty() || name.find('_') != std::string_view::npos) return;
  names["pod/" + std::string(uid)] = {std::string(folder.substr(0, first)), std::string(name)};
}

}  // namespace

std::map<std::string, PodName> ReadPodNames(HostFiles& files, std::string_view folder) {
  std::map<std::string, PodName> names;
  const auto links = files.Names(folder);
  for (std::size_t i = 0; i < std::min(links.size(), kMostLogLinks); ++i) {
    // ".../NAMESPACE_NAME_UID/CONTAINER/0.log"
    const std::string target = files.LinkTarget(std::string(folder) + "/" + links[i]);
    std::string_view left = target;
    for (int level = 0; level < 2; ++level) {
      left = left.substr(0, std::min(left.rfind('/'), left.size()));
    }
    const std::size_t slash = left.rfind('/');
    if (slash != std::string_view::npos) AddPodName(left.substr(slash + 1), names);
  }
  return names;
}

}  // namespace sharewell::collect
