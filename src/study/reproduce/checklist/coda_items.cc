#include "study/reproduce/checklist/checklist.h"

namespace sharewell::study::reproduce {

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
       "optimal core number of eight models by batch, on one GPU, on several and on several nodes",
       kPartly,
       "Five models on one GPU, on real CPU sets. The paper: independent of the batch but for "
       "AlexNet. Inception v3 needs {cores_needed_inception3_batch_16} cores at batch 16 and "
       "{cores_needed_inception3_batch_128} at 128; at 64 it comes out as "
       "{cores_needed_inception3_batch_64}, presumably because the host drifted. BAT, Wavenet and "
       "Deepspeech are not measured by cores.",
       "sharewell reproduce coda"},
      {"Figure 5", "highest host memory bandwidth of eight models at their optimal cores", kPartly,
       "What PCIe implies, a mean and a lower bound: no counter of the memory's traffic was read. "
       "The order is the paper's.",
       "sharewell reproduce coda"},
      {"Figure 6",
       "speed of eight models on one GPU under rising memory pressure: AlexNet loses up to about "
       "50 %, language at least 50 %, the other image models nothing",
       kNot,
       "Not measured yet (tools/lab/QUEUE.md). What our model of the host says of four of them is "
       "in the rows `speed_beside_cpu_jobs_*`.",
       "sharewell sensitivity --pressures membw --levels 25,50,75,100 -- COMMAND"},
      {"Figure 7",
       "speed of two jobs on different GPUs of a node: nobody loses, but Wavenet with AlexNet",
       kNot, "Our machine has one GPU. Two jobs on one GPU are figure 1 of Ryu and Chun.", ""},
      {"Figure 8", "the same with two GPUs each: 5 to 10 % lost beside AlexNet or ResNet50", kNot,
       "Our machine has one GPU.", ""},
      {"Section II.C", "PCIe bandwidth of the models, in a figure that the text has no number for",
       kPartly, "Five models and two speech models on one GPU: the grid of figure 5.",
       "sharewell reproduce coda"},
      {"Section II.D", "disk pressure, told without a figure: no model is sensitive", kNot,
       "Not measured: our loops read no file.",
       "sharewell sensitivity --pressures disk -- COMMAND"},
  };
}

}  // namespace sharewell::study::reproduce
