#include "research/reproduce/checklist/checklist.h"

namespace sharewell::research::reproduce {

std::vector<PaperItem> DubeItems() {
  using enum PaperItemState;
  return {
      {"Table 1", "models, frameworks, batches, CPUs, GPUs", kPartly,
       "All four models, in PyTorch, on 1 to 16 cores and one H200.",
       "sharewell sweep zoo/cores.toml"},
      {"Figure 1", "throughput of Caffe, 2 to 8 threads, 1 and 2 GPUs", kPartly,
       "VGG16 on one GPU: saturated at {cores_saturated_vgg16} cores, the paper's at 4 threads.",
       "sharewell-lab reproduce dube"},
      {"Figure 2", "throughput of TensorFlow models, 8 to 30 threads, batch 64", kPartly,
       "On up to 16 cores; AlexNet at batch 128.", "sharewell-lab reproduce dube"},
      {"Figure 3", "throughput from batch 64 to 128: AlexNet gains up to 1.2, Inception 1.05",
       kPartly,
       "Inception v3 gains {gain_batch_inception3_16_cores} on 16 cores, AlexNet "
       "{gain_batch_alexnet} with 4 loader processes.",
       "sharewell-lab reproduce dube"},
  };
}

}  // namespace sharewell::research::reproduce
