#include "platform/files/watcher_files.h"

#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "platform/files/embed.h"
#include "platform/files/write_file.h"

// One file: for each a line "PATH LENGTH", then so many bytes (src/platform/CMakeLists.txt).
SHAREWELL_EMBED_OF(sharewell_embedded_watcher, SHAREWELL_BUILD_DIR, "watcher.files");

namespace sharewell::platform {
namespace {

namespace fs = std::filesystem;

std::vector<std::pair<std::string, std::string_view>> Unpack(std::string_view rest) {
  std::vector<std::pair<std::string, std::string_view>> files;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    SHAREWELL_CHECK(end != std::string_view::npos);
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const auto space = line.rfind(' ');
    SHAREWELL_CHECK(space != std::string_view::npos);
    std::size_t length = 0;
    std::from_chars(line.data() + space + 1, line.data() + line.size(), length);
    SHAREWELL_CHECK(length <= rest.size());
    files.emplace_back(line.substr(0, space), rest.substr(0, length));
    rest.remove_prefix(length);
  }
  return files;
}

core::Result<void> ReadableFolder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (!failed && ::chmod(folder.c_str(), 0755) != 0) {
    failed = std::error_code(errno, std::generic_category());
  }
  if (!failed) return {};
  return core::FailedError(
      "{}: the folder of the watcher cannot be made: {}; make room or give rights there",
      folder.string(), failed.message());
}

bool Holds(const fs::path& path, std::string_view contents) {
  std::ifstream file(path, std::ios::binary);
  return file && std::string(std::istreambuf_iterator<char>(file), {}) == contents;
}

}  // namespace

const std::vector<std::pair<std::string, std::string_view>>& WatcherFiles() {
  static const auto kFiles =
      Unpack({sharewell_embedded_watcher_begin, sharewell_embedded_watcher_end});
  return kFiles;
}

core::Result<void> WriteWatcher(const std::string& folder) {
  RETURN_IF_ERROR(ReadableFolder(folder));
  for (const auto& [name, contents] : WatcherFiles()) {
    const fs::path path = fs::path(folder) / name;
    if (path.parent_path() != fs::path(folder)) RETURN_IF_ERROR(ReadableFolder(path.parent_path()));
    if (!Holds(path, contents)) RETURN_IF_ERROR(WriteFile(path.string(), contents));
    if (::chmod(path.c_str(), 0644) != 0) {
      return core::FailedError("{}: cannot be made readable for jobs: {}", path.string(),
                               std::generic_category().message(errno));
    }
  }
  return {};
}

std::string WatcherPythonPath(const std::string& folder, std::string_view before) {
  return before.empty() ? folder : folder + ":" + std::string(before);
}

}  // namespace sharewell::platform
