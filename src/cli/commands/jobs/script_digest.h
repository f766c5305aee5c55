// Which script a command runs, as far as its words say: a server that runs as root opens no files
// for others, so the client looks.
#pragma once

#include <string>
#include <vector>

namespace sharewell::cli {

// 32 hexadecimal digits of the script's path and of what it says: "python3 train.py", "torchrun
// --nproc-per-node 1 train.py", "python3 -m package.train", "./run.sh". Empty: the words name no
// script that can be read.
std::string ScriptDigest(const std::vector<std::string>& command, const std::string& folder);

}  // namespace sharewell::cli
