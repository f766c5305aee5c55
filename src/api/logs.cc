#include "api/logs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/result.h"
#include "core/text/quoted.h"
#include "http/listener.h"

namespace sharewell::api {
namespace {

struct OpenPiece {
  http::Fd file;
  std::int64_t begin = 0, end = 0;
};

core::Result<OpenPiece> OpenLog(const LogPiece& piece) {
  const auto wrong = [&](const char* why) {
    return core::FailedError("{}: the log cannot be read: {}", core::Quoted(piece.path), why);
  };
  OpenPiece open{
      http::Fd(::open(piece.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)),
      piece.begin, piece.begin};
  if (!open.file) {
    // Not written yet, or rotated away just now.
    if (errno == ENOENT) return open;
    return wrong(std::strerror(errno));
  }
  struct stat file {};
  if (::fstat(open.file.get(), &file) != 0) return wrong(std::strerror(errno));
  if (!S_ISREG(file.st_mode) || file.st_nlink > 1) return wrong("it is not a plain file");
  open.end = piece.begin + file.st_size;
  return open;
}

}  // namespace

core::Result<LogPart> ReadLog(const std::vector<LogPiece>& pieces, std::int64_t offset,
                              std::size_t most) {
  std::vector<OpenPiece> open;
  for (const LogPiece& piece : pieces) {
    auto file = OpenLog(piece);
    RETURN_IF_ERROR(file);
    open.push_back(std::move(*file));
  }
  LogPart part;
  if (open.empty()) {
    part.all = true;
    return part;
  }
  const std::int64_t end = open.back().end;
  const std::int64_t wanted = offset < 0 ? end + std::max(offset, -end) : offset;
  part.next = std::clamp(wanted, std::min(open.front().begin, end), end);
  for (const OpenPiece& piece : open) {
    while (part.next >= piece.begin && part.next < piece.end && part.bytes.size() < most) {
      const std::size_t before = part.bytes.size();
      const auto left = static_cast<std::size_t>(piece.end - part.next);
      part.bytes.resize(before + std::min(left, most - before));
      const ssize_t got = ::pread(piece.file.get(), part.bytes.data() + before,
                                  part.bytes.size() - before, part.next - piece.begin);
      part.bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      part.next += got;
    }
  }
  part.all = part.next >= end;
  return part;
}

}  // namespace sharewell::api
