#include "engine/kubernetes/pods/pod_watcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/writer.h"

namespace sharewell::engine {
namespace {

// A key has no slash: "sharewell_watch.steps.py".
std::string KeyOf(std::string path) {
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}

std::string InQuotes(std::string_view text) {
  std::string out;
  json::Writer(out).Value(text);
  return out;
}

}  // namespace

std::string WatcherVolume(const WatcherContents& files) {
  std::vector<std::string> items;
  for (const auto& [path, contents] : files) {
    items.push_back(
        fmt::format(R"({{"key": {}, "path": {}}})", InQuotes(KeyOf(path)), InQuotes(path)));
  }
  return fmt::format(R"("configMap": {{"name": "{}", "optional": true, "items": [{}]}})",
                     kWatcherName, fmt::join(items, ", "));
}

std::string WatcherMap(const WatcherContents& files, const std::string& name_space) {
  std::string out = fmt::format(
      "# The watcher of Sharewell, which pods with the annotation sharewell.io/watch run.\n"
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\n",
      kWatcherName);
  if (!name_space.empty()) out += fmt::format("  namespace: {}\n", InQuotes(name_space));
  out += "data:\n";
  for (const auto& [path, contents] : files) {
    out += fmt::format("  {}: {}\n", KeyOf(path), InQuotes(contents));
  }
  return out;
}

}  // namespace sharewell::engine
