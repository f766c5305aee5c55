// The dashboard's files, as tools/web built them from web/. They are part of the program.
#pragma once

#include <vector>

#include "api/api.h"

namespace sharewell::server {

// None where the program was built without them (SHAREWELL_WEB=OFF).
std::vector<api::PageFile> DashboardFiles();

}  // namespace sharewell::server
