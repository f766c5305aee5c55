// What `sharewell doctor` looks at: the collectors, what this machine offers to those who measure
// jobs and bound them, and the store. Read-only; each check takes milliseconds.
#pragma once

#include <string>
#include <vector>

#include "measure/doctor/health.h"

namespace sharewell::measure {

// Which machine is looked at.
struct MachinePlaces {
  std::string root = "/";         // of its files: "/" or a captured tree
  std::string path;               // where programs are looked for: $PATH
  std::string nvml_library;       // as FindGpus takes it
  std::string state = {};         // the server's folder, with what was measured of this machine
  std::string dcgm_library = {};  // as collect::DcgmEngine takes it
};

// All checks, section by section. `store` as --store takes it.
std::vector<HealthRow> Examine(const MachinePlaces& places, const std::string& store);

// Whether jobs share a GPU at the same time, and of which users. Runs the MPS program for its help.
HealthRow CheckMps(const MachinePlaces& places);

// What the machine itself offers: control groups, counters, clock, container runtimes.
std::vector<HealthRow> CheckMachine(const MachinePlaces& places);

}  // namespace sharewell::measure
