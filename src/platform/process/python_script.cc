#include "platform/process/python_script.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/result.h"
#include "platform/files/write_file.h"
#include "platform/process/find_program.h"

namespace sharewell::platform {

core::Result<std::vector<std::string>> PythonCommand(const std::string& folder,
                                                     std::initializer_list<PythonFile> files) {
  SHAREWELL_CHECK(files.size() > 0);
  if (folder.empty()) {
    return core::FailedError("no folder could be made in /tmp: {}", std::strerror(errno));
  }
  const char* const path = std::getenv("PATH");
  auto python = FindProgram("python3", path == nullptr ? "" : path);
  if (!python) {
    return tl::unexpected(
        core::Error{core::ErrorKind::kAbsent,
                    "there is no python3 in PATH, and this is measured through it: install Python "
                    "3, and PyTorch for what needs a GPU (python3 -m pip install torch)"});
  }
  for (const PythonFile& file : files) {
    RETURN_IF_ERROR(WriteFile(folder + "/" + std::string(file.name), file.text));
  }
  // -B: no compiled copies beside files that are gone in a moment.
  return std::vector<std::string>{*python, "-B", folder + "/" + std::string(files.begin()->name)};
}

}  // namespace sharewell::platform
