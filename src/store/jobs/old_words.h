// Jobs as older servers stored them: what held a job and who had cancelled it stood in its words
// alone. They are read here, once, where the members are absent that say it now.
#pragma once

#include "core/job/job_record.h"

namespace sharewell::store {

// `cancelled`: as the old member of that name says. REQUIRES: the words of `job` are read.
void ReadOldWords(bool cancelled, core::JobRecord& job);
bool OldGpuGone(const core::JobRecord& job);

}  // namespace sharewell::store
