// How far predictions are from what was measured. Every function REQUIRES as many of the one as of
// the other, and at least one.
#pragma once

#include <span>

#include "core/units.h"

namespace sharewell::predict::learn {

using Numbers = std::span<const double>;

double Rmse(Numbers actual, Numbers predicted);
double MeanAbsoluteError(Numbers actual, Numbers predicted);

// Root mean square of log(1 + predicted) - log(1 + actual). REQUIRES both above -1.
double Rmsle(Numbers actual, Numbers predicted);

// Of |predicted - actual| / |actual|, as a ratio: 0.1 is ten percent. REQUIRES no actual of 0.
double MeanAbsolutePercentageError(Numbers actual, Numbers predicted);
double MedianAbsolutePercentageError(Numbers actual, Numbers predicted);

// Share of the rows that are at most `upper`, or within both bounds.
core::Ratio Coverage(Numbers actual, Numbers upper);
core::Ratio IntervalCoverage(Numbers actual, Numbers lower, Numbers upper);

// Mean of upper / actual - 1: what is set aside and not needed. REQUIRES actual above 0.
double MeanOverReservation(Numbers actual, Numbers upper);

}  // namespace sharewell::predict::learn
