// What `sharewell doctor` looks at beside the collectors: what this machine offers to those who
// watch jobs and bound them. Read-only; each check is a matter of milliseconds.
#pragma once

#include <string>
#include <vector>

#include "report/measure/health.h"

namespace sharewell::cli {

// Which machine is looked at.
struct MachinePlaces {
  std::string root = "/";    // of its files: "/" or a captured tree
  std::string path;          // where programs are looked for: $PATH
  std::string nvml_library;  // as FindGpus takes it
};

std::vector<report::HealthRow> CheckGpus(const MachinePlaces& places);
std::vector<report::HealthRow> CheckMachine(const MachinePlaces& places);
// `place` as --store takes it.
report::HealthRow CheckStore(const std::string& place);

}  // namespace sharewell::cli
