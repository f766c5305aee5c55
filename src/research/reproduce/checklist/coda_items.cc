#include "research/reproduce/checklist/checklist.h"

namespace sharewell::research::reproduce {

std::vector<PaperItem> CodaItems() {
  using enum PaperItemState;
  return {
      {"Figure 1",
       "the five steps of CPU and GPU, one after the other and with parallel data preparation",
       kNoFigures, "A drawing. Our loops prepare data in parallel (zoo/README.md).", ""},
      {"Figure 2", "data preparation and computation as a pipeline", kNoFigures,
       "A drawing. Our loops work four batches ahead a worker.", ""},
      {"Figure 3", "the same with several GPUs, which exchange gradients", kNoFigures, "A drawing.",
       ""},
      {"Figure 4",
       "optimal core number of eight models by batch, on one and several GPUs and nodes", kPartly,
       "Five models on one GPU. Inception v3 needs {cores_needed_inception3_batch_16} cores at "
       "batch 16 and {cores_needed_inception3_batch_128} at 128; the "
       "{cores_needed_inception3_batch_64} at batch 64 are presumably the host's drift.",
       "sharewell-lab reproduce coda"},
      {"Figure 5", "highest host memory bandwidth of eight models", kPartly,
       "A lower bound, from PCIe; the order is the paper's.", "sharewell-lab reproduce coda"},
      {"Figure 6",
       "speed of eight models under rising memory pressure: AlexNet and language lose about half, "
       "other image models nothing",
       kNot, "Not measured. Our model's answer for four of them: `speed_beside_cpu_jobs_*`.",
       "sharewell sensitivity --pressures membw --levels 25,50,75,100 -- COMMAND"},
      {"Figure 7", "speed of two jobs on different GPUs: nobody loses but Wavenet with AlexNet",
       kNot, "Our machine has one GPU; two jobs on one GPU are in `ryu`.", ""},
      {"Figure 8", "the same with two GPUs each: 5 to 10 % lost beside AlexNet or ResNet50", kNot,
       "Our machine has one GPU.", ""},
      {"Section II.C", "PCIe bandwidth of the models", kPartly, "In the grid of figure 5.",
       "sharewell-lab reproduce coda"},
      {"Section II.D", "disk pressure: no model is sensitive", kNot,
       "Not measured: our loops read no file.",
       "sharewell sensitivity --pressures disk -- COMMAND"},
  };
}

}  // namespace sharewell::research::reproduce
