// Chooses a Gaussian process's length scales, noise and signal from its rows (gaussian.h).
#pragma once

#include "predict/learn/gaussian/gaussian.h"

namespace sharewell::predict::learn {

// Sets inverse_lengths, noise and signal. REQUIRES rows that are standardised and not yet divided
// by lengths, and targets around their mean.
void Tune(const GaussianOptions& options, GaussianState& state);

}  // namespace sharewell::predict::learn
