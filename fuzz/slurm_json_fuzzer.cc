// Any bytes as what `squeue --json` printed: read, or refused with a reason. Of what is read no id
// is there twice, and no job has more nodes than the reader promises.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "engine/slurm/read/slurm_read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto jobs = sharewell::engine::ParseJobs(text);
  if (!jobs) {
    if (jobs.error().message.empty()) __builtin_trap();
    return 0;
  }
  std::set<std::int64_t> seen;
  for (const auto& job : *jobs) {
    if (job.id <= 0 || !seen.insert(job.id).second) __builtin_trap();
    if (job.nodes.size() > 65536 || job.nodes_wanted < 1 || job.cpus < 0) __builtin_trap();
    for (const auto& slot : job.slots) {
      if (slot.slot.empty() || slot.shards < 1) __builtin_trap();
    }
  }
  return 0;
}
