// Whether there are NVIDIA GPUs in this machine that the driver may not know of.
#pragma once

#include <string>

namespace sharewell::collect {

// How many NVIDIA display and compute cards the PCI bus below `root` ("/") shows; 0 also where
// there is no PCI bus to look at.
int NvidiaCards(const std::string& root);

}  // namespace sharewell::collect
