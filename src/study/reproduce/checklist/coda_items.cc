#include "study/reproduce/checklist/checklist.h"

namespace sharewell::study::reproduce {

std::vector<PaperItem> CodaItems() {
  using enum PaperItemState;
  return {
      {"Figure 1",
       "the five steps of CPU and GPU, one after the other and with parallel data preparation",
       kNoFigures,
       "A drawing. Our loops prepare data in parallel, with a loader process a worker "
       "(zoo/README.md).",
       ""},
      {"Figure 2", "data preparation and computation as a pipeline", kNoFigures,
       "A drawing. Our loops work four batches ahead a worker.", ""},
      {"Figure 3", "the same with several GPUs, which exchange gradients", kNoFigures, "A drawing.",
       ""},
      {"Figure 4", "optimal core number of eight models by batch, 1N1G to 2N4G", kPartly,
       "Five models on one GPU, measured on real CPU sets. Independence of the batch: Inception v3 "
       "needs 4 cores at batch 16 and at 128; at 64 it comes out as 16, presumably because the "
       "host drifted between the runs (911 images/s on 4 cores, 838 on 8, 1,012 on 16). BAT, "
       "Wavenet and Deepspeech are not measured by cores, nor are several GPUs, because our "
       "machine has one.",
       "sharewell reproduce coda"},
      {"Figure 5", "host memory bandwidth of eight models at their optimal cores", kPartly,
       "Only what PCIe implies, a lower bound: no counter of the memory's traffic was read beside "
       "our H200. The order is the paper's: AlexNet most, language next to nothing.",
       "sharewell reproduce coda"},
      {"Figure 6", "speed of eight 1N1G models under 25 to 100 % memory pressure", kNot,
       "Not measured yet: entry 4 of tools/lab/QUEUE.md, six models. One try gave DLRM 0.79, 0.91, "
       "0.96 and 0.76 of its speed at 25 to 100 %, each ± 0.25 to 0.52, which tells nothing. What "
       "our model of the host says of two of them at the highest pressure is in the rows "
       "`speed_beside_cpu_jobs_*`.",
       "sharewell sensitivity --pressures membw --levels 25,50,75,100 -- COMMAND"},
      {"Figure 7", "speed of two 1N1G jobs on different GPUs of a node", kNot,
       "Our machine has one GPU. Two jobs on the same GPU, which is another question, are figure 1 "
       "of Ryu and Chun.",
       ""},
      {"Figure 8", "speed of two 1N2G jobs on different GPUs of a node", kNot,
       "Our machine has one GPU.", ""},
      {"Section II.C", "PCIe bandwidth of the models, in a figure that the text has no number for",
       kPartly,
       "Five models and two speech models on one GPU: the grid of figure 5. The paper: 8 GB/s on "
       "average for AlexNet and ResNet50 with two GPUs, less than 1 GB/s for language and speech.",
       "sharewell reproduce coda"},
      {"Section II.D", "disk pressure, told without a figure: no model is sensitive", kNot,
       "Not measured: our loops make their data in memory and read no file. Any job can be pressed "
       "on.",
       "sharewell sensitivity --pressures disk -- COMMAND"},
  };
}

}  // namespace sharewell::study::reproduce
