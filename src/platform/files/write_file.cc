#include "platform/files/write_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

namespace sharewell::platform {
namespace {

constexpr int kNamesTried = 100;

core::Result<void> Failure(const std::string& path, const char* what, int code) {
  const std::string reason = std::generic_category().message(code);
  if (code == ENOENT) {
    return core::UsageError("{}: cannot be {}: its folder does not exist; create it first", path,
                            what);
  }
  return core::FailedError("{}: cannot be {}: {}; nothing was changed", path, what, reason);
}

// 0, or what errno said.
int WriteAll(int fd, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t written = ::write(fd, contents.data(), contents.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    contents.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

core::Result<void> WriteDirectly(const std::string& path, std::string_view contents) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return Failure(path, "opened for writing", errno);
  int code = WriteAll(fd, contents);
  if (::close(fd) != 0 && code == 0) code = errno;
  if (code == 0) return {};
  return core::FailedError("{}: writing stopped half-way: {}", path,
                           std::generic_category().message(code));
}

// The rename itself is durable only once the folder is; a file system that cannot say so is not an
// error of ours.
void SyncFolder(const std::filesystem::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

core::Result<void> WriteFile(const std::string& path, std::string_view contents) {
  if (path.empty()) return core::UsageError("the name of the file to write is empty");
  std::filesystem::path target(path);
  struct stat status {};
  std::optional<mode_t> mode;
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) {
      return core::UsageError("{}: is a folder; name a file in it", path);
    }
    if (!S_ISREG(status.st_mode)) return WriteDirectly(path, contents);
    mode = status.st_mode & 07777;
    std::error_code ignored;
    const auto followed = std::filesystem::canonical(target, ignored);
    if (!ignored) target = followed;
  }
  const auto folder = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  std::string temporary;
  int fd = -1;
  // Not mkstemp: O_CREAT with 0666 lets the user's umask decide, as for every other file.
  for (int i = 0; i < kNamesTried && fd < 0; ++i) {
    temporary =
        (folder / fmt::format(".{}.{}-{}.tmp", target.filename().string(), ::getpid(), i)).string();
    // What replaces a private file is private before anything is in it.
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode ? 0600 : 0666);
    if (fd < 0 && errno != EEXIST) break;
  }
  if (fd < 0) return Failure(path, "written", errno);
  int code = WriteAll(fd, contents);
  if (code == 0 && mode && ::fchmod(fd, *mode) != 0) code = errno;
  if (code == 0 && ::fsync(fd) != 0) code = errno;
  if (::close(fd) != 0 && code == 0) code = errno;
  if (code == 0 && std::rename(temporary.c_str(), target.c_str()) != 0) code = errno;
  if (code != 0) {
    ::unlink(temporary.c_str());
    return Failure(path, "written", code);
  }
  SyncFolder(folder);
  return {};
}

}  // namespace sharewell::platform
