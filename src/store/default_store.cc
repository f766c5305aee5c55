#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "store/store.h"

namespace sharewell::store {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string DefaultFolder() {
  if (::geteuid() == 0) return "/var/lib/sharewell";
  // A relative $XDG_STATE_HOME is to be ignored, says its specification.
  if (std::string state = Environment("XDG_STATE_HOME"); state.starts_with('/')) {
    return state + "/sharewell";
  }
  const std::string home = Environment("HOME");
  return (home.empty() ? "." : home) + "/.local/state/sharewell";
}

}  // namespace

std::string DefaultStore() {
  std::string store = Environment("SHAREWELL_STORE");
  return store.empty() ? DefaultFolder() + "/store.db" : store;
}

std::string StateFolder(const std::string& store) {
  const bool file = store.find("://") == std::string::npos;
  const std::filesystem::path folder = file ? std::filesystem::absolute(store).parent_path()
                                            : std::filesystem::absolute(DefaultFolder());
  return folder.string();
}

}  // namespace sharewell::store
