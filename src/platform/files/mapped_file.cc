#include "platform/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace sharewell::platform {
namespace {

std::string Reason(int code) { return std::generic_category().message(code); }

core::Result<MappedFile> OpenError(const std::string& path, int code) {
  if (code == ENOENT || code == ENOTDIR) {
    return core::UsageError("{}: no such file; check the spelling and the current folder", path);
  }
  if (code == EACCES || code == EPERM) {
    return core::FailedError("{}: this user may not read the file; check its permissions", path);
  }
  return core::FailedError("{}: cannot be opened: {}", path, Reason(code));
}

}  // namespace

core::Result<MappedFile> MappedFile::Open(const std::string& path, Access access) {
  if (path.empty()) return core::UsageError("the name of a file is empty");
  // A path with a NUL byte would open another file than the one it names.
  if (path.find('\0') != std::string::npos) {
    return core::UsageError("the name of a file contains a NUL byte");
  }
  // O_NONBLOCK: opening a pipe without a writer must not wait for one.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return OpenError(path, errno);
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    const int code = errno;
    ::close(fd);
    return OpenError(path, code);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(fd);
    if (S_ISDIR(status.st_mode)) {
      return core::UsageError("{}: is a folder, not a file; name a file in it", path);
    }
    return core::UsageError("{}: is no regular file; write its contents to a file first", path);
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) {
    ::close(fd);
    return MappedFile(nullptr, 0);
  }
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int code = errno;
  ::close(fd);
  if (data == MAP_FAILED) {
    return core::FailedError("{}: cannot be mapped into memory: {}", path, Reason(code));
  }
  // Advice only: where it is refused, reading is slower.
  if (access == Access::kSparse) ::madvise(data, size, MADV_RANDOM);
  return MappedFile(static_cast<const char*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace sharewell::platform
