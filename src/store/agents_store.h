// Where the agents of a cluster's nodes (`sharewell monitor`) write.
#pragma once

#include <string>

namespace sharewell::store {

// $SHAREWELL_AGENTS_STORE; empty: the server's own store. HideSecrets hides a password in it.
std::string AgentsStore();

}  // namespace sharewell::store
