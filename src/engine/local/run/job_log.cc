#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "engine/local/run/job_folder.h"
#include "engine/local/run/old_logs.h"

namespace sharewell::engine {
namespace {

namespace fs = std::filesystem;

const char* StemOf(LogStream stream) { return stream == LogStream::kOut ? "out." : "err."; }

}  // namespace

std::string LogFolder(const std::string& state, const std::string& store, std::uint32_t uid,
                      std::int64_t job) {
  return fmt::format("{}/logs/{}{}/{}/{}", state, kStorePrefix, store, uid, job);
}

bool MakeLogFolder(const std::string& folder) {
  const fs::path job(folder), user = job.parent_path();
  for (const fs::path& path : {user.parent_path(), user, job}) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return false;
  }
  return true;
}

std::vector<std::pair<std::int64_t, std::string>> LogFiles(const std::string& folder,
                                                           LogStream stream) {
  std::vector<std::pair<std::int64_t, std::string>> parts;
  const std::string_view stem = StemOf(stream);
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.rfind(stem, 0) != 0) continue;
    std::int64_t begin = 0;
    const char* const last = name.data() + name.size();
    const auto [after, wrong] = std::from_chars(name.data() + stem.size(), last, begin);
    if (wrong == std::errc() && after == last && begin >= 0) {
      parts.emplace_back(begin, it->path().string());
    }
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

LogPiece ReadLog(const std::string& folder, LogStream stream, std::int64_t offset,
                 std::size_t most) {
  LogPiece piece;
  const auto parts = LogFiles(folder, stream);
  if (parts.empty()) return piece;
  struct stat last {};
  if (::stat(parts.back().second.c_str(), &last) == 0) piece.end = last.st_size;
  piece.end += parts.back().first;
  if (offset < 0) offset = piece.end + std::max(offset, -piece.end);
  piece.begin = std::clamp(offset, parts.front().first, piece.end);
  piece.next = piece.begin;
  for (const auto& [begin, path] : parts) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    // One that has just been removed is passed over with all that was in it.
    if (file < 0) continue;
    if (piece.bytes.empty()) piece.begin = piece.next = std::max(piece.next, begin);
    while (piece.bytes.size() < most && piece.next >= begin) {
      char block[65536];
      const std::size_t want = std::min(sizeof block, most - piece.bytes.size());
      const ssize_t n = ::pread(file, block, want, piece.next - begin);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      piece.bytes.append(block, static_cast<std::size_t>(n));
      piece.next += n;
    }
    ::close(file);
  }
  piece.end = std::max(piece.end, piece.next);
  return piece;
}

bool HasLogs(const std::string& folder) {
  struct stat state {};
  return ::stat(folder.c_str(), &state) == 0;
}

void MarkLogs(const std::string& folder) {
  ::utimensat(AT_FDCWD, folder.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void RemoveLogs(const std::string& folder) {
  const std::string gone = folder + kGoneEnding;
  std::error_code ignored;
  if (::rename(folder.c_str(), gone.c_str()) == 0) fs::remove_all(gone, ignored);
}

}  // namespace sharewell::engine
