// --store: where samples and profiles are kept.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "store/store.h"

namespace sharewell::cli {

// What --store gave, or the default.
std::string StorePlace(const std::string& given);
// What --state gave, or the default for a store, as an absolute path.
std::string StatePlace(const std::string& given, const std::string& store);

// For commands that write into a server's store or state by themselves. Fails where neither --store
// nor $SHAREWELL_STORE says which, and $SHAREWELL_SERVER names a server: the default store is
// hardly that server's.
core::Result<void> CheckStoreIsMeant(const std::string& given);

// To read from: a file that is not there is an error, not an empty store.
core::Result<std::unique_ptr<store::Store>> OpenStoreThatIsThere(const std::string& given);

}  // namespace sharewell::cli
