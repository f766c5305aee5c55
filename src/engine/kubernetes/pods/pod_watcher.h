// How the watcher (docs/watcher.md) gets into pods that ask for it: as a ConfigMap in their
// namespace, which they mount. No pod needs a right or a folder of its node for that, and one whose
// ConfigMap is not there starts without. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sharewell::engine {

// By their path in the watcher's folder (platform/files/watcher_files.h).
using WatcherContents = std::vector<std::pair<std::string, std::string_view>>;

inline constexpr std::string_view kWatcherName = "sharewell-watcher";     // the map and the volume
inline constexpr std::string_view kWatcherFolder = "/sharewell-watcher";  // in the container

// What its volume has beside its name, as JSON without the brackets around it.
std::string WatcherVolume(const WatcherContents& files);
// The ConfigMap, as a YAML document. `name_space`: its own; empty: that of whoever applies it.
std::string WatcherMap(const WatcherContents& files, const std::string& name_space);

}  // namespace sharewell::engine
