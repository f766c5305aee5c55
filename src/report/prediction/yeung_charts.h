// Figures 2b and 5a of Yeung et al. as SVG, of what was measured here.
#pragma once

#include <string>
#include <vector>

#include "study/prediction/evaluate/beside_yeung.h"
#include "study/prediction/measured_slowdowns.h"

namespace sharewell::report {

std::string FlopsUtilisationSvg(const study::BesideYeung& in);
std::string UtilisationSlowdownSvg(const std::vector<study::MeasuredSlowdown>& points);

}  // namespace sharewell::report
