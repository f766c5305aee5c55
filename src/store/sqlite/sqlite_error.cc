#include "store/sqlite/sqlite_error.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "core/text/quoted.h"

namespace sharewell::store {

std::string LockHolder(const std::string& path) {
  std::ifstream locks("/proc/locks");
  std::string line;
  while (std::getline(locks, line)) {
    // "3: POSIX  ADVISORY  WRITE 1234 fe:00:5678 120 120"; a waiting one has "->" after its number.
    std::istringstream words(line);
    std::string number, type, mode, access, place;
    long pid = 0;
    if (!(words >> number >> type >> mode >> access >> pid >> place)) continue;
    if (access != "WRITE" || pid <= 0 || pid == ::getpid()) continue;
    for (const char* suffix : {"", "-wal", "-shm"}) {
      struct stat status {};
      if (::stat((path + suffix).c_str(), &status) != 0) continue;
      const auto held = fmt::format("{:02x}:{:02x}:{}", major(status.st_dev), minor(status.st_dev),
                                    status.st_ino);
      if (held != place) continue;
      std::string command;
      std::getline(std::ifstream(fmt::format("/proc/{}/comm", pid)), command);
      return fmt::format("process {} ({})", pid, core::Quoted(command));
    }
  }
  return {};
}

tl::unexpected<core::Error> SqliteError(const std::string& path, sqlite3* database, int code) {
  const std::string words = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: {
      const std::string holder = LockHolder(path);
      return core::FailedError(
          "{}: another program has kept it locked for {} s ({}); wait for it or end it, "
          "then try again: nothing is lost",
          path, kBusyMilliseconds / 1000,
          holder.empty() ? "a backup or an sqlite3 shell may hold it" : holder);
    }
    case SQLITE_FULL:
      return core::FailedError(
          "{}: the disk is full; make room there and it goes on: what is stored is "
          "whole, and what waits is kept in memory",
          path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return core::FailedError(
          "{}: may not be written ({}); run as its owner, or name another store with "
          "--store or $SHAREWELL_STORE",
          path, words);
    case SQLITE_CANTOPEN:
      return core::FailedError(
          "{}: cannot be opened ({}); look at the permissions of the file and its "
          "folder, or name another store with --store or $SHAREWELL_STORE",
          path, words);
    case SQLITE_NOTADB:
      return core::UsageError(
          "{}: is no SQLite database, so no store of ours; nothing was "
          "changed: name another file",
          path);
    case SQLITE_CORRUPT:
      return core::FailedError(
          "{}: the database is damaged ({}); move it away and a new one is made, and "
          "save what can be read of the old one with: sqlite3 FILE .recover",
          path, words);
    case SQLITE_IOERR:
      return core::FailedError(
          "{}: reading or writing failed ({}); look at the disk and at the kernel's log", path,
          words);
    case SQLITE_NOMEM:
      return core::FailedError("{}: there is no memory left for SQLite", path);
    default:
      return core::FailedError("{}: SQLite says: {} (code {})", path, words, code);
  }
}

}  // namespace sharewell::store
