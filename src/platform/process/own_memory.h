// The server's own memory, bounded by its control group. A unit's MemoryMax would bound the jobs as
// well, whose groups lie below the unit; the group that the server alone is in can have one.
#pragma once

#include <string>

#include "core/units.h"

namespace sharewell::platform {

// Where this process is in a group of its own that systemd made for it (`X.service`, or `server`
// below it: DelegateSubgroup), cgroup v2, and nobody has bounded that yet: bounds it. True: it is
// bounded. Studies in processes of their own count there; the kernel takes those first
// (bounded_work.h). `root`: of the file system, for tests.
bool BoundOwnMemory(core::Bytes most, const std::string& root = "/");

// A quarter of the machine's, and never so little that a large server would not fit.
core::Bytes OwnMemoryBound();

}  // namespace sharewell::platform
