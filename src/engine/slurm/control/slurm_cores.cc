#include "engine/slurm/control/slurm_cores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text/words.h"

namespace sharewell::engine {
namespace {

std::string CoresInWords(int cpus) {
  return core::Count(static_cast<std::uint64_t>(std::max(cpus, 0)), "core");
}

}  // namespace

int CpusAsked(const SlurmJob& job, const JobNote::Ask& ask) {
  if (ask.cpus > 0) return ask.cpus;
  // With --mincpus it has more than it is shown with.
  const auto least = static_cast<std::int64_t>(job.cpus_a_node) * std::max(job.nodes_wanted, 1);
  return static_cast<int>(std::max(
      {std::int64_t{job.cpus}, std::min<std::int64_t>(least, 1'000'000), std::int64_t{1}}));
}

void PutCpus(double cores, const SlurmJob& job, JobNote& note) {
  const int asked = CpusAsked(job, note.ask);
  const int tasks = std::max(job.tasks, 1);
  const int of_task = std::max(asked / tasks, 1);
  constexpr double kDust = 1e-6;
  int slim = of_task;
  if (cores > 0) slim = static_cast<int>(std::ceil(std::min(cores / tasks - kDust, 1e6)));
  slim = std::clamp(slim, 1, of_task);
  const int cpus = slim == of_task ? asked : slim * tasks;
  note.put->cores = cpus;
  if (cpus != asked) note.ask.cpus = asked;
}

std::string CpuFields(const SlurmJob& job, const JobNote::Ask& ask, int cpus, int nodes) {
  const int asked = CpusAsked(job, ask);
  if (cpus <= 0 || (cpus == asked && ask.cpus == 0)) return {};
  const int tasks = std::max(job.tasks, 1), of_task = std::max(cpus / tasks, 1);
  std::string fields;
  if (job.memory_by_cpu && job.memory && job.cpus > 0) {
    // An update that was cut short may have changed the CPUs alone.
    const double bytes = job.memory->value * asked / job.cpus;
    fields += fmt::format(" MinMemoryNode={}", std::ceil(bytes / (1 << 20)));
  }
  // So that no node has more of its tasks than another.
  const int of_node = tasks % std::max(nodes, 1) == 0 ? cpus / std::max(nodes, 1) : of_task;
  fields +=
      fmt::format(" NumCPUs={} CPUsPerTask={} MinCPUsNode={}", cpus, of_task, std::max(of_node, 1));
  return fields;
}

std::string CpusInWords(const JobNote& note, int has) {
  const int given = note.put ? static_cast<int>(note.put->cores) : 0;
  if (has > given && given > 0) {
    return fmt::format(
        "Slurm gave it {} where {} would do, as it hands out whole cores, or whole nodes where "
        "they were asked for",
        CoresInWords(has), given);
  }
  if (note.ask.cpus <= has) return {};
  return fmt::format(
      "it has {} of the {} that it asked for, as it can use no more; Slurm cannot change that "
      "while "
      "it runs",
      has, CoresInWords(note.ask.cpus));
}

}  // namespace sharewell::engine
