#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <thread>

#include "cli/args/values.h"
#include "cli/args/when.h"
#include "cli/client/server_flags.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "platform/clock/wall_clock.h"
#include "report/jobs/job_tables.h"

namespace sharewell::cli {
namespace {

using core::Result;

constexpr std::size_t kPiece = std::size_t{1} << 18;
constexpr std::int64_t kFirstTail = std::int64_t{1} << 16;
constexpr std::int64_t kMostTail = std::int64_t{1} << 20;  // the most a server gives at once
constexpr auto kAsked = std::chrono::milliseconds(200);
constexpr int kMostAway = 5 * 60;  // seconds that a server may be away

// One of a job's two outputs on its way here.
struct Stream {
  bool errors = false;     // which of the two
  bool to_stderr = false;  // where it goes
  std::int64_t next = 0;
  bool ended = false;
};

class LogsCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    AddJobFlag(app, job_);
    app.add_flag("-f,--follow", follow_, "follow the output until the job ends")
        ->disable_flag_override();
    app.add_flag("--err", errors_, "print its stderr alone, to stdout")->disable_flag_override();
    app.add_option("--tail", tail_, "print only the last N lines")->type_name("N");
    app.add_option("--server", flags_.server,
                   "socket or URL of the server (default: $SHAREWELL_SERVER, else this machine's)")
        ->type_name("PATH|URL");
  }

  Result<ExitCode> Run() override {
    std::optional<std::uint64_t> lines;
    if (!tail_.empty()) {
      const auto value = ParseWhole("--tail", tail_, 0, 1'000'000);
      RETURN_IF_ERROR(value);
      lines = *value;
    }
    const auto asked = FindJob(job_, flags_);
    RETURN_IF_ERROR(asked);
    const auto& [number, client] = *asked;
    const auto job = client.Job(number);
    RETURN_IF_ERROR(job);
    if (job->attempt == 0) {
      WriteErr(fmt::format("job {} has not run: {}\n", number,
                           report::StateInWords(*job, platform::UnixNow())));
    }
    std::vector<Stream> streams;
    if (!errors_) streams.push_back({.errors = false, .to_stderr = false});
    streams.push_back({.errors = true, .to_stderr = !errors_});
    for (Stream& stream : streams) {
      if (!lines) continue;
      RETURN_IF_ERROR(Tail(client, number, stream, *lines));
    }
    return Follow(client, number, streams);
  }

 private:
  static Result<void> Write(const Stream& stream, std::string_view bytes) {
    if (!stream.to_stderr) return WriteOut(bytes);
    WriteErr(bytes);
    return {};
  }

  // Of a long log the beginning is not kept, and one that is followed may be faster than we are.
  static void SayWhatIsMissing(const Stream& stream, const LogPiece& piece) {
    const std::int64_t begin = piece.next - static_cast<std::int64_t>(piece.bytes.size());
    const std::int64_t missing = begin - stream.next;
    if (missing <= 0) return;
    WriteErr(fmt::format("[sharewell: {} {} bytes of {} are not kept]\n",
                         stream.next == 0 ? "the first" : "the next", missing,
                         stream.errors ? "stderr" : "stdout"));
  }

  // The last lines, and where they end.
  static Result<void> Tail(const ServerClient& client, std::int64_t number, Stream& stream,
                           std::uint64_t lines) {
    for (std::int64_t back = kFirstTail;; back *= 4) {
      const auto piece = client.Log(number, stream.errors, -back, static_cast<std::size_t>(back));
      RETURN_IF_ERROR(piece);
      const std::string& bytes = piece->bytes;
      // A line break at the very end ends the last line; it begins no other.
      std::uint64_t seen = 0;
      std::size_t begin = bytes.size();
      while (begin > 0 && seen <= lines) {
        const bool breaks = bytes[begin - 1] == '\n' && begin != bytes.size();
        if (breaks && ++seen >= lines) break;
        --begin;
      }
      if (lines == 0) begin = bytes.size();
      const bool all = static_cast<std::int64_t>(bytes.size()) < back;
      if (begin == 0 && !all && back < kMostTail) continue;
      stream.next = piece->next;
      stream.ended = piece->ended;
      return Write(stream, std::string_view(bytes).substr(begin));
    }
  }

  // All that is there; with -f until the end.
  Result<ExitCode> Follow(const ServerClient& client, std::int64_t number,
                          std::vector<Stream>& streams) const {
    auto heard = std::chrono::steady_clock::now();
    for (;;) {
      bool came = false;
      for (Stream& stream : streams) {
        while (!stream.ended) {
          const auto piece = client.Log(number, stream.errors, stream.next, kPiece);
          if (!piece) {
            // A server that is started again has the rest of it.
            const bool away =
                follow_ && piece.error().kind == core::ErrorKind::kAbsent &&
                std::chrono::steady_clock::now() - heard < std::chrono::seconds(kMostAway);
            if (!away) return tl::unexpected(piece.error());
            break;
          }
          heard = std::chrono::steady_clock::now();
          SayWhatIsMissing(stream, *piece);
          stream.next = piece->next;
          stream.ended = piece->ended && piece->bytes.empty();
          if (piece->bytes.empty()) break;
          came = true;
          RETURN_IF_ERROR(Write(stream, piece->bytes));
        }
      }
      const bool over = std::all_of(streams.begin(), streams.end(),
                                    [](const Stream& stream) { return stream.ended; });
      if (over || (!follow_ && !came)) return kOk;
      if (!came) std::this_thread::sleep_for(kAsked);
    }
  }

  std::string job_, tail_;
  bool follow_ = false;
  bool errors_ = false;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewLogsCommand() { return std::make_unique<LogsCommand>(); }

}  // namespace sharewell::cli
