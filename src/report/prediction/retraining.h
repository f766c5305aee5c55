// What retraining on a machine's own runs changes, as text.
#pragma once

#include <string>

#include "study/prediction/retraining.h"

namespace sharewell::report {

std::string RetrainText(const study::RetrainReport& report);

}  // namespace sharewell::report
