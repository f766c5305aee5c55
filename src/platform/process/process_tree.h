// The processes that descend from one, as the kernel's table has them now.
#pragma once

#include <vector>

namespace sharewell::platform {

// Children before their children; `root` itself and zombies are not among them.
std::vector<int> ProcessTree(int root);

}  // namespace sharewell::platform
