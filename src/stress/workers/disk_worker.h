// Workers for the disk: they read, or write, a file that has no name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stress/paced_threads.h"

namespace sharewell::stress {

inline constexpr double kDiskBlock = 4096;  // bytes: amounts are multiples of it

struct DiskPlan {
  std::string folder;
  bool write = false;
  std::vector<int> cpus = {};
};

struct DiskWorkersMade {
  std::vector<PlacedWorker> workers;
  double file_bytes = 0;
  bool direct = false;  // past the page cache; else through it, and dropped at once
};

// Opens the file in the folder (nameless from the start where the file system can, else its name is
// removed at once) and fills it: at most 256 MiB, a tenth of what is free, and 5 s of writing.
// Amounts are bytes. kUsage: no such folder, or it lies in memory (tmpfs); kFailed: no room, or no
// right to write.
core::Result<DiskWorkersMade> DiskWorkers(const DiskPlan& plan);

}  // namespace sharewell::stress
