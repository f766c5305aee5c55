// Fits the coefficients of the interference model to what was measured. Pure; the same measurements
// give the same coefficients, in the same order or not.
//
// Least squares of the speed, softened (soft-L1: a speed that is far off counts for its distance,
// not for its square), by Levenberg and Marquardt's method on the logarithms of the coefficients.
// Each is pulled a little towards a plausible value, so that few measurements, or measurements
// without shares, leave what they say nothing about where it is.
#pragma once

#include <span>
#include <vector>

#include "core/units.h"
#include "interference/interference.h"

namespace sharewell::interference {

// Jobs that were measured together, or one alone with a share of the SMs, and how fast each was
// over its rate alone with all SMs. What is above 1 is noise.
struct MeasuredSpeeds {
  std::vector<Resident> residents;
  std::vector<core::Ratio> speeds;
};

// REQUIRES as many speeds as residents. Rounded to four digits, so that they are the same on every
// machine. The residuals are the deviations of log(measured / model) over groups of two, and of
// more; those of the defaults where there is no such group.
Coefficients Fit(std::span<const MeasuredSpeeds> measured);

}  // namespace sharewell::interference
