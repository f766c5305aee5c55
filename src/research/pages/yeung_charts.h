// Figures 2b and 5a of Yeung et al. as SVG, of what was measured here.
#pragma once

#include <string>
#include <vector>

#include "research/evaluate/beside_yeung.h"
#include "research/evaluate/measured_slowdowns.h"

namespace sharewell::research {

std::string FlopsUtilisationSvg(const BesideYeung& in);
std::string UtilisationSlowdownSvg(const std::vector<MeasuredSlowdown>& points);

}  // namespace sharewell::research
