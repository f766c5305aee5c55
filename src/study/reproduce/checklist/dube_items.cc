#include "study/reproduce/checklist/checklist.h"

namespace sharewell::study::reproduce {

std::vector<PaperItem> DubeItems() {
  using enum PaperItemState;
  return {
      {"Table 1", "the parameters: models, frameworks, batches, CPUs, GPUs", kPartly,
       "All four models, in PyTorch instead of TensorFlow and Caffe; 1 to 16 cores instead of 2 to "
       "30 CPUs; one H200; Inception v3 at batch 16, 64 and 128, the others at one batch. The "
       "paper prints the batches as 64 and 218; its figures have 64 and 128.",
       "sharewell sweep zoo/cores.toml"},
      {"Figure 1", "throughput of Caffe, 2 to 8 CPU threads, 1 and 2 GPUs", kPartly,
       "VGG16 on one GPU: saturated at {cores_saturated_vgg16} cores, as the paper's at 4 threads. "
       "Our machine has one GPU.",
       "sharewell reproduce dube"},
      {"Figure 2", "throughput of TensorFlow models, 8 to 30 CPU threads, batch 64", kPartly,
       "All four models, up to the 16 cores of our machine; AlexNet at batch 128.",
       "sharewell reproduce dube"},
      {"Figure 3",
       "throughput from batch 64 to 128 at several counts of CPU threads: AlexNet gains up to 1.2, "
       "Inception 1.05",
       kPartly,
       "Inception v3 gains {gain_batch_inception3_16_cores} on 16 cores. AlexNet gains nothing "
       "({gain_batch_alexnet}), measured with 4 loader processes alone.",
       "sharewell reproduce dube"},
  };
}

}  // namespace sharewell::study::reproduce
