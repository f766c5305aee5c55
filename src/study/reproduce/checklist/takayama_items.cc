#include "study/reproduce/checklist/checklist.h"

namespace sharewell::study::reproduce {

std::vector<PaperItem> TakayamaItems() {
  using enum PaperItemState;
  return {
      {"Table I", "epochs, steps or iterations, seed and job time of nine MLPerf benchmarks",
       kPartly,
       "The job times are those of Table IX on the V100. Our loops run by steps; zoo/ has one for "
       "each of the nine kinds.",
       "sharewell reproduce takayama"},
      {"Table II", "the machine: one V100 16GB, two Xeons of 20 cores", kNoFigures,
       "Ours is one H200 with 16 cores of a virtual machine (data/h200/README.md).",
       "sharewell profiles show NAME"},
      {"Table III", "highest disk read and write speed of each benchmark, MB/s", kNot,
       "Our loops make their data in memory and read no file. `sharewell profile` shows disk read "
       "and written of any job.",
       "sharewell profile -- COMMAND"},
      {"Table IV", "the two machines of the CPU comparison", kNoFigures,
       "All our hosts are of one kind.", ""},
      {"Table V",
       "job time on Haswell and on Skylake with one P100: 0.81 (SSD) to 1.00 of Haswell's on "
       "Skylake",
       kNot, "Our hosts are of one kind. Profiles from two machines in one store give this table.",
       "sharewell profiles compare --by cpu"},
      {"Table VI", "mean GPU utilisation, and CPU utilisation per socket, of the nine", kPartly,
       "Seven loops of the same kinds on an H200, with its 16 cores as one. Mask R-CNN and the "
       "recurrent translator are not in this table yet (tools/lab/QUEUE.md).",
       "sharewell reproduce takayama"},
      {"Table VII", "the two machines of the GPU comparison", kNoFigures,
       "Their GPUs are in our catalogue; the host is not modelled.", "sharewell gpus"},
      {"Table VIII", "specifications of P100 and V100", kPartly,
       "Our catalogue has the makers' figures of the SXM2 boards, the paper those of lower clocks. "
       "Ours has SMs instead of cores, and neither clock nor FP64.",
       "sharewell gpus"},
      {"Table IX", "job time on P100 and V100, and their ratio", kShown,
       "Our stretching of run times between GPU models, from the GPU utilisation alone, is off by "
       "{v100_over_p100_error} of the run time in the mean, Amdahl's law by "
       "{v100_over_p100_error_amdahl}.",
       "sharewell reproduce takayama"},
      {"Table X", "total execution time, GPUs by gain against evenly", kShown,
       "`match` without fairness bound saves as much, in GPU time: {gpu_time_vs_even} at 200 jobs. "
       "With the bound it is {gpu_time_vs_even_bounded}.",
       "sharewell reproduce takayama"},
      {"Figure 1", "CPU temperature over time, IC", kPartly,
       "The chart of any stored profile. Measured by hwmon or IPMI; data/h200 has none.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 2", "CPU and GPU power over time, IC", kPartly,
       "The chart of any stored profile. CPU power is measured by RAPL; data/h200 has that of the "
       "GPU alone.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 3", "CPU and GPU utilisation over time, IC", kPartly,
       "The chart of any stored profile.", "sharewell profiles plot NAME --out DIR"},
      {"Figure 4", "CPU and GPU memory utilisation over time, IC", kPartly,
       "The chart of any stored profile.", "sharewell profiles plot NAME --out DIR"},
      {"Figure 5", "disk reads and writes over time, IC", kPartly,
       "The chart of any stored profile.", "sharewell profiles plot NAME --out DIR"},
      {"Figure 6", "DRAM accesses per 100 instructions over time, IC", kPartly,
       "The chart of any stored profile. It needs the processor's counters; data/h200 has none.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 7", "how Zabbix gathers the samples on another server", kNoFigures,
       "A drawing. Ours samples on the machine itself (docs/monitoring.md), and can store "
       "elsewhere.",
       "sharewell monitor"},
      {"Figure 8", "clock of each CPU thread over time, IC, Haswell and Skylake", kPartly,
       "As figure 3, on one machine; none of Haswell or Skylake.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 9", "the same, SSD", kPartly,
       "As figure 3, on one machine; none of Haswell or Skylake.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 10", "the same, OD", kPartly,
       "As figure 3, on one machine; none of Haswell or Skylake.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 11", "the same, RM", kPartly,
       "As figure 3, on one machine; none of Haswell or Skylake.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 12", "the same, SA", kPartly,
       "As figure 3, on one machine; none of Haswell or Skylake.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 13", "the same, RT", kPartly,
       "As figure 3, on one machine; none of Haswell or Skylake.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 14", "the same, TL", kPartly,
       "As figure 3, on one machine; none of Haswell or Skylake.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 15", "the same, RI", kPartly,
       "As figure 3, on one machine; none of Haswell or Skylake.",
       "sharewell profiles plot NAME --out DIR"},
      {"Figure 16", "mean GPU utilisation over mean CPU utilisation", kPartly,
       "In Table VI: seven of the nine kinds. In the paper the multiple is largest for translation "
       "(RT, TL) and sentiment (SA); here for sentiment alone.",
       "sharewell reproduce takayama"},
      {"Figure 17", "highest memory utilisation of host and GPU", kPartly,
       "In Table VI: seven of the nine kinds; the paper draws its own and tells no number. Here "
       "the two are alike and small: the H200 has nine times the memory of its V100. Host memory "
       "is the mean, with pages that processes share counted in each.",
       "sharewell reproduce takayama"},
  };
}

}  // namespace sharewell::study::reproduce
