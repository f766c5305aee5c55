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
       kPartly, "Our predictor reads the same from the graph, and more.",
       "sharewell inspect MODEL.onnx"},
      {"Table 3", "RMSLE of each learner, random forest 0.154", kPartly,
       "Ours is one analytic model with a learnt residual. Random forest and the paper's other "
       "learners are not run here.",
       "sharewell evaluate data/h200/profiles.csv data/h200/profiles-2.csv"},
      {"Table 4", "GPU utilisation, makespan and JCT of the three schedulers", kShown,
       "Simulated on 12 H200, and twenty real loops on one H200 through the server (mix.md). The "
       "paper's `reactive` has no record of a real run: on one GPU it is `slot`.",
       "sharewell reproduce yeung"},
      {"Figure 1", "how predictions reach the scheduler", kNoFigures,
       "A drawing. Ours: ARCHITECTURE.md.", ""},
      {"Figure 2a", "GPU utilisation of each model", kPartly,
       "Ours is a column of each profile; not drawn.",
       "sharewell evaluate data/h200/profiles.csv data/h200/profiles-2.csv"},
      {"Figure 2b", "GPU utilisation against FLOPs", kNot, "Not drawn yet.", ""},
      {"Figure 3a", "kernels of two models over 30 ms", kNot,
       "Not drawn yet. A trace of any job can be read.", "sharewell import kineto TRACE.json"},
      {"Figure 3b", "utilisation on Pascal and Turing", kNot,
       "We have measured one GPU model. An H200 with 25 to 100 % of its SMs is the nearest "
       "(data/h200/sms.csv).",
       ""},
      {"Figure 4", "how features are taken from a model", kNoFigures,
       "A drawing. Ours reads ONNX and torch.export files.", "sharewell inspect MODEL.onnx"},
      {"Figure 5a",
       "slowdown in 276 combinations of co-located models against the sum of GPU utilisation",
       kPartly,
       "Fifteen pairs are drawn in sweeps.md. Over the 57 pairs of data/h200/pairs.csv the sum of "
       "the two speeds correlates with the summed utilisation at -0.60.",
       "sharewell colocate zoo/packing.toml"},
  };
}

}  // namespace sharewell::study::reproduce
