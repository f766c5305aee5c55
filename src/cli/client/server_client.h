// ServerClient: speaks to a running `sharewell serve` over its Unix socket or a URL, and turns what
// it answers into our own types. docs/api.md has the words.
//
// One thread. Every error is one to show: no server is absent, an id that is not there or an input
// that is refused is a usage error, all else a failure in the server's own words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client/server_answers.h"
#include "core/job/job_record.h"
#include "core/job/submission.h"
#include "core/result.h"
#include "platform/net/http_client.h"
#include "report/jobs/job_tables.h"

namespace sharewell::cli {

// Where root's server listens.
inline constexpr const char* kSystemSocket = "/run/sharewell/sharewell.sock";
// Where a server of this user listens unless it is told otherwise; of root the one above.
std::string OwnSocket();

struct LogPiece {
  std::string bytes;
  std::int64_t next = 0;
  bool ended = false;  // nothing more will come
};

class ServerClient {
 public:
  static constexpr core::Seconds kPatience{60};  // with what is only read

  // `given`: a socket's path or a URL; empty: $SHAREWELL_SERVER, else the user's own socket, else
  // the system's. The token is read from the file $SHAREWELL_TOKEN_FILE.
  static core::Result<ServerClient> Find(const std::string& given);

  // What is under way ends soon after `over` is true, and no full server is waited for: for who
  // asks again anyway. Any thread may make it true.
  void EndWhen(std::function<bool()> over) { over_ = std::move(over); }

  // Whether the server runs on this machine, so that its files and programs are ours.
  bool IsHere() const;

  // The body of an answer, a JSON document. `path` begins behind /api/v1.
  core::Result<std::string> Get(const std::string& path) const;
  core::Result<std::string> Post(const std::string& path, const std::string& body) const;

  // Pages are put together until `most` jobs are there. `query` as "live=1&user=ann".
  core::Result<JobsAnswer> Jobs(const std::string& query, std::size_t most) const;
  core::Result<core::JobRecord> Job(std::int64_t number, core::Seconds patience = kPatience) const;
  core::Result<std::vector<core::JobRecord>> Submit(
      std::span<const core::Submission> submissions) const;
  // `offset` below 0: so many bytes from the end. `most`: at most so many.
  core::Result<LogPiece> Log(std::int64_t number, bool errors, std::int64_t offset,
                             std::size_t most) const;
  core::Result<std::vector<report::GpuNow>> Gpus() const;
  core::Result<report::NodeNow> Node() const;
  // Who we are to the server; over TCP a token says so.
  core::Result<std::string> User() const;

  // Every event from now on, until `on_event` is false, or `on_wait` (about once a second while
  // nothing comes), or the server goes, or `most` has passed. `job` 0: of all.
  core::Result<void> Events(std::int64_t job, core::Seconds most,
                            const std::function<bool(const core::Event&)>& on_event,
                            const std::function<bool()>& on_wait) const;

 private:
  platform::HttpRequest To(const std::string& path) const;
  core::Result<platform::HttpAnswer> SendPatiently(platform::HttpRequest request) const;
  core::Result<platform::HttpAnswer> Send(const platform::HttpRequest& request) const;
  core::Error NoSuch(const std::string& path) const;

  std::string place_;  // for messages
  std::string socket_, url_, token_, ca_file_;
  std::function<bool()> over_;
};

// For queries: all but letters, digits and "-._~" as %XX.
std::string QueryText(std::string_view text);

}  // namespace sharewell::cli
