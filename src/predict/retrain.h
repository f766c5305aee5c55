// Retraining: what a predictor errs by on a machine's own runs is learnt on top of the shipped one,
// judged on newer runs that it has not seen, and taken figure by figure only where it is better.
// Pure and deterministic: who calls it decides when, on which thread, and keeps what was.
//
// Runs may lie: a user can name another graph than the one that runs, and a machine can have a bad
// day. So one workload counts once however often it ran, targets far from the others are pulled in,
// one run can add only so much to an error, and a gain that chance could make is refused.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "predict/train.h"

namespace sharewell::predict {

struct RetrainOptions {
  std::size_t least_runs = 40;       // fewer teach nothing
  double held_out = 0.25;            // of the runs: the newest, never learnt from
  std::size_t least_judged = 10;     // workloads among those, for a figure to be judged
  double least_gain = 0.1;           // of the error, or a figure stays as it is
  double sure = 2;                   // the gain over its standard error, at least
  std::size_t most_workloads = 600;  // the newest: learning takes the cube of it
  std::vector<Figure> leave = {};    // these stay as they are in use
  std::function<bool()> go_on = {};  // false: stop now; asked between figures; may be empty
};

// An error is the mean over workloads of |log(predicted / measured)|, of shares of
// log(1 + percent); of one workload at most 1. 0.1 is about ten percent.
struct FigureJudgement {
  std::size_t workloads = 0;                         // that it was judged on
  std::optional<double> shipped, in_use, retrained;  // errors on them; absent: not judged
  enum class Verdict {
    kKept,      // the one in use stays
    kTaken,     // the retrained one is better
    kReverted,  // the one in use is worse than the shipped one, which takes its place
  } verdict = Verdict::kKept;
  std::string why;  // in words
};
std::string_view NameOf(FigureJudgement::Verdict verdict);  // "kept", "taken", "reverted"

struct Retrained {
  std::size_t runs = 0;       // learnt from
  std::size_t workloads = 0;  // different ones among them
  std::size_t held_out = 0;   // runs that it was judged on
  std::array<FigureJudgement, kFigures> figures;
  std::optional<Predictor> predictor;  // absent: nothing changes

  const FigureJudgement& operator[](Figure figure) const { return figures[Index(figure)]; }
};

// `runs`: the oldest first. `shipped` must be without corrections of its own; `in_use` is it, or
// what an earlier call made of it. Fails where there are too few runs, or `go_on` says stop.
core::Result<Retrained> Retrain(const Predictor& shipped, const Predictor& in_use,
                                std::span<const Row> runs, const RetrainOptions& options = {});

// The error of one figure over these runs, as above; absent where none has it.
std::optional<double> ErrorOn(const Predictor& predictor, std::span<const Row> runs, Figure figure);

// Of each figure what the last runs err by against what it was judged to.
struct Drift {
  std::vector<Figure> figures;  // those that err half again as much, or more
  std::string words;            // a warning; empty: none
};
// `judged`: the error of each figure when the predictor was last judged; absent: unknown.
Drift FindDrift(const Predictor& in_use, const std::array<std::optional<double>, kFigures>& judged,
                std::span<const Row> newest);

}  // namespace sharewell::predict
