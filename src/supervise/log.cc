#include "supervise/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sharewell::supervise {
namespace {

constexpr std::int64_t kLeastPart = 4096;
constexpr std::int64_t kGrant = 32 << 10;  // asked for at a time

void PartName(const Log& log, std::int64_t begin, char (&name)[64]) {
  std::snprintf(name, sizeof name, "%s.%lld", log.stem, static_cast<long long>(begin));
}

void RemovePart(const Log& log, std::int64_t begin) {
  char name[64];
  PartName(log, begin, name);
  ::unlinkat(log.folder, name, 0);
}

void RemoveOlder(Log& log) {
  if (log.older < 0) return;
  RemovePart(log, log.older);
  const std::int64_t bytes = log.begin - log.older;
  log.older = -1;
  log.granted -= bytes;
  Shrink(*log.room, bytes);
}

std::int64_t BytesOf(const Log& log) {
  return log.begin + log.size - (log.older < 0 ? log.begin : log.older);
}

// The two newest parts; older ones go (a crash may have left one).
void FindParts(Log& log) {
  const int again = ::openat(log.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = again < 0 ? nullptr : ::fdopendir(again);
  if (entries == nullptr) return;
  const std::size_t n = std::strlen(log.stem);
  std::int64_t newest = -1, older = -1;
  while (const dirent* entry = ::readdir(entries)) {
    const char* name = entry->d_name;
    if (std::strncmp(name, log.stem, n) != 0 || name[n] != '.') continue;
    char* after = nullptr;
    const std::int64_t begin = std::strtoll(name + n + 1, &after, 10);
    if (after == name + n + 1 || *after != 0 || begin < 0) continue;
    const std::int64_t gone = begin > newest ? older : (begin > older ? older : begin);
    if (begin > newest) {
      older = newest;
      newest = begin;
    } else if (begin > older) {
      older = begin;
    }
    if (gone >= 0) RemovePart(log, gone);
  }
  ::closedir(entries);
  log.begin = newest < 0 ? 0 : newest;
  log.older = older;
}

bool OpenPart(Log& log) {
  char name[64];
  PartName(log, log.begin, name);
  log.file = ::openat(log.folder, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                      S_IRUSR | S_IWUSR);
  struct stat state {};
  if (log.file < 0 || ::fstat(log.file, &state) != 0) {
    log.error = errno;
    return false;
  }
  log.size = state.st_size;
  return true;
}

bool NextPart(Log& log) {
  const Log before = log;
  log.begin += log.size;
  log.size = 0;
  if (!OpenPart(log)) {
    const int error = log.error;
    log = before;
    log.error = error;
    return false;
  }
  ::close(before.file);
  log.begin = before.begin;  // as RemoveOlder counts
  RemoveOlder(log);
  log.begin = before.begin + before.size;
  log.older = before.begin;
  return true;
}

// False: it has next to nothing.
bool GiveUpOldest(Log& log) {
  if (log.older < 0 && (log.file < 0 || log.size < kLeastPart || !NextPart(log))) return false;
  RemoveOlder(log);
  return true;
}

// Room for so many bytes more, if need be that of its own oldest part. False: log.error says why.
bool MakeRoom(Log& log, std::int64_t count) {
  while (BytesOf(log) + count > log.granted) {
    const std::int64_t short_of = BytesOf(log) + count - log.granted;
    const std::int64_t more = (short_of + kGrant - 1) / kGrant * kGrant;
    log.error = Grow(*log.room, more);
    if (log.error == 0) {
      log.granted += more;
    } else if (log.error != EDQUOT ||
               (!GiveUpOldest(log) && (log.other == nullptr || !GiveUpOldest(*log.other)))) {
      return false;
    }
  }
  return true;
}

// As much as goes; how much that was.
std::size_t Append(Log& log, const char* bytes, std::size_t count) {
  std::size_t written = 0;
  while (written < count) {
    if (log.file < 0 && !OpenPart(log)) break;
    if (log.size >= log.most_part && !NextPart(log)) break;
    const auto room = static_cast<std::size_t>(log.most_part - log.size);
    const std::size_t now = count - written < room ? count - written : room;
    if (!MakeRoom(log, static_cast<std::int64_t>(now))) break;
    const ssize_t n = ::write(log.file, bytes + written, now);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      log.error = n < 0 ? errno : ENOSPC;
      break;
    }
    written += static_cast<std::size_t>(n);
    log.size += n;
  }
  return written;
}

// What was lost is told where it would have stood.
bool TellLost(Log& log) {
  if (log.lost == 0) return true;
  char text[256];
  const int n = std::snprintf(text, sizeof text,
                              "\n[sharewell: %lld bytes of output could not be kept: %s]\n",
                              static_cast<long long>(log.lost), std::strerror(log.error));
  const auto size = static_cast<std::size_t>(n);
  if (Append(log, text, size) != size) return false;
  log.lost = 0;
  return true;
}

}  // namespace

void OpenLog(LogRoom& room, const char* stem, std::int64_t limit, Log& out) {
  out.folder = room.folder;
  out.room = &room;
  out.stem = stem;
  out.most_part = limit / 2 > kLeastPart ? limit / 2 : kLeastPart;
  FindParts(out);
  struct stat newest {};
  char name[64];
  PartName(out, out.begin, name);
  if (::fstatat(out.folder, name, &newest, AT_SYMLINK_NOFOLLOW) == 0) out.size = newest.st_size;
  out.granted = BytesOf(out);
  Count(room, out.granted);
}

void WriteLog(Log& log, const char* bytes, std::size_t count) {
  const std::size_t written = TellLost(log) ? Append(log, bytes, count) : 0;
  log.lost += static_cast<std::int64_t>(count - written);
  log.lost_in_all += static_cast<std::int64_t>(count - written);
}

void CloseLog(Log& log) {
  TellLost(log);
  if (log.file >= 0) ::close(log.file);
  log.file = -1;
}

}  // namespace sharewell::supervise
