#include "cli/args/out_folder.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "cli/terminal.h"
#include "platform/files/text.h"
#include "platform/files/write_file.h"

namespace sharewell::cli {

using core::FailedError;
using core::Result;
using core::UsageError;
using platform::Quoted;

Result<void> CheckOutFolder(const std::string& folder) {
  if (folder.empty()) return UsageError("--out: '' is not a folder; give the name of one");
  std::error_code error;
  std::filesystem::path at = std::filesystem::absolute(folder, error);
  while (!error && !std::filesystem::exists(at, error) && at.has_relative_path()) {
    at = at.parent_path();
  }
  if (error) return FailedError("--out: {}: {}", Quoted(folder), error.message());
  if (!std::filesystem::is_directory(at, error)) {
    return UsageError("--out: {} cannot be a folder: {} is a file; give another name",
                      Quoted(folder), Quoted(at.string()));
  }
  if (::access(at.c_str(), W_OK | X_OK) != 0) {
    return FailedError("--out: no permission to write to {}: {}", Quoted(at.string()),
                       std::generic_category().message(errno));
  }
  return {};
}

Result<void> WriteFiles(const std::string& folder, const std::vector<OutFile>& files) {
  const HoldInterrupts held;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return FailedError("--out: cannot create {}: {}", Quoted(folder), error.message());
  for (const OutFile& file : files) {
    const auto path = std::filesystem::path(folder) / file.name;
    if (std::filesystem::is_directory(path, error)) {
      return core::UsageError(
          "--out: {} is a folder, and should become a file; nothing was written",
          Quoted(path.string()));
    }
  }
  for (const OutFile& file : files) {
    const auto path = (std::filesystem::path(folder) / file.name).string();
    if (auto ok = platform::WriteFile(path, file.contents); !ok) return ok;
  }
  return {};
}

}  // namespace sharewell::cli
