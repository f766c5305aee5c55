#include "cli/args/store_flag.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/text/quoted.h"

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

core::Result<void> CheckStoreIsMeant(const std::string& given) {
  const char* server = std::getenv("SHAREWELL_SERVER");
  if (!given.empty() || server == nullptr || *server == 0) return {};
  const std::string place = store::DefaultStore();
  if (place != store::DefaultFolder() + "/store.db") return {};  // $SHAREWELL_STORE
  return core::UsageError(
      "$SHAREWELL_SERVER names the server {}, and this would be written into {} instead: say with "
      "--store which store is meant (`sharewell serve` says where it keeps its jobs), or unset "
      "SHAREWELL_SERVER",
      core::Quoted(server), core::Quoted(place));
}

core::Result<std::unique_ptr<store::Store>> OpenStoreThatIsThere(const std::string& given) {
  const std::string place = StorePlace(given);
  std::error_code error;
  if (!IsUrl(place) && !std::filesystem::exists(place, error) && !error) {
    return core::UsageError(
        "{}: there is no store; `sharewell monitor` and `sharewell profile` make one, and "
        "--store names another",
        core::Quoted(place));
  }
  return store::Open(place);
}

}  // namespace sharewell::cli
