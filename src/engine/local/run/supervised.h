// Supervised processes as the server sees them: its supervisor is started here, and what descends
// from it can be kept to CPUs where no control group does that.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace sharewell::engine {

// $SHAREWELL_SUPERVISE, or sharewell-supervise beside this program, or in ../libexec/sharewell/
// from it. kAbsent: none of them is there.
core::Result<std::string> FindSupervisor();

// Starts it for a job's folder; its pid. It is in a session of its own, with no signal let through
// that would end it before it is ready.
core::Result<int> StartSupervisor(const std::string& program, const std::string& folder);

// Likewise sharewell-pause, and $SHAREWELL_PAUSE. It pauses or resumes the run of that folder, and
// goes on when this process ends.
core::Result<std::string> FindPauser();
// Whether the driver can; kAbsent: it cannot, and why. Takes a moment, at most 10 s.
core::Result<void> CheckPauser(const std::string& program);
core::Result<int> StartPauser(const std::string& program, bool pause, const std::string& folder);

// All threads that descend from the process now run on these CPUs alone; with `from` only those
// that were kept to it, so that what a job has pinned itself stays where it is. False: some cannot.
bool KeepTreeToCpus(int pid, const std::vector<int>& cpus, const std::vector<int>& from = {});

}  // namespace sharewell::engine
