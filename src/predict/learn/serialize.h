// Regressors and calibrations as JSON text: what `sharewell-lab train` writes and `predict` reads.
// The same value gives the same text; a regressor that was written and read predicts the same bits.
//
// Reading trusts nothing: keys that are missing or unknown, numbers out of range, trees that do not
// hang together or counts that disagree are an error that says what, and how to get a new model.
//
// {"format": "sharewell-learned", "version": 1, "features": [name, ...], "model": M}, with M one of
//   {"kind": "trees", "base", "members", "importance": [...], "trees": [T, ...]}
//   {"kind": "linear", "means": [...], "factors": [...], "intercept", "coefficients": [...]}
//   {"kind": "gaussian", "kernel", "means", "factors", "inverse_lengths", "noise", "signal",
//   "mean",
//    "rows", "targets", "weights", "solution": [...], which may be absent: it follows from the
//    rest}
//   {"kind": "mean", "members": [M, ...]}
// and T {"feature": [...], "value": [...]}, one entry a node in the order of tree.h: feature is -1
// for a leaf, else twice the feature's number, plus 1 where missing values go left. Children are
// not written: their places follow from the order.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "json/value.h"
#include "json/writer.h"
#include "predict/learn/judge/conformal.h"
#include "predict/learn/model.h"

namespace sharewell::predict::learn {

std::string Write(const Regressor& regressor);
// {"levels": [...], "pooled": [...], "families": {name: [...], ...}}
std::string Write(const Conformal& conformal);

// What they wrote, as a value of a larger file: numbers have the digits that others have there.
void WriteInto(json::Writer& out, std::string_view written);

core::Result<Regressor> ReadRegressor(std::string_view text);
core::Result<Conformal> ReadConformal(std::string_view text);

// The same from JSON that is parsed already, as part of a larger file. `place` is where in it, for
// messages: "figures.power.residual.".
core::Result<Regressor> RegressorFromJson(json::Value value, const std::string& place = "");
core::Result<Conformal> ConformalFromJson(json::Value value, const std::string& place = "");

}  // namespace sharewell::predict::learn
