// For tests: the one server of this program.
#pragma once

#include "store/postgres/test_server.h"
#include "store/test_place.h"

namespace sharewell::store {

TestServer& SharedServer();

}  // namespace sharewell::store
