#include "stress/workers/disk_worker.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "core/result.h"
#include "core/text/quoted.h"
#include "stress/level.h"

namespace sharewell::stress {
namespace {

using core::FailedError;
using core::Quoted;
using core::UsageError;

constexpr int kThreads = 4;
constexpr std::size_t kBuffer = std::size_t{1} << 20;
constexpr double kMostFile = 256.0 * (1 << 20);
constexpr double kLeastFile = 32.0 * (1 << 20);
constexpr double kShareOfFree = 0.1;
constexpr double kMostFilling = 5;  // seconds

std::string ShowSize(double bytes) { return ShowLevel(PressureKind::kLastLevelCache, bytes); }

struct FreeDelete {
  void operator()(void* memory) const { std::free(memory); }
};
using AlignedBuffer = std::unique_ptr<std::byte, FreeDelete>;

// Filled with what does not compress, or a file system that does would write next to nothing.
AlignedBuffer NewBuffer() {
  AlignedBuffer buffer(
      static_cast<std::byte*>(std::aligned_alloc(static_cast<std::size_t>(kDiskBlock), kBuffer)));
  if (buffer == nullptr) return buffer;
  std::uint64_t state = 88172645463325252U;
  for (std::size_t i = 0; i < kBuffer; i += sizeof state) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    std::memcpy(buffer.get() + i, &state, sizeof state);
  }
  return buffer;
}

struct NamelessFile {
  int file = -1;
  bool direct = false;
  std::uint64_t size = 0;
  std::atomic<std::uint64_t> next = 0;

  NamelessFile() = default;
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;
  ~NamelessFile() {
    if (file >= 0) ::close(file);
  }

  // All of it, or an errno.
  int Move(bool write, std::byte* buffer, std::size_t bytes, std::uint64_t offset) const {
    while (bytes > 0) {
      const auto at = static_cast<off_t>(offset);
      const ssize_t n =
          write ? ::pwrite(file, buffer, bytes, at) : ::pread(file, buffer, bytes, at);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return n < 0 ? errno : EIO;
      if (!direct) {
        if (write) ::sync_file_range(file, at, n, SYNC_FILE_RANGE_WRITE_AND_WAIT);
        ::posix_fadvise(file, at, n, POSIX_FADV_DONTNEED);
      }
      buffer += n;
      offset += static_cast<std::uint64_t>(n);
      bytes -= static_cast<std::size_t>(n);
    }
    return 0;
  }
};

core::Result<void> OpenIn(const std::string& folder, NamelessFile& made) {
  made.file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (made.file < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
    std::string name = folder + "/.sharewell-stress-XXXXXX";
    made.file = ::mkostemp(name.data(), O_CLOEXEC);
    if (made.file >= 0) ::unlink(name.c_str());
  }
  if (made.file < 0) {
    return FailedError("{}: cannot make a file there: {}; give another folder with --disk-path",
                       Quoted(folder), std::strerror(errno));
  }
  made.direct = ::fcntl(made.file, F_SETFL, O_DIRECT) == 0;
  if (!made.direct) ::posix_fadvise(made.file, 0, 0, POSIX_FADV_RANDOM);  // no reading ahead
  return {};
}

core::Result<void> Fill(const std::string& folder, double bytes, NamelessFile& made) {
  const AlignedBuffer buffer = NewBuffer();
  if (buffer == nullptr) return FailedError("out of memory");
  const double began = SteadySeconds();
  while (static_cast<double>(made.size) + static_cast<double>(kBuffer) <= bytes) {
    int error = made.Move(true, buffer.get(), kBuffer, made.size);
    if (error == EINVAL && made.direct && made.size == 0) {
      // Some file systems take the flag and refuse the work.
      made.direct = false;
      ::fcntl(made.file, F_SETFL, 0);
      error = made.Move(true, buffer.get(), kBuffer, made.size);
    }
    if (error != 0) {
      return FailedError("{}: cannot write the file to press with: {}", Quoted(folder),
                         std::strerror(error));
    }
    made.size += kBuffer;
    if (static_cast<double>(made.size) >= kLeastFile && SteadySeconds() - began > kMostFilling) {
      break;
    }
  }
  ::fdatasync(made.file);
  return {};
}

class DiskWorker : public Worker {
 public:
  DiskWorker(std::shared_ptr<NamelessFile> file, bool write)
      : file_(std::move(file)), write_(write) {}

  core::Result<void> Prepare() override {
    buffer_ = NewBuffer();
    return buffer_ != nullptr ? core::Result<void>() : FailedError("out of memory");
  }

  core::Result<double> Do(double amount) override {
    const double blocks = std::max(1.0, std::round(amount / kDiskBlock));
    const auto bytes =
        std::min<std::uint64_t>(static_cast<std::uint64_t>(blocks * kDiskBlock), kBuffer);
    const std::uint64_t at = file_->next.fetch_add(bytes) % file_->size;
    const std::uint64_t first = std::min(bytes, file_->size - at);
    int error = file_->Move(write_, buffer_.get(), first, at);
    if (error == 0 && first < bytes) error = file_->Move(write_, buffer_.get(), bytes - first, 0);
    if (error != 0) {
      return FailedError("the disk failed to {}: {}", write_ ? "write" : "read",
                         std::strerror(error));
    }
    return static_cast<double>(bytes);
  }

 private:
  std::shared_ptr<NamelessFile> file_;
  bool write_;
  AlignedBuffer buffer_;
};

}  // namespace

core::Result<DiskWorkersMade> DiskWorkers(const DiskPlan& plan) {
  struct statfs disk {};
  struct stat folder {};
  if (::stat(plan.folder.c_str(), &folder) != 0 || ::statfs(plan.folder.c_str(), &disk) != 0) {
    return UsageError("{}: {}; give a folder on the disk to press with --disk-path",
                      Quoted(plan.folder), std::strerror(errno));
  }
  if (!S_ISDIR(folder.st_mode)) return UsageError("{} is no folder", Quoted(plan.folder));
  if (disk.f_type == TMPFS_MAGIC || disk.f_type == RAMFS_MAGIC || disk.f_type == HUGETLBFS_MAGIC) {
    return UsageError(
        "{} lies in memory (tmpfs), not on a disk; give a folder on the disk to press with "
        "--disk-path",
        Quoted(plan.folder));
  }
  const double free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_bsize);
  const double size = std::min(kMostFile, std::floor(free * kShareOfFree / kBuffer) * kBuffer);
  if (size < kLeastFile) {
    return FailedError(
        "{} has {} free; {} are needed, so that pressure never fills a disk; give another folder "
        "with --disk-path",
        Quoted(plan.folder), ShowSize(free), ShowSize(kLeastFile / kShareOfFree));
  }
  auto file = std::make_shared<NamelessFile>();
  RETURN_IF_ERROR(OpenIn(plan.folder, *file));
  RETURN_IF_ERROR(Fill(plan.folder, size, *file));
  DiskWorkersMade made{{}, static_cast<double>(file->size), file->direct};
  for (int i = 0; i < kThreads; ++i) {
    made.workers.push_back({std::make_unique<DiskWorker>(file, plan.write), plan.cpus});
  }
  return made;
}

}  // namespace sharewell::stress
