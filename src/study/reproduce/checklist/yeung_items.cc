#include "study/reproduce/checklist/checklist.h"

namespace sharewell::study::reproduce {

std::vector<PaperItem> YeungItems() {
  using enum PaperItemState;
  return {
      {"Table 1", "the 13 model architectures, 81 workloads", kPartly,
       "Our training set has 130 architectures of the same kinds and more, 216 profiles, measured "
       "on an H200 instead of GTX 1080s.",
       "sharewell evaluate data/h200/profiles.csv data/h200/profiles-2.csv"},
      {"Table 2",
       "the features of a workload, among them FLOPs, number of convolutions and input size",
       kPartly,
       "The text that we have names some of them; those, with batch and parameters, are what its "
       "learners are given here. Our predictor reads more.",
       "sharewell evaluate data/h200/profiles.csv data/h200/profiles-2.csv --yeung"},
      {"Table 3", "RMSLE of each learner, random forest 0.154", kShown,
       "On our 216 profiles the paper's forest has 0.366 with rows held out at random and 0.534 by "
       "family, ours 0.153 and 0.177. Of the learners the text names the forest and boosting.",
       "sharewell reproduce yeung --part predictor"},
      {"Table 4", "GPU utilisation, makespan and JCT of the three schedulers", kShown,
       "Simulated on 12 H200, and twenty real loops on one H200 through the server (mix.md). The "
       "paper's `reactive` has no record of a real run: on one GPU it is `slot`.",
       "sharewell reproduce yeung"},
      {"Figure 1", "how predictions reach the scheduler", kNoFigures,
       "A drawing. Ours: ARCHITECTURE.md.", ""},
      {"Figure 2a", "GPU utilisation of each model", kShown,
       "20 to 90 % in the paper; ours 19.6 to 96.8 %, the 5th to the 95th percentile.",
       "sharewell reproduce yeung"},
      {"Figure 2b", "GPU utilisation against FLOPs", kShown,
       "Drawn by the command. The rank correlation is 0.24: weak here.",
       "sharewell evaluate data/h200/profiles.csv data/h200/profiles-2.csv --yeung --out DIR"},
      {"Figure 3a", "kernels of two models over 30 ms", kPartly,
       "MobileNetV2 runs 372 kernels of 60 us in that time, VGG16 127 of 231 us: computed from "
       "graph "
       "and rate, not traced. That more FLOPs mean more kernels does not hold here.",
       "sharewell reproduce yeung"},
      {"Figure 3b", "utilisation on Pascal and Turing", kNot,
       "We have measured one GPU model. An H200 with 25 to 100 % of its SMs is the nearest "
       "(data/h200/sms.csv).",
       ""},
      {"Figure 4", "how features are taken from a model", kNoFigures,
       "A drawing. Ours reads ONNX and torch.export files.", "sharewell inspect MODEL.onnx"},
      {"Figure 5a",
       "slowdown in 276 combinations of co-located models against the sum of GPU utilisation",
       kShown,
       "Over 376 measured co-locations the slowdown correlates with the summed utilisation at "
       "0.58.",
       "sharewell evaluate --pairs --out DIR"},
  };
}

}  // namespace sharewell::study::reproduce
