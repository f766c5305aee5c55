#include "study/reproduce/checklist/checklist.h"

namespace sharewell::study::reproduce {

std::vector<PaperItem> RyuItems() {
  using enum PaperItemState;
  return {
      {"Table 1", "epoch time, host and device metrics of six models", kPartly,
       "All six, from an H200. Epoch time is in seconds for a million samples: the paper tells "
       "neither the sizes of its data sets nor the unit. SM and memory throughput are of a step's "
       "first kernels, and everything of Data2Vec and MobileNetV2 is. wav2vec2 stands for Data2Vec "
       "in the host's figures.",
       "sharewell reproduce ryu"},
      {"Figure 1", "epoch time packed over alone, for both jobs of each pair", kPartly,
       "All 15 pairs, measured on one H200 under MPS. DLRM beside DeepFM is missed "
       "({measured_dlrm_with_deepfm}, in the paper more than 3): the paper has both inside 10 "
       "cores and 40 GB, of which they want 92 and 60 %; ours has 126 GiB and tables on the GPU.",
       "sharewell reproduce ryu"},
  };
}

}  // namespace sharewell::study::reproduce
