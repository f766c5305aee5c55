#include "study/reproduce/checklist/checklist.h"

namespace sharewell::study::reproduce {

std::vector<PaperItem> TakayamaItems() {
  using enum PaperItemState;
  return {
      {"Table I", "epochs, steps, seed and job time of nine MLPerf benchmarks", kPartly,
       "Job time: Table IX. zoo/ has a loop of each of the nine kinds.",
       "sharewell reproduce takayama"},
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
       "sharewell reproduce takayama"},
      {"Table VII", "the two machines of the GPU comparison", kNoFigures,
       "Their GPUs are in our catalogue; the host is not modelled.", "sharewell gpus"},
      {"Table VIII", "specifications of P100 and V100", kPartly, "No clock and no FP64.",
       "sharewell gpus"},
      {"Table IX", "job time on P100 and V100, and their ratio", kShown,
       "Ours, from GPU utilisation alone, is off by {v100_over_p100_error} in the mean; Amdahl's "
       "law by {v100_over_p100_error_amdahl}.",
       "sharewell reproduce takayama"},
      {"Table X", "total execution time, by gain against evenly", kShown,
       "GPU time of `match` at 200 jobs: {gpu_time_vs_even}, with its fairness bound "
       "{gpu_time_vs_even_bounded}.",
       "sharewell reproduce takayama"},
      {"Figure 1", "CPU temperature over time, IC", kPartly,
       "The chart of any stored profile; CPU temperature, CPU power and DRAM accesses are not in "
       "data/h200.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 2", "CPU and GPU power", kPartly,
       "The chart of any stored profile; CPU temperature, CPU power and DRAM accesses are not in "
       "data/h200.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 3", "CPU and GPU utilisation", kPartly,
       "The chart of any stored profile; CPU temperature, CPU power and DRAM accesses are not in "
       "data/h200.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 4", "CPU and GPU memory", kPartly,
       "The chart of any stored profile; CPU temperature, CPU power and DRAM accesses are not in "
       "data/h200.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 5", "disk reads and writes", kPartly,
       "The chart of any stored profile; CPU temperature, CPU power and DRAM accesses are not in "
       "data/h200.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 6", "DRAM accesses per 100 instructions", kPartly,
       "The chart of any stored profile; CPU temperature, CPU power and DRAM accesses are not in "
       "data/h200.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 7", "how Zabbix gathers the samples on another server", kNoFigures,
       "A drawing. Ours samples on the machine itself (docs/monitoring.md), and can store "
       "elsewhere.",
       "sharewell monitor"},
      {"Figure 8", "clock of each CPU thread over time on two hosts: IC", kPartly,
       "As figure 3, on one machine of another kind.", "sharewell profiles plot NAME --out DIR"},
      {"Figure 9", "SSD", kPartly, "As figure 3, on one machine of another kind.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 10", "OD", kPartly, "As figure 3, on one machine of another kind.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 11", "RM", kPartly, "As figure 3, on one machine of another kind.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 12", "SA", kPartly, "As figure 3, on one machine of another kind.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 13", "RT", kPartly, "As figure 3, on one machine of another kind.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 14", "TL", kPartly, "As figure 3, on one machine of another kind.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 15", "RI", kPartly, "As figure 3, on one machine of another kind.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 16", "mean GPU utilisation over mean CPU utilisation", kPartly,
       "In Table VI. The multiple is largest for SA, in the paper for translation too.",
       "sharewell reproduce takayama"},
      {"Figure 17", "highest memory utilisation of host and GPU", kPartly,
       "In Table VI; host memory counts shared pages in each process.",
       "sharewell reproduce takayama"},
  };
}

}  // namespace sharewell::study::reproduce
