#include "research/reproduce/checklist/checklist.h"

namespace sharewell::research::reproduce {

std::vector<PaperItem> YeungItems() {
  using enum PaperItemState;
  return {
      {"Table 1", "the 13 model architectures, 81 workloads", kPartly,
       "216 profiles of 130 architectures, on an H200 instead of GTX 1080s.",
       "sharewell-lab evaluate data/h200/profiles.csv data/h200/profiles-2.csv"},
      {"Table 2", "the features of a workload", kPartly,
       "Those that the text names, batch and parameters; our predictor reads more.",
       "sharewell-lab evaluate data/h200/profiles.csv data/h200/profiles-2.csv --yeung"},
      {"Table 3", "RMSLE of each learner: random forest 0.154, better than gradient boosting",
       kShown,
       "On our 205 workloads, rows held out at random / families held out: its forest 0.377 / "
       "0.538, boosting 0.387 / 0.549, ours 0.147 / 0.164, with a base that has not seen the rows "
       "0.176 / 0.221 (prediction.md).",
       "sharewell-lab reproduce yeung --part predictor"},
      {"Table 4", "GPU utilisation, makespan and JCT of the three schedulers", kShown,
       "Simulated on 12 H200; twenty real loops are in mix.md. Missed: the makespan of `pack` is "
       "{pack_makespan_vs_reactive} against `reactive`, in the paper -26.5 %.",
       "sharewell-lab reproduce yeung"},
      {"Figure 1", "how predictions reach the scheduler", kNoFigures,
       "A drawing. Ours: ARCHITECTURE.md.", ""},
      {"Figure 2a", "GPU utilisation of each model: 20 to 90 %", kShown,
       "{figure_2a_utilisation_low} to {figure_2a_utilisation_high} (5th to 95th percentile).",
       "sharewell-lab reproduce yeung"},
      {"Figure 2b", "more FLOPs, higher GPU utilisation", kShown,
       "Weak: the rank correlation is {figure_2b_flops_utilisation}.",
       "sharewell-lab evaluate data/h200/profiles.csv data/h200/profiles-2.csv --yeung --out DIR"},
      {"Figure 3a", "kernels over 30 ms: more FLOPs, more and longer kernels", kPartly,
       "MobileNetV2 {figure_3a_kernels_in_30_ms_mobilenet_v2} kernels of "
       "{figure_3a_kernel_time_mobilenet_v2}, VGG16 {figure_3a_kernels_in_30_ms_vgg16} of "
       "{figure_3a_kernel_time_vgg16}: longer ones, not more. Computed, not traced.",
       "sharewell-lab reproduce yeung"},
      {"Figure 3b", "utilisation is higher on Pascal than on Turing", kNot,
       "We have one GPU model; the nearest is part of an H200's SMs (data/h200/sms.csv).", ""},
      {"Figure 4", "how features are taken from a model", kNoFigures,
       "A drawing. Ours reads ONNX and torch.export files.", "sharewell inspect MODEL.onnx"},
      {"Figure 5a",
       "slowdown of 276 co-locations against summed GPU utilisation: it rises, typically 10 to 200 "
       "%",
       kShown,
       "Correlation {figure_5a_utilisation_slowdown} over {figure_5a_combinations} co-locations; "
       "{figure_5a_slowed_10_to_200_percent} of the jobs in that range, nearly all others below.",
       "sharewell-lab evaluate --pairs --out DIR"},
  };
}

}  // namespace sharewell::research::reproduce
