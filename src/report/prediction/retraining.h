// What retraining on a machine's own runs changes, as text.
#pragma once

#include <string>

#include "study/prediction/retraining.h"

namespace sharewell::report {

// Both models as they are, on the same profiles.
std::string NextErrorsText(const study::NextErrors& errors, const std::string& given);
std::string NextErrorsJson(const study::NextErrors& errors, const std::string& given);
std::string RetrainText(const study::RetrainReport& report);

}  // namespace sharewell::report
