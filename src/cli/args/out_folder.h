// --out DIR: a folder that a command writes its files into, all or none as far as can be told.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace sharewell::cli {

struct OutFile {
  std::string name;
  std::string contents;
};

// Said before the run, not after it: a folder that can be made, or is there, and may be written to.
core::Result<void> CheckOutFolder(const std::string& folder);

// Makes the folder; files of these names are replaced. Interrupts wait until it is done.
core::Result<void> WriteFiles(const std::string& folder, const std::vector<OutFile>& files);

}  // namespace sharewell::cli
