#include <unistd.h>

#include <cstdlib>

#include "store/store.h"

namespace sharewell::store {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string DefaultStore() {
  if (std::string store = Environment("SHAREWELL_STORE"); !store.empty()) return store;
  if (::geteuid() == 0) return "/var/lib/sharewell/store.db";
  // A relative $XDG_STATE_HOME is to be ignored, says its specification.
  if (std::string state = Environment("XDG_STATE_HOME"); state.starts_with('/')) {
    return state + "/sharewell/store.db";
  }
  const std::string home = Environment("HOME");
  return (home.empty() ? "." : home) + "/.local/state/sharewell/store.db";
}

}  // namespace sharewell::store
