#include "platform/files/trusted_path.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>

#include "core/text/quoted.h"

namespace sharewell::platform {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel has it

core::Result<void> CheckEntry(const std::string& path, const struct stat& entry, bool last) {
  if (entry.st_uid != 0) {
    return core::FailedError("{} belongs to the user with uid {}", core::QuotedEnd(path),
                             entry.st_uid);
  }
  // Anybody may read a link's mode; who may change it is asked of the folder around it.
  if (S_ISLNK(entry.st_mode) || (entry.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  if (S_ISDIR(entry.st_mode) && (entry.st_mode & S_ISVTX) != 0 && !last) return {};
  return core::FailedError("{} may be written by {}", core::QuotedEnd(path),
                           (entry.st_mode & S_IWOTH) != 0 ? "every user" : "its group");
}

void PutInFront(std::deque<fs::path>& parts, const fs::path& path) {
  const fs::path relative = path.relative_path();
  parts.insert(parts.begin(), relative.begin(), relative.end());
}

}  // namespace

core::Result<void> OnlyRootMayChange(const std::string& path) {
  std::error_code error;
  std::deque<fs::path> left;
  PutInFront(left, fs::absolute(path, error));
  left.push_front(".");  // the root folder itself
  fs::path at = "/";     // without links
  int links = 0;
  while (!left.empty()) {
    const fs::path part = left.front();
    left.pop_front();
    if (part == "..") {
      at = at.parent_path();
      continue;
    }
    const fs::path next = part.empty() || part == "." ? at : at / part;
    struct stat entry {};
    if (::lstat(next.c_str(), &entry) != 0) {
      if (errno == ENOENT) return {};
      return core::FailedError("{} cannot be looked at: {}", core::QuotedEnd(next.string()),
                               std::strerror(errno));
    }
    if (auto ok = CheckEntry(next.string(), entry, left.empty()); !ok) return ok;
    if (!S_ISLNK(entry.st_mode)) {
      at = next;
      continue;
    }
    const fs::path target = fs::read_symlink(next, error);
    if (error || ++links > kMostLinks) {
      return core::FailedError("{} is a symbolic link that leads nowhere",
                               core::QuotedEnd(next.string()));
    }
    if (target.is_absolute()) at = "/";
    PutInFront(left, target);
  }
  return {};
}

}  // namespace sharewell::platform
