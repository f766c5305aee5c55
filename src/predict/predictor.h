// Predictor: from a graph and how it is run to everything a job will need, each figure with an
// interval and a source, in well under a millisecond. Immutable once trained; pure.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/interval.h"
#include "core/result.h"
#include "predict/base.h"
#include "predict/figure.h"
#include "predict/learn/judge/conformal.h"
#include "predict/learn/model.h"
#include "predict/operator_table.h"

namespace sharewell::predict {

using Value = core::Estimated<>;

enum class Bound { kCompute, kMemory, kLaunch, kLoader };
std::string_view NameOf(Bound bound);  // "compute", "memory", "launch", "loader"

struct Neighbour {
  std::string name;  // "tv:resnet50@224 batch 64 bf16"
  double distance =
      0;  // 1: as far as nine in ten of the workloads learnt from are from another family
};

// By how much a figure's bounds are wider than held-out families had them, and what for.
struct Widening {
  enum class Cause { kNone, kModel, kGpu };
  Cause cause = Cause::kNone;
  double factor = 1;

  friend bool operator==(const Widening&, const Widening&) = default;
};

struct Prediction {
  std::array<Value, kFigures> figures;
  std::array<Widening, kFigures> widened;
  Value l2, host_bandwidth, disk;  // shares of one, bytes a second, bytes a second: assumed
  Value energy;                    // joules a step
  double kernels = 0;              // launches a step, counted in the graph
  // Mean of one kernel; 0 where the graph has none.
  core::Seconds KernelTime() const;
  Bound bound = Bound::kCompute;
  bool model_known = true;  // false: nothing we learnt from is like it; bounds are wider
  bool gpu_known = true;    // false: nothing was learnt on this GPU model; bounds of what depends
                            // on the GPU are wider
  std::vector<Neighbour> nearest;
  bool precision_native = true;  // false: the GPU does not compute in it; reckoned as fp32
  // Busy seconds a step before a machine's own runs corrected them: what those are learnt from.
  double unlearnt_busy_seconds = 0;
  // CPU seconds a step that cannot be done without: to launch, to load and to hand over a batch.
  // What a loop burns while it waits for the GPU is not among them.
  double cpu_seconds = 0;
  // By how much a step on so many cores is longer than with all that it could use: the cores share
  // `cpu_seconds`, beside all that overlaps anyway. 1 and more; arithmetic, nothing was fitted.
  double Stretch(double cores) const;

  const Value& operator[](Figure figure) const { return figures[Index(figure)]; }
};

// One workload that was learnt from.
struct Known {
  std::string workload;
  std::int64_t batch = 0;
  std::string precision;
  int workers = 0;
  std::string gpu;
  std::string family;
  std::vector<double> place;  // its features, scaled, to find neighbours by
  Figures measured;
  Figures held_out;    // what was predicted without its family
  bool local = false;  // a machine's own run (retrain.h); `held_out` is what the shipped one said
};

class Predictor {
 public:
  Prediction Predict(const Query& query) const;
  const std::vector<Known>& known() const { return known_; }
  // The upper bound over the median of a figure that is no share.
  double UpperOverMedian(Figure figure) const;
  // The row of this workload, if it was learnt from.
  const Known* Find(std::string_view workload, std::int64_t batch, std::string_view precision,
                    int workers) const;
  // What corrects the base's figure; null where the base stands alone.
  const learn::Regressor* residual(Figure figure) const {
    const auto& learned = learned_[Index(figure)].residual;
    return learned ? &*learned : nullptr;
  }
  // Whether a machine's own runs correct the figure (retrain.h).
  bool IsLocal(Figure figure) const { return learned_[Index(figure)].local.has_value(); }
  bool AnyLocal() const;
  // The question with the rates and operators that this one was trained with, for BaseOf().
  Query Own(Query query) const;

 private:
  friend class Trainer;        // train.cc
  friend class PredictorFile;  // trained.cc
  friend class Retrainer;      // retrain.cc

  struct Learned {
    std::optional<learn::Regressor> residual;  // absent: the base alone
    learn::Conformal interval;
    std::optional<learn::Regressor> local;  // what a machine's own runs add; absent: nothing
  };
  double Corrected(Figure figure, const Query& query, const Base& base, double gpu_seconds,
                   double step_seconds) const;

  std::array<Learned, kFigures> learned_;
  std::vector<double> means_, factors_;  // scale of Known::place
  double far_ = 1;                       // distance that counts as 1
  std::vector<std::string> gpus_;
  std::vector<Known> known_;
  std::optional<Rates> rates_;                      // absent: those built in
  std::shared_ptr<const OperatorTable> operators_;  // null: none
};

}  // namespace sharewell::predict
