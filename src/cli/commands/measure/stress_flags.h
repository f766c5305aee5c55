// The flags that say what to press on: --membw 75%, --cpu 2, --pcie 8GB/s ...
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/result.h"
#include "stress/pressure.h"

namespace sharewell::cli {

class StressFlags {
 public:
  void Add(CLI::App& app);
  // One for every kind that was asked for; kUsage when there is none. $SHAREWELL_LIBCUDA names
  // another CUDA driver library.
  core::Result<std::vector<stress::PressureSpec>> Specs() const;

 private:
  struct Asked {
    CLI::Option* option = nullptr;
    std::string text;
  };

  core::Result<void> ReadPlaces(stress::PressureSpec& spec) const;
  core::Result<void> ReadCapacities(std::vector<stress::PressureSpec>& specs) const;

  Asked membw_, llc_, cpu_, pcie_, disk_;
  std::string cpus_, gpu_, direction_, disk_path_, disk_access_;
  std::vector<std::string> capacities_;
};

}  // namespace sharewell::cli
