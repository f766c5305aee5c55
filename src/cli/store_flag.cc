#include "cli/store_flag.h"

#include <filesystem>
#include <system_error>

#include "core/shown.h"

namespace sharewell::cli {
namespace {

bool IsUrl(const std::string& place) { return place.find("://") != std::string::npos; }

}  // namespace

std::string StorePlace(const std::string& given) {
  return given.empty() ? store::DefaultStore() : given;
}

std::string StatePlace(const std::string& given, const std::string& store) {
  return given.empty() ? store::StateFolder(store) : std::filesystem::absolute(given).string();
}

std::string ShownStore(const std::string& place) {
  if (!IsUrl(place)) return place;
  const auto user = place.find("://") + 3;
  const auto at = place.rfind('@');
  const auto colon = place.find(':', user);
  if (at == std::string::npos || colon == std::string::npos || colon > at) return place;
  return place.substr(0, colon) + place.substr(at);
}

core::Result<std::unique_ptr<store::Store>> OpenStoreThatIsThere(const std::string& given) {
  const std::string place = StorePlace(given);
  std::error_code error;
  if (!IsUrl(place) && !std::filesystem::exists(place, error) && !error) {
    return core::UsageError(
        "{}: there is no store; `sharewell monitor` and `sharewell profile` make one, --store "
        "names another",
        core::Shown(place));
  }
  return store::Open(place);
}

}  // namespace sharewell::cli
