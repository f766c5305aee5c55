// RAPL: the energy counters of processors, in /sys/class/powercap.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "collect/collector.h"

namespace sharewell::collect {

// What a domain's name means.
struct RaplDomain {
  const core::Metric* metric = nullptr;
  std::string index;  // of a package: "0"; of the others empty: it is their package's
};

// Of "package-0", "dram", "core", "uncore", "psys"; none: a domain that is not known.
std::optional<RaplDomain> RaplDomainOf(std::string_view name);

// How it stands with `domains` found of which `readable` can be read; `error` is what the last
// unreadable one said.
struct RaplMachine {
  bool virtual_machine = false, x86 = true;
};
Health RaplHealth(int domains, int readable, int error, RaplMachine machine);

}  // namespace sharewell::collect
