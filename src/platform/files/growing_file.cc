#include "platform/files/growing_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace sharewell::platform {

GrowingFile::GrowingFile(std::string path, ProgressOptions options)
    : path_(std::move(path)), options_(options) {}

GrowingFile::~GrowingFile() {
  if (file_ >= 0) ::close(file_);
}

bool GrowingFile::OpenIfNew() {
  struct stat at_path {};
  if (::stat(path_.c_str(), &at_path) != 0) return file_ >= 0;
  if (file_ >= 0 && at_path.st_ino == inode_) return true;
  if (!S_ISREG(at_path.st_mode)) return file_ >= 0;
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (file < 0) return file_ >= 0;
  if (file_ >= 0) {
    ::close(file_);
    read_ = 0;
  }
  file_ = file;
  inode_ = at_path.st_ino;
  return true;
}

bool GrowingFile::Look(const std::function<void(const char* bytes, std::size_t size)>& take,
                       const std::function<void()>& missed) {
  struct stat state {};
  if (!OpenIfNew() || ::fstat(file_, &state) != 0) return false;
  const core::Seconds written(static_cast<double>(state.st_mtim.tv_sec) +
                              static_cast<double>(state.st_mtim.tv_nsec) * 1e-9);
  if (state.st_size < read_ ||
      (state.st_size == read_ && read_ > 0 && written_.value > 0 && written != written_)) {
    read_ = 0;
    rewritten_ = true;
  }
  written_ = written;
  if (state.st_size - read_ > options_.most_behind) {
    read_ = state.st_size;
    missed();
  }
  const off_t end = std::min<off_t>(state.st_size, read_ + options_.most_at_once);
  std::vector<char> block;
  while (read_ < end) {
    block.resize(static_cast<std::size_t>(std::min<off_t>(1 << 16, end - read_)));
    const ssize_t n = ::pread(file_, block.data(), block.size(), read_);
    if (n <= 0) break;
    take(block.data(), static_cast<std::size_t>(n));
    read_ += n;
  }
  all_read_ = read_ >= state.st_size;
  return true;
}

}  // namespace sharewell::platform
