#include "cli/args/store_flag.h"

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
