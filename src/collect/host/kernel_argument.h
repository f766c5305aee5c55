// How the kernel of this machine is given an argument: distributions differ.
#pragma once

#include <string>
#include <string_view>

#include "collect/host/files.h"

namespace sharewell::collect {

// A command that adds it, or words where no tool for that is here.
std::string AddKernelArgument(HostFiles& files, std::string_view argument);

}  // namespace sharewell::collect
