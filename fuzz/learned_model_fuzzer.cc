// Any bytes as a learned model or a calibration: read, or refused with a reason. A model that is
// read answers any row, and is written and read again as the same.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "predict/learn/serialize.h"

namespace {

namespace learn = sharewell::predict::learn;

void TryRegressor(std::string_view text) {
  const auto regressor = learn::ReadRegressor(text);
  if (!regressor) {
    if (regressor.error().message.empty()) __builtin_trap();
    return;
  }
  for (double x : {0.0, -1e9, std::numeric_limits<double>::quiet_NaN()}) {
    const std::vector<double> row(regressor->features().size(), x);
    regressor->Predict(row);
    regressor->Spread(row);
  }
  if (regressor->Importance().size() != regressor->features().size()) __builtin_trap();
  const auto again = learn::ReadRegressor(learn::Write(*regressor));
  if (!again || !(*again == *regressor)) __builtin_trap();
}

void TryConformal(std::string_view text) {
  const auto conformal = learn::ReadConformal(text);
  if (!conformal) {
    if (conformal.error().message.empty()) __builtin_trap();
    return;
  }
  for (std::size_t level = 0; level < conformal->levels.size(); ++level) {
    conformal->Offset(level, "vit", 2);
  }
  const auto again = learn::ReadConformal(learn::Write(*conformal));
  if (!again || !(*again == *conformal)) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  TryRegressor(text);
  TryConformal(text);
  return 0;
}
