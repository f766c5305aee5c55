#include "platform/process/find_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/text/quoted.h"
#include "core/text/suggest.h"

namespace sharewell::platform {
namespace {

namespace fs = std::filesystem;
using core::Quoted;
using core::UsageError;

constexpr std::size_t kMostCandidates = 20'000;
constexpr std::size_t kMostNameLength = 255;

std::vector<std::string> PathFolders(const std::string& path) {
  std::vector<std::string> folders;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    // An empty part is the working folder, as for a shell.
    folders.push_back(end == begin ? "." : path.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

core::Result<std::string> Checked(const std::string& file) {
  std::error_code error;
  const auto status = fs::status(file, error);
  if (!fs::exists(status)) {
    const int why = error ? error.value() : ENOENT;
    return UsageError("cannot run {}: {}", Quoted(file), std::strerror(why));
  }
  if (fs::is_directory(status)) return UsageError("cannot run {}: it is a folder", Quoted(file));
  if (::access(file.c_str(), X_OK) != 0) {
    return UsageError("cannot run {}: {}; is it meant to be run? `chmod +x` allows it",
                      Quoted(file), std::strerror(errno));
  }
  return file;
}

std::string Suggestion(const std::string& name, const std::vector<std::string>& folders) {
  if (name.size() > kMostNameLength) return {};
  std::vector<std::string> names;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      if (names.size() == kMostCandidates) return core::DidYouMean(name, names);
      names.push_back(it->path().filename().string());
    }
  }
  return core::DidYouMean(name, names);
}

}  // namespace

core::Result<std::string> FindProgram(const std::string& name, const std::string& path) {
  if (name.empty()) return UsageError("the command is empty; give a program to run");
  if (name.find('\0') != name.npos) return UsageError("the command has a zero byte in its name");
  if (name.find('/') != name.npos) return Checked(name);
  const auto folders = PathFolders(path);
  std::string seen;  // there, but not to be run
  for (const std::string& folder : folders) {
    const std::string file = folder + "/" + name;
    std::error_code error;
    if (!fs::is_regular_file(file, error)) continue;
    if (::access(file.c_str(), X_OK) == 0) return file;
    if (seen.empty()) seen = file;
  }
  if (!seen.empty()) return Checked(seen);
  std::error_code error;
  if (fs::exists(name, error) && !fs::is_directory(name, error)) {
    return UsageError("command {} not found in PATH; for the file here write ./{}", Quoted(name),
                      core::Quoted(name));
  }
  return UsageError("command {} not found in PATH{}", Quoted(name), Suggestion(name, folders));
}

}  // namespace sharewell::platform
