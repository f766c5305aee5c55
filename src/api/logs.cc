#include "api/logs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "api/api_impl.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "http/listener.h"

namespace sharewell::api {
namespace {

constexpr std::int64_t kMostLog = std::int64_t{1} << 20;
constexpr std::int64_t kUsualLog = 65536;

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

namespace {

http::HttpResponse LogAnswer(LogPart part, const core::JobRecord& job) {
  const bool ended = part.all && core::IsOver(job.phase);
  const std::int64_t first = part.next - static_cast<std::int64_t>(part.bytes.size());
  return {200,
          "text/plain",
          std::move(part.bytes),
          {{"X-First-Offset", std::to_string(first)},
           {"X-Next-Offset", std::to_string(part.next)},
           {"X-Ended", ended ? "1" : "0"}}};
}

// The piece of a log that is asked for.
struct LogAsked {
  bool errors = false;
  std::int64_t offset = 0;
  std::size_t most = 0;
};

core::Result<LogAsked> ReadLogAsked(const http::HttpRequest& request) {
  const Query query = http::ParseQuery(request.query);
  const std::string stream = QueryValue(query, "stream");
  if (!stream.empty() && stream != "out" && stream != "err") {
    return core::UsageError("stream: {} is not a stream; the streams are out and err",
                            core::Quoted(stream));
  }
  const auto offset = QueryNumber(query, "offset", -INT64_MAX, INT64_MAX);
  RETURN_IF_ERROR(offset);
  const auto most = QueryNumber(query, "most", 1, kMostLog);
  RETURN_IF_ERROR(most);
  return LogAsked{stream == "err", offset->value_or(0),
                  static_cast<std::size_t>(most->value_or(kUsualLog))};
}

http::HttpResponse LogOfFiles(const ApiImpl& api, const core::JobRecord& job,
                              const LogAsked& asked) {
  const auto pieces = api.studies.log_file(job.number, job.user.uid, asked.errors);
  if (!pieces && job.started && core::IsOver(job.phase)) {
    return Problem(410, pieces.error().message);
  }
  auto part = ReadLog(pieces.value_or(std::vector<LogPiece>()), asked.offset, asked.most);
  if (!part) return Problem(500, part.error().message);
  return LogAnswer(std::move(*part), job);
}

}  // namespace

void ShowLog(ApiImpl& api, const http::HttpRequest& request,
             const std::optional<core::Account>& who, const control::JobPtr& job,
             const http::Responder& responder) {
  if (const auto may = Access::Touch(who, core::OwnerUid(*job)); !may)
    return responder.Answer(RefusalAnswer(may.error()));
  if (!api.studies.log_file && !api.studies.remote_log)
    return responder.Answer(Problem(501, "this server keeps no logs"));
  const auto asked = ReadLogAsked(request);
  if (!asked) return responder.Answer(Problem(400, asked.error().message));
  if (!api.studies.remote_log) return responder.Answer(LogOfFiles(api, *job, *asked));
  api.InBulk(*who, responder, [&api, job, asked = *asked, responder] {
    auto part = api.studies.remote_log(*job, asked.errors, asked.offset, asked.most);
    responder.Answer(part ? LogAnswer(std::move(*part), *job) : Problem(500, part.error().message));
  });
}

}  // namespace sharewell::api
