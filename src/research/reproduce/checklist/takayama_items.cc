#include "research/reproduce/checklist/checklist.h"

namespace sharewell::research::reproduce {
namespace {

// Charts over time, of any job.
PaperItem ChartOf(const char* figure, const char* shows) {
  return {figure, shows, PaperItemState::kPartly,
          "The chart of any stored profile; CPU temperature, CPU power and DRAM accesses are not "
          "in data/h200.",
          "sharewell profiles plot NAME --out DIR"};
}

PaperItem ClocksOf(const char* figure, const char* shows) {
  return {figure, shows, PaperItemState::kPartly, "As figure 3, on one machine of another kind.",
          "sharewell profiles plot NAME --out DIR"};
}

}  // namespace

std::vector<PaperItem> TakayamaItems() {
  using enum PaperItemState;
  return {
      {"Table I", "epochs, steps, seed and job time of nine MLPerf benchmarks", kPartly,
       "Job time: Table IX. zoo/ has a loop of each of the nine kinds.",
       "sharewell-lab reproduce takayama"},
      {"Table II", "the machine: one V100 16GB, two Xeons of 20 cores", kNoFigures,
       "Ours is one H200 with 16 cores of a virtual machine (data/h200/README.md).",
       "sharewell profiles show NAME"},
      {"Table III", "highest disk speed of each benchmark", kNot,
       "Our loops read no file; the command shows the disk traffic of any job.",
       "sharewell profile -- COMMAND"},
      {"Table IV", "the two machines of the CPU comparison", kNoFigures,
       "All our hosts are of one kind.", ""},
      {"Table V", "job time on Haswell and on Skylake with one P100", kNot,
       "Our hosts are of one kind; the command compares profiles of two machines.",
       "sharewell profiles compare --by cpu"},
      {"Table VI", "mean GPU and CPU utilisation of the nine", kPartly,
       "Seven of them; not Mask R-CNN and the recurrent translator.",
       "sharewell-lab reproduce takayama"},
      {"Table VII", "the two machines of the GPU comparison", kNoFigures,
       "Their GPUs are in our catalogue; the host is not modelled.", "sharewell gpus"},
      {"Table VIII", "specifications of P100 and V100", kPartly, "No clock and no FP64.",
       "sharewell gpus"},
      {"Table IX", "job time on P100 and V100, and their ratio", kShown,
       "Ours, from GPU utilisation alone, is off by {v100_over_p100_error} in the mean; Amdahl's "
       "law by {v100_over_p100_error_amdahl}.",
       "sharewell-lab reproduce takayama"},
      {"Table X", "total execution time, by gain against evenly", kShown,
       "GPU time of `match` at 200 jobs: {gpu_time_vs_even}, with its fairness bound "
       "{gpu_time_vs_even_bounded}.",
       "sharewell-lab reproduce takayama"},
      ChartOf("Figure 1", "CPU temperature over time, IC"),
      ChartOf("Figure 2", "CPU and GPU power"),
      ChartOf("Figure 3", "CPU and GPU utilisation"),
      ChartOf("Figure 4", "CPU and GPU memory"),
      ChartOf("Figure 5", "disk reads and writes"),
      ChartOf("Figure 6", "DRAM accesses per 100 instructions"),
      {"Figure 7", "how Zabbix gathers the samples on another server", kNoFigures,
       "A drawing. Ours samples on the machine itself (docs/monitoring.md), and can store "
       "elsewhere.",
       "sharewell monitor"},
      ClocksOf("Figure 8", "clock of each CPU thread over time on two hosts: IC"),
      ClocksOf("Figure 9", "SSD"),
      ClocksOf("Figure 10", "OD"),
      ClocksOf("Figure 11", "RM"),
      ClocksOf("Figure 12", "SA"),
      ClocksOf("Figure 13", "RT"),
      ClocksOf("Figure 14", "TL"),
      ClocksOf("Figure 15", "RI"),
      {"Figure 16", "mean GPU utilisation over mean CPU utilisation", kPartly,
       "In Table VI. The multiple is largest for SA, in the paper for translation too.",
       "sharewell-lab reproduce takayama"},
      {"Figure 17", "highest memory utilisation of host and GPU", kPartly,
       "In Table VI; host memory counts shared pages in each process.",
       "sharewell-lab reproduce takayama"},
  };
}

}  // namespace sharewell::research::reproduce
