#include "study/reproduce/checklist/checklist.h"

namespace sharewell::study::reproduce {

std::vector<PaperItem> RyuItems() {
  using enum PaperItemState;
  return {
      {"Table 1", "epoch time, host and device metrics of six models", kPartly,
       "All six, from an H200. Epoch time is for a million samples, since the paper does not tell "
       "its data sets' sizes. SM and memory throughput are of a step's first kernels, and "
       "everything of Data2Vec and MobileNetV2 is; whole steps of these two are not measured yet "
       "(tools/lab/QUEUE.md). wav2vec2 stands for Data2Vec in the host's figures.",
       "sharewell reproduce ryu"},
      {"Figure 1", "epoch time packed over alone, 30 bars", kPartly,
       "All 30, measured on one H200 under MPS. DLRM beside DeepFM is missed: the paper has both "
       "inside 10 cores and 40 GB with their tables in host memory, ours has 126 GiB and tables on "
       "the GPU. That run is not measured yet (tools/lab/QUEUE.md).",
       "sharewell reproduce ryu"},
  };
}

}  // namespace sharewell::study::reproduce
