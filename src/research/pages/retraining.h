// What retraining on a machine's own runs changes, as text.
#pragma once

#include <string>

#include "research/train/retraining.h"

namespace sharewell::research {

// Both models as they are, on the same profiles.
std::string NextErrorsText(const NextErrors& errors, const std::string& given);
std::string NextErrorsJson(const NextErrors& errors, const std::string& given);
std::string RetrainText(const RetrainReport& report);

}  // namespace sharewell::research
