#include "store/jobs/server_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <map>
#include <utility>

#include "core/text/plain_text.h"
#include "platform/clock/wall_clock.h"
#include "platform/mutex.h"

namespace sharewell::store {
namespace {

tl::unexpected<core::Error> AnotherServer(const std::string& where, const std::string& who) {
  return core::FailedError(
      "{}: another server has this store ({}); use that one, end it first, or name another store "
      "with --store",
      where, who.empty() ? "it cannot be told which" : who);
}

// A lock of fcntl's, not of flock's: a job that the server forked must not keep it. Such a lock
// does not hold within one process, and goes when any descriptor of its file is closed there: so
// who has it here is remembered here.
class FileLock final : public ServerLock {
 public:
  explicit FileLock(std::string path) : where_(std::move(path)), path_(where_ + "-server") {}
  ~FileLock() override {
    if (file_ < 0) return;
    const platform::MutexLock guard(mutex_);
    held_.erase(id_);
    ::close(file_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  core::Result<void> Hold(Database&) override {
    if (file_ >= 0) return {};
    const platform::MutexLock guard(mutex_);
    struct stat status {};
    if (::stat(path_.c_str(), &status) == 0) {
      const auto held = held_.find({status.st_dev, status.st_ino});
      if (held != held_.end() && held->second == ::getpid()) {
        return AnotherServer(where_, "this very process");
      }
    }
    // Whoever may read it could lock it, and keep the server from starting.
    const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return Failed("cannot be opened");
    (void)::fchmod(file, 0600);  // older versions made it for all to read
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (::fcntl(file, F_SETLK, &lock) != 0) {
      const bool held = errno == EAGAIN || errno == EACCES;
      auto failure = held ? AnotherServer(where_, Text(file)) : Failed("cannot be locked");
      ::close(file);
      return failure;
    }
    const std::string text = ThisServer() + "\n";
    // For messages alone: on a full disk there may be no room for it.
    const bool told = ::pwrite(file, text.data(), text.size(), 0) >= 0 || errno == ENOSPC;
    if (!told || ::ftruncate(file, static_cast<off_t>(text.size())) != 0 ||
        ::fstat(file, &status) != 0) {
      auto failure = Failed("cannot be written");
      ::close(file);
      return failure;
    }
    id_ = {status.st_dev, status.st_ino};
    held_[id_] = ::getpid();
    file_ = file;
    return {};
  }

 private:
  using FileId = std::pair<dev_t, ino_t>;

  tl::unexpected<core::Error> Failed(const char* what) const {
    const int error = errno;
    return core::FailedError(
        "{}: the server's lock file {} ({}); see that this user may write in its folder and that "
        "the disk has room, or name another store with --store",
        path_, what, std::strerror(error));
  }
  static std::string Text(int file) {
    std::array<char, 200> room{};
    const ssize_t length = ::pread(file, room.data(), room.size(), 0);
    std::string_view text(room.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    while (text.ends_with('\n')) text.remove_suffix(1);
    return core::PlainText(text);
  }

  static platform::Mutex mutex_;
  static std::map<FileId, pid_t> held_
      SHAREWELL_GUARDED_BY(mutex_);  // by whom: a forked child has it not
  std::string where_, path_;
  int file_ = -1;
  FileId id_;
};
platform::Mutex FileLock::mutex_;
std::map<FileLock::FileId, pid_t> FileLock::held_;

class AdvisoryLock final : public ServerLock {
 public:
  core::Result<void> Hold(Database& database) override {
    std::int64_t held = 0;
    // Each time again: the connection may be a new one. A session may take its lock many times.
    auto done =
        database.Run("SELECT CASE WHEN pg_try_advisory_lock(6008481) THEN 1::bigint ELSE 0 END", {},
                     [&](const Row& row) { held = row.Integer(0); });
    if (!done || held != 0) return done;
    std::string who;
    done = database.Run("SELECT value FROM kept WHERE name = $1", {std::string_view(kServerName)},
                        [&](const Row& row) { who = row.Bytes(0); });
    if (!done) return done;
    return AnotherServer(database.where(), who);
  }
};

}  // namespace

std::unique_ptr<ServerLock> NewFileLock(const std::string& path) {
  return std::make_unique<FileLock>(path);
}
std::unique_ptr<ServerLock> NewAdvisoryLock() { return std::make_unique<AdvisoryLock>(); }

std::string ThisServer() {
  std::array<char, 100> host{}, since{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  const std::time_t now = platform::UnixNow() / 1000;
  std::tm parts{};
  if (::gmtime_r(&now, &parts) != nullptr) {
    std::strftime(since.data(), since.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  }
  return fmt::format("process {} on {}, since {}", ::getpid(), host.data(), since.data());
}

}  // namespace sharewell::store
