#include "research/reproduce/checklist/checklist.h"

namespace sharewell::research::reproduce {

std::vector<PaperItem> RyuItems() {
  using enum PaperItemState;
  return {
      {"Table 1", "epoch time, host and device metrics of six models", kPartly,
       "All six. wav2vec2 stands for Data2Vec in the host's figures.",
       "sharewell-lab reproduce ryu"},
      {"Figure 1", "epoch time packed over alone, for both jobs of each pair", kPartly,
       "All 15 pairs, on one H200 under MPS. Missed: DLRM beside DeepFM, "
       "{measured_dlrm_with_deepfm} instead of more than 3.",
       "sharewell-lab reproduce ryu"},
  };
}

}  // namespace sharewell::research::reproduce
