// All that descends from this process. It is a subreaper: what forks away from the command comes
// back to it, so the tree is whole.
#pragma once

namespace sharewell::supervise {

// To every descendant; how many there are.
int SignalTree(int signal);

}  // namespace sharewell::supervise
