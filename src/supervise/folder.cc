#include "supervise/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/local/run/job_files.h"

namespace sharewell::supervise {
namespace {

constexpr char kExitDraft[] = "exit.tmp", kStartedDraft[] = "started.tmp",
               kEndingDraft[] = "ending.tmp";

bool Exists(int folder, const char* name) { return ::faccessat(folder, name, F_OK, 0) == 0; }

int OpenNew(int folder, const char* name, int flags) {
  return ::openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags,
                  S_IRUSR | S_IWUSR);
}

// A draft whose room on the disk is taken now: it may be full when the draft is needed.
bool Reserve(int folder, const char* draft) {
  char blank[1024];
  std::memset(blank, '\n', sizeof blank);
  const int file = OpenNew(folder, draft, O_TRUNC);
  const bool done =
      file >= 0 && ::write(file, blank, sizeof blank) == static_cast<ssize_t>(sizeof blank);
  if (file >= 0) ::close(file);
  return done;
}

}  // namespace

int Claim(const char* path, int& folder) {
  folder = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int lock = folder < 0 ? -1 : OpenNew(folder, engine::kLockFile, 0);
  if (lock < 0) return kCannot;
  // A server that has just come up may hold it while it looks; it never keeps it.
  while (::flock(lock, LOCK_EX) != 0) {
    if (errno != EINTR) return kCannot;
  }
  if (Exists(folder, engine::kVoidFile) || Exists(folder, engine::kExitFile) ||
      Exists(folder, engine::kBegunFile)) {
    return kRefused;
  }
  char pid[32];
  const int n = std::snprintf(pid, sizeof pid, "%d\n", static_cast<int>(::getpid()));
  if (::ftruncate(lock, 0) != 0 || ::pwrite(lock, pid, static_cast<std::size_t>(n), 0) != n) {
    return kCannot;
  }
  const bool reserved = Reserve(folder, kExitDraft) && Reserve(folder, kStartedDraft) &&
                        Reserve(folder, kEndingDraft);
  return reserved ? 0 : kCannot;
}

bool Begin(int folder) {
  const int file = OpenNew(folder, engine::kBegunFile, O_EXCL);
  if (file >= 0) ::close(file);
  return file >= 0;
}

void WriteStarted(int folder, pid_t command) {
  const int file = OpenNew(folder, kStartedDraft, 0);
  char text[32];
  const int n = std::snprintf(text, sizeof text, "pid %d\n", static_cast<int>(command));
  const bool done = file >= 0 && ::pwrite(file, text, static_cast<std::size_t>(n), 0) == n;
  if (file >= 0) ::close(file);
  if (done) ::renameat(folder, kStartedDraft, folder, engine::kStartedFile);
}

void WriteEnding(int folder) {
  ::renameat(folder, kEndingDraft, folder, engine::kEndingFile);  // the server hears of renames
}

bool IsGone(int folder) {
  struct stat state {};
  return ::fstat(folder, &state) == 0 && state.st_nlink == 0;
}

bool WriteExit(int folder, const char* text, int size) {
  const int file = OpenNew(folder, kExitDraft, 0);
  if (file < 0) return false;
  const bool done = ::pwrite(file, text, static_cast<std::size_t>(size), 0) == size &&
                    ::ftruncate(file, size) == 0 && ::fsync(file) == 0;
  ::close(file);
  if (!done || ::renameat(folder, kExitDraft, folder, engine::kExitFile) != 0) return false;
  ::fsync(folder);
  return true;
}

long long PausedMillis(int folder, long long now_ms) {
  char text[2048];
  const int file = ::openat(folder, engine::kPauseFile, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return 0;
  const ssize_t n = ::read(file, text, sizeof text - 1);
  ::close(file);
  text[n > 0 ? n : 0] = 0;
  const auto number = [&](const char* key) {
    const char* at = std::strstr(text, key);
    return at == nullptr ? 0 : std::strtoll(at + std::strlen(key), nullptr, 10);
  };
  long long paused = number("\npaused_ms ");
  const long long since = number("\nsince_ms ");
  const bool runs = std::strstr(text, "\nstate running\n") != nullptr;
  if (!runs && since > 0 && now_ms > since) paused += now_ms - since;
  return paused;
}

}  // namespace sharewell::supervise
