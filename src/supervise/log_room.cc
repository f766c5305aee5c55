#include "supervise/log_room.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

namespace sharewell::supervise {
namespace {

constexpr std::uint64_t kLeastFree = 64 << 20;
constexpr std::uint64_t kSmallDisk = 8;  // of which no more than this part is kept free

bool DiskHasRoom(int folder) {
  struct statvfs disk {};
  if (::fstatvfs(folder, &disk) != 0) return true;
  const std::uint64_t size = disk.f_blocks * disk.f_frsize, free = disk.f_bavail * disk.f_frsize;
  std::uint64_t floor = size / 100 > kLeastFree ? size / 100 : kLeastFree;
  if (floor > size / kSmallDisk) floor = size / kSmallDisk;
  return free > floor;
}

}  // namespace

void OpenRoom(const Spec& spec, int folder, LogRoom& out) {
  out.folder = folder;
  if (spec.ledger == nullptr || spec.log_row < 0 || spec.log_row >= engine::kLogRows) return;
  const int file = ::open(spec.ledger, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  struct stat state {};
  if (file >= 0 && ::fstat(file, &state) == 0 &&
      state.st_size == static_cast<off_t>(sizeof(engine::LogRows))) {
    void* const at =
        ::mmap(nullptr, sizeof(engine::LogRows), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at != MAP_FAILED) out.ledger = static_cast<engine::LogRows*>(at);
  }
  if (file >= 0) ::close(file);
  if (out.ledger == nullptr) return;
  out.own = &out.ledger->rows[spec.log_row];
  out.most_user = spec.user_log_limit;
  out.most_all = spec.all_log_limit;
}

int Grow(LogRoom& room, std::int64_t bytes) {
  if (!DiskHasRoom(room.folder)) return ENOSPC;
  const bool granted = room.own == nullptr || engine::GrowLogs(*room.ledger, *room.own, bytes,
                                                               room.most_user, room.most_all);
  return granted ? 0 : EDQUOT;
}

void Shrink(LogRoom& room, std::int64_t bytes) {
  if (room.own != nullptr) room.own->bytes.fetch_sub(bytes);
}

void Count(LogRoom& room, std::int64_t bytes) {
  if (room.own != nullptr) room.own->bytes.fetch_add(bytes);
}

}  // namespace sharewell::supervise
