// The watcher: the Python files that tell what a job does from inside (python/watcher/), which the
// program carries within itself, and how a job comes to run them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace sharewell::platform {

// By their path in the folder: "sitecustomize.py", "sharewell_watch/__init__.py".
const std::vector<std::pair<std::string, std::string_view>>& WatcherFiles();

// Writes them below `folder`, which is made where it is not there. What is there with the same
// contents is not touched, what differs is replaced whole: running jobs may read it meanwhile.
// Whatever the umask, everybody may read it, so that every user's jobs can.
core::Result<void> WriteWatcher(const std::string& folder);

// PYTHONPATH with the folder in front of what it was.
std::string WatcherPythonPath(const std::string& folder, std::string_view before);

}  // namespace sharewell::platform
