// Words and figures that Slurm writes alike in text and in JSON: states, GRES, times.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/metric.h"
#include "core/result.h"
#include "core/units.h"
#include "engine/slurm/read/slurm_state.h"

namespace sharewell::engine {

// Of all the words of one job's state, which newer versions list one by one: a job that ends or
// begins is said to do so, as `squeue` has it, whatever it is beside that. "CANCELLED by 1000" is
// cancelled.
SlurmPhase PhaseOf(std::span<const std::string_view> words);

// Why it waits. "None" is empty; a state that says who holds it says more than the reason
// beside it (SPECIAL_EXIT, JobHeldUser).
std::string ReasonOf(std::span<const std::string_view> states, std::string_view reason);

// "gres:shard:g1:60", "gres/gpu:2", "gpu:g0:1(S:0-1)": its parts. What counts no GRES ("cpu=2") is
// left out.
struct SlurmGres {
  std::string name;  // "gpu", "shard"
  std::string type;  // "g1"; empty: any
  std::int64_t count = 1;

  friend bool operator==(const SlurmGres&, const SlurmGres&) = default;
};
core::Result<std::vector<SlurmGres>> ParseGres(std::string_view text);

// Into `job`: shards of a typed GPU become slots, everything else stays as text, with `each` in
// front where it is not of a node ("per_job=").
core::Result<void> TakeRequest(std::string_view gres, std::string_view each, SlurmJob& job);

// What Slurm says that it gave the job on a node: "gpu:g0:1(IDX:0),gpu:g1:0(IDX:)".
core::Result<void> TakeHeld(const std::string& node, std::string_view gres, SlurmJob& job);

// Of "cpu=8,mem=4000M,node=1,billing=8" the nodes, into `job`; what says nothing changes nothing. A
// job that waits and left their number to Slurm (`-n2 -c4`) shows the most that it may come to
// elsewhere.
void TakeNodesAsked(std::string_view tres, SlurmJob& job);

// It ended while it waited: Slurm then gives its end as its start.
inline bool NeverRan(const SlurmJob& job) { return IsOver(job.phase) && job.nodes.empty(); }

// Of all the jobs of one answer: a short text may stand for many names.
inline constexpr std::size_t kMostHostsOfAll = 1'000'000;
inline std::size_t HostsNamedBy(const SlurmJob& job) {
  return job.nodes.size() + job.required_nodes.size() + job.excluded_nodes.size();
}

// Commas inside of parentheses and brackets do not part.
std::vector<std::string_view> SplitAtCommas(std::string_view text);

// A whole number and nothing else, from 0 to `most`.
std::optional<std::int64_t> SlurmWhole(std::string_view text, std::int64_t most);

// "2026-11-16T12:31:15", read as UTC (SlurmDriver asks for it). Absent: "Unknown", "None", "N/A".
core::Result<std::optional<core::UnixMillis>> ParseSlurmTime(std::string_view text);
// "1-02:03:04", "02:03:04", "90" minutes; absent: "UNLIMITED", "Partition_Limit".
core::Result<std::optional<core::Seconds>> ParseTimeLimit(std::string_view text);
// "1500M", "2G", "500": of MiB, where no letter says otherwise.
core::Result<core::Bytes> ParseSlurmMemory(std::string_view text);

}  // namespace sharewell::engine
