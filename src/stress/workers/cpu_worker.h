// Workers for the CPU: they compute until their thread has used its time.
#pragma once

#include <vector>

#include "stress/paced_threads.h"

namespace sharewell::stress {

// A thread for every CPU. Amounts are seconds of CPU time by CLOCK_THREAD_CPUTIME_ID, in which
// waking and waiting count too.
std::vector<PlacedWorker> CpuWorkers(const std::vector<int>& cpus);

}  // namespace sharewell::stress
