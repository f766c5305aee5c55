// Trained: what `sharewell-lab train` writes and `predict` reads: a predictor, and how jobs fare
// together. One JSON text; the same value gives the same text.
//
// {"format": "sharewell-model", "version": 1 (2 with a "local"), "gpus": [name, ...], "means":
// [...], "factors":
// [...],
//  "far", "figures": {name: {"residual": R or null, "interval": C or null}, ...},
//  "known": [{"workload", "batch", "precision", "workers", "gpu", "family", "place": [...],
//             "measured": [...], "held_out": [...]}, ...],
//  "together": T or null}, with R and C as in learn/serialize.h and T as in together_file.h. A
//  figure
// that is not known is null. Where a machine's own runs were learnt from (retrain.h), a figure has
// "local": R too, and their workloads in "known" have "local": true.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "predict/colocation/colocation.h"
#include "predict/predictor.h"

namespace sharewell::predict {

struct Trained {
  Predictor predictor;
  std::optional<ColocationModel> together;  // absent: trained without pairs
};

std::string Write(const Trained& trained);

// Trusts nothing: an error says what is wrong with the text and how to make a new one.
core::Result<Trained> ReadTrained(std::string_view text);
// The predictor alone, for those who ask for nothing else: how jobs fare together, which takes
// longer to prepare than all the rest, is not looked at.
core::Result<Predictor> ReadPredictor(std::string_view text);

}  // namespace sharewell::predict
