// Which processes the driver blames for a fault of a GPU, by the kernel's log:
//   6,1042,81234567,-;NVRM: Xid (PCI:0000:4e:00): 31, pid=4711, name=python3, ...
// Under MPS it may name the MPS server instead of its client, and in a container nobody.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/units.h"

namespace sharewell::engine {

// Of one record. Absent: it is not about a fault that a program makes (XID 13 and 31), names no
// process, or is of a time before `since` on the clock of the kernel's log (CLOCK_MONOTONIC).
std::optional<int> BlamedIn(std::string_view record, core::Seconds since);

// All of them in the log, which is read as it is now; `path` is /dev/kmsg, or a file in tests.
// Empty where it may not be read.
std::set<int> BlamedProcesses(const std::string& path, core::Seconds since);

}  // namespace sharewell::engine
