#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "store/agents_store.h"
#include "store/postgres/password.h"
#include "store/store.h"

namespace sharewell::store {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The value of a variable, copied; its place in what /proc/PID/environ shows is blank afterwards.
std::string Blanked(const char* name) {
  char* value = std::getenv(name);
  if (value == nullptr) return {};
  std::string copy = value;
  ::explicit_bzero(value, copy.size());
  return copy;
}

constexpr const char* kStore = "SHAREWELL_STORE";
constexpr const char* kAgentsStore = "SHAREWELL_AGENTS_STORE";

// Those of both that held a password, by name.
std::map<std::string, std::string>& HiddenStores() {
  static std::map<std::string, std::string> stores;
  return stores;
}

std::string StoreNamedBy(const char* variable) {
  std::string store = Environment(variable);
  return store.empty() ? HiddenStores()[variable] : store;
}

}  // namespace

void HideSecrets() {
  for (const char* variable : {kStore, kAgentsStore}) {
    if (!HoldsPassword(Environment(variable))) continue;
    HiddenStores()[variable] = Blanked(variable);
    ::unsetenv(variable);  // jobs and other children are not told
  }
  // libpq looks for it there at every connection.
  if (const std::string password = Blanked("PGPASSWORD"); !password.empty()) {
    ::setenv("PGPASSWORD", password.c_str(), 1);
  }
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

std::string DefaultStore() {
  std::string store = StoreNamedBy(kStore);
  return store.empty() ? DefaultFolder() + "/store.db" : store;
}

std::string AgentsStore() { return StoreNamedBy(kAgentsStore); }

std::string StateFolder(const std::string& store) {
  const bool file = store.find("://") == std::string::npos;
  const std::filesystem::path folder = file ? std::filesystem::absolute(store).parent_path()
                                            : std::filesystem::absolute(DefaultFolder());
  return folder.string();
}

}  // namespace sharewell::store
