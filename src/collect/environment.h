// Under which circumstances something was measured: facts for ProfileRecord::environment. What
// cannot be found out is left out. GPUs say their own (collect/gpu).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sharewell::collect {

using Facts = std::vector<std::pair<std::string, std::string>>;

// Of the machine below `root`: node, os, kernel, machine, cpu, sockets, cores, threads, numa nodes,
// memory, storage (of `folder`, an absolute path on that machine; empty: left out), container, and
// the limits that we run under: cpu limit, allowed cpus, memory limit.
Facts MachineFacts(const std::string& root, const std::string& folder);

// Of a running process: python, framework ("PyTorch 2.3.0+cu121"), cuda, cudnn, nccl; by the files
// that it has mapped. A framework that was not loaded yet is not found: ask when it runs steadily.
Facts FrameworkFacts(const std::string& root, int pid);

// The pieces, of text alone.

// The device and file system that holds a path, by /proc/self/mountinfo.
struct MountedOn {
  std::string device;  // "259:2"
  std::string type, source;
};
MountedOn FindMount(std::string_view mountinfo, std::string_view path);

// What /proc/PID/maps says of frameworks and libraries.
struct MappedFrameworks {
  // Package folder and where it lies: {"torch", "/usr/lib/python3/dist-packages"}.
  std::vector<std::pair<std::string, std::string>> packages;
  // Library and what its file name says of its version: {"libcudnn", "9.1.0"}; may be empty.
  std::vector<std::pair<std::string, std::string>> libraries;
};
MappedFrameworks ParseMapsForFrameworks(std::string_view maps);

// The text between quotes behind "NAME =" or "NAME: type =" in a Python file; empty: none.
std::string PythonString(std::string_view source, std::string_view name);

}  // namespace sharewell::collect
