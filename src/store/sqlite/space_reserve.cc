#include "store/sqlite/space_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace sharewell::store {
namespace {

// A thousand ends of jobs with ordinary environments; less on a small disk.
constexpr std::int64_t kReserveBytes = std::int64_t{8} << 20, kReserveShare = 16;
// Below this, new work is not taken although the reserve is whole.
constexpr std::int64_t kLeastFree = std::int64_t{1} << 20;
constexpr std::int64_t kNothing = std::int64_t{64} << 10;

struct Disk {
  std::int64_t size = 0, free = 0;
};

// Of the disk that the store lies on; absent figures are as a full disk's.
Disk DiskOf(const std::string& store) {
  struct statvfs status {};
  if (::statvfs(store.c_str(), &status) != 0) return {};
  const auto unit = static_cast<std::int64_t>(status.f_frsize);
  const auto blocks = ::geteuid() == 0 ? status.f_bfree : status.f_bavail;
  return {static_cast<std::int64_t>(status.f_blocks) * unit,
          static_cast<std::int64_t>(blocks) * unit};
}

// Gives so much of the file its room on the disk; 0, or errno. Where there is none, the file is as
// it was. Never shortens it.
int TakeRoom(const std::string& path, std::int64_t bytes, int how) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | how, 0600);
  if (file < 0) return errno;
  struct stat status {};
  int error = ::fstat(file, &status) == 0 ? 0 : errno;
  if (error == 0 && status.st_size < bytes) {
    error = ::posix_fallocate(file, 0, bytes);
    if (error != 0) (void)::ftruncate(file, status.st_size);
  }
  ::close(file);
  return error;
}

}  // namespace

core::Result<void> SpaceReserve::Keep() const {
  const Disk disk = DiskOf(store_);
  const std::int64_t wanted = std::min(kReserveBytes, disk.size / kReserveShare);
  int error = TakeRoom(store_ + "-reserve", wanted, O_CREAT);
  if (error == 0) error = TakeRoom(store_ + "-wal", wanted, /*how=*/0);
  if (error != 0 && error != ENOSPC && error != EDQUOT) {
    return core::FailedError(
        "{}: the room for the ends of jobs cannot be kept beside it ({}); see that this user may "
        "write the files {}-reserve and {}-wal",
        store_, std::strerror(error), store_, store_);
  }
  const std::int64_t free = error == 0 ? DiskOf(store_).free : disk.free;
  if (error == 0 && free >= std::min(kLeastFree, wanted)) return {};
  return core::FailedError(
      "{}: its disk is nearly full: {:.1f} MiB are free, and {:.1f} MiB are kept there so that the "
      "ends of jobs can always be stored; make room and it goes on",
      store_, static_cast<double>(free) / (1 << 20), static_cast<double>(2 * wanted) / (1 << 20));
}

bool SpaceReserve::Use() const {
  const std::string path = store_ + "-reserve";
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
         ::truncate(path.c_str(), 0) == 0;
}

bool SpaceReserve::DiskIsFull() const { return DiskOf(store_).free < kNothing; }

}  // namespace sharewell::store
