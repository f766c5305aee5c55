// Any bytes as sharewell.toml: read, or refused with a reason; every value that is read is one. And
// as a unit of systemd's and its environment, which `doctor --security` reads.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "platform/files/unit_file.h"
#include "server/settings/settings_file.h"

namespace {

void Check(const sharewell::server::GivenLimits& given) {
  if (given.size() != sharewell::core::LimitKeys().size()) __builtin_trap();
  for (const auto& value : given) {
    if (value && (!std::isfinite(*value) || *value < 0)) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::map<std::string, std::string> unit;
  sharewell::platform::ReadUnitSettings(text, unit);
  for (const auto& [key, value] : unit) {
    if (key.size() + value.size() > size) __builtin_trap();
  }
  if (sharewell::platform::EnvironmentSetting(text, "A").size() > size) __builtin_trap();
  const auto settings = sharewell::server::ParseSettings(text, "fuzz.toml");
  if (!settings) {
    if (settings.error().message.empty()) __builtin_trap();
    return 0;
  }
  Check(settings->everybody);
  double sum = 0;
  for (const auto& project : settings->projects) {
    if (!(project.share >= 0 && project.share <= 1) || project.name.empty()) __builtin_trap();
    if (project.users.empty() != (project.name == "default")) __builtin_trap();
    sum += project.share;
  }
  if (sum > 1.001) __builtin_trap();
  for (const auto& [name, given] : settings->users) Check(given);
  for (const auto& [name, given] : settings->groups) Check(given);
  for (const auto& [name, price] : settings->prices.per_gpu_hour) {
    if (!std::isfinite(price) || price < 0) __builtin_trap();
  }
  return 0;
}
