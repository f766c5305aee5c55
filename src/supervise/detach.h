// Leaves behind what this process was started with.
#pragma once

namespace sharewell::supervise {

// Nothing may block on, or end by, what the server had open or was sent: all signals are held, all
// files closed, and the session is its own. What descends from it comes back to it.
void Detach();

}  // namespace sharewell::supervise
