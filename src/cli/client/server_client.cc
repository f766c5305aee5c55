#include "cli/client/server_client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <thread>

#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "platform/files/mapped_file.h"
#include "platform/files/text.h"
#include "store/job_store.h"
#include "store/store.h"

namespace sharewell::cli {
namespace {

namespace fs = std::filesystem;
using core::FailedError;
using core::Result;
using core::UsageError;

constexpr std::string_view kApi = "/api/v1";
constexpr core::Seconds kPostTime{600};  // a what-if plays weeks
constexpr std::size_t kMostAnswer = std::size_t{256} << 20;
constexpr std::size_t kLongestSocket = 107;  // sockaddr_un
constexpr std::size_t kPage = 1000;
constexpr std::size_t kLongestEvent = std::size_t{1} << 20;
constexpr int kTries = 4;         // with a server that is full
constexpr int kLongestRest = 20;  // seconds, before one of them

std::string ServerVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool IsThere(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

core::Error NoServer(const std::string& place) {
  return {core::ErrorKind::kAbsent,
          fmt::format("no server answers at {}; start one: sharewell serve, or name another with "
                      "--server PATH|URL",
                      place)};
}

core::Error NotOurs(const std::string& place, const std::string& why) {
  return {core::ErrorKind::kFailed,
          fmt::format("{} answers, but not as a sharewell server does ({}); check --server", place,
                      why)};
}

}  // namespace

std::string OwnSocket() {
  if (::geteuid() == 0) return kSystemSocket;
  if (const std::string folder = ServerVariable("XDG_RUNTIME_DIR"); !folder.empty()) {
    return (fs::path(folder) / "sharewell.sock").string();
  }
  return store::StateFolder(store::DefaultStore()) + "/sharewell.sock";
}

std::string QueryText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

Result<ServerClient> ServerClient::Find(const std::string& given) {
  ServerClient client;
  std::string place = given.empty() ? ServerVariable("SHAREWELL_SERVER") : given;
  if (place.empty()) {
    const std::string own = OwnSocket();
    place = IsThere(own) || !IsThere(kSystemSocket) ? own : kSystemSocket;
  }
  client.place_ = "'" + report::PlainText(place) + "'";  // whole: it is there to be mended
  if (platform::LooksLikeUrl(place)) {
    while (place.ends_with('/')) place.pop_back();
    if (place.ends_with(kApi)) place.resize(place.size() - kApi.size());  // as the server greets
    client.url_ = place;
    client.ca_file_ = ServerVariable("SHAREWELL_CA_FILE");
    if (const std::string file = ServerVariable("SHAREWELL_TOKEN_FILE"); !file.empty()) {
      const auto token = platform::MappedFile::Open(file);
      if (!token) return tl::unexpected(core::Error(token.error()).Within("$SHAREWELL_TOKEN_FILE"));
      const std::string_view text = token->text();
      client.token_ = text.substr(0, text.find_first_of("\r\n"));
    }
    return client;
  }
  if (!IsThere(place) && place.find('/') == std::string::npos && place.find(':') != place.npos) {
    return UsageError("--server: {} is not a socket; give a server on another machine as http://{}",
                      client.place_, place);
  }
  if (place.size() > kLongestSocket) {
    return UsageError("--server: a socket's path has at most {} bytes", kLongestSocket);
  }
  client.socket_ = place;
  client.url_ = "http://localhost";
  return client;
}

bool ServerClient::IsHere() const {
  const std::string host = platform::HostOfUrl(url_);
  return !socket_.empty() || host == "localhost" || host == "::1" || host.starts_with("127.");
}

platform::HttpRequest ServerClient::To(const std::string& path) const {
  platform::HttpRequest request;
  request.url = fmt::format("{}{}{}", url_, kApi, path);
  request.unix_socket = socket_;
  request.token = token_;
  request.ca_file = ca_file_;
  request.timeout = kPatience;
  request.most_bytes = kMostAnswer;
  if (over_) request.on_wait = [over = over_] { return !over(); };
  return request;
}

// An id that is not there is told with what is.
core::Error ServerClient::NoSuch(const std::string& path) const {
  const auto begin = path.find('/', 1) + 1;  // REQUIRES: /jobs/ID... or /gpus/ID...
  const std::string id = path.substr(begin, path.find_first_of("/?", begin) - begin);
  core::Error error{core::ErrorKind::kUsage, {}};
  if (path.starts_with("/gpus/")) {
    std::vector<int> there;
    if (const auto gpus = Gpus()) {
      for (const auto& gpu : *gpus) there.push_back(gpu.gpu.index);
    }
    error.message = fmt::format("there is no GPU {}; ", core::Quoted(id));
    error.message += there.empty() ? "this server has none"
                                   : fmt::format("there are {}", fmt::join(there, ", "));
    return error;
  }
  const auto last = Jobs("", 1);
  error.message = fmt::format("there is no job {}; ", id);
  error.message += last && !last->jobs.empty()
                       ? fmt::format("the last one is {}, and `sharewell jobs --all` lists them",
                                     last->jobs[0].number)
                       : std::string("none was submitted yet: sharewell submit -- COMMAND...");
  return error;
}

// What a full server refuses it has not begun: it may be sent again when the server says.
Result<platform::HttpAnswer> ServerClient::SendPatiently(platform::HttpRequest request) const {
  request.wanted.emplace_back("Retry-After");  // the last
  for (int tries = 1;; ++tries) {
    auto answer = platform::HttpSend(request);
    if (!answer || (answer->status != 429 && answer->status != 503)) return answer;
    int seconds = 0;
    const std::string& after = answer->wanted.back();
    const auto [end, error] = std::from_chars(after.data(), after.data() + after.size(), seconds);
    const bool told = error == std::errc() && end == after.data() + after.size() && seconds > 0;
    if (!told || seconds > kLongestRest || tries == kTries || over_) return answer;
    const std::string why = DetailOf(answer->body);
    WriteErr(fmt::format("waiting {} s: {}\n", seconds, why.empty() ? "the server is full" : why));
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
  }
}

Result<platform::HttpAnswer> ServerClient::Send(const platform::HttpRequest& request) const {
  auto answer = SendPatiently(request);
  if (!answer) {
    if (answer.error().kind != core::ErrorKind::kAbsent) return answer;
    if (!socket_.empty() && ::access(socket_.c_str(), W_OK) != 0 && errno == EACCES) {
      return FailedError(
          "the socket {} belongs to another user's server; start your own: "
          "sharewell serve",
          place_);
    }
    // It was there: what was asked may have been done.
    const core::ErrorCause cause = answer.error().cause;
    if (cause == core::ErrorCause::kTooSlow || cause == core::ErrorCause::kWentAway) return answer;
    return tl::unexpected(NoServer(place_));
  }
  if (answer->status >= 200 && answer->status < 300) return answer;
  const std::string detail = DetailOf(answer->body);
  if (detail.empty() && (answer->status == 429 || answer->status == 503)) {
    return FailedError("the server at {} is full (status {}); try again in a moment", place_,
                       answer->status);
  }
  if (detail.empty()) {
    return tl::unexpected(NotOurs(place_, fmt::format("status {}", answer->status)));
  }
  const std::string path = request.url.substr(url_.size() + kApi.size());
  if (answer->status == 404 && (path.starts_with("/jobs/") || path.starts_with("/gpus/"))) {
    return tl::unexpected(NoSuch(path));
  }
  const bool usage = answer->status == 400 || answer->status == 404 || answer->status == 413 ||
                     answer->status == 422;
  return tl::unexpected(
      core::Error{usage ? core::ErrorKind::kUsage : core::ErrorKind::kFailed, detail,
                  answer->status == 409 ? core::ErrorCause::kConflict : core::ErrorCause::kOther});
}

Result<std::string> ServerClient::Get(const std::string& path) const {
  auto answer = Send(To(path));
  RETURN_IF_ERROR(answer);
  return std::move(answer->body);
}

Result<std::string> ServerClient::Post(const std::string& path, const std::string& body) const {
  platform::HttpRequest request = To(path);
  request.method = "POST";
  request.body = body;
  request.headers = {"Content-Type: application/json"};
  request.timeout = kPostTime;
  auto answer = Send(request);
  RETURN_IF_ERROR(answer);
  return std::move(answer->body);
}

Result<JobsAnswer> ServerClient::Jobs(const std::string& query, std::size_t most) const {
  JobsAnswer all;
  do {
    std::string path = fmt::format("/jobs?limit={}", std::min(most - all.jobs.size(), kPage));
    if (!query.empty()) path += "&" + query;
    if (all.next) path += fmt::format("&below={}", *all.next);
    const auto body = Get(path);
    RETURN_IF_ERROR(body);
    auto page = JobsFromAnswer(*body);
    if (!page) return tl::unexpected(NotOurs(place_, page.error().message));
    all.next = page->jobs.empty() ? std::nullopt : page->next;  // an empty page leads nowhere
    all.counts = std::move(page->counts);
    if (!page->store_problem.empty()) all.store_problem = std::move(page->store_problem);
    std::move(page->jobs.begin(), page->jobs.end(), std::back_inserter(all.jobs));
  } while (all.next && all.jobs.size() < most);
  return all;
}

Result<core::JobRecord> ServerClient::Job(std::int64_t number, core::Seconds patience) const {
  platform::HttpRequest request = To(fmt::format("/jobs/{}", number));
  request.timeout = patience;
  const auto answer = Send(request);
  RETURN_IF_ERROR(answer);
  auto job = store::JobFromJson(answer->body);
  if (!job) return tl::unexpected(NotOurs(place_, job.error().message));
  return job;
}

Result<std::vector<core::JobRecord>> ServerClient::Submit(
    std::span<const core::Submission> submissions) const {
  const auto body = Post("/jobs", SubmissionsJson(submissions));
  RETURN_IF_ERROR(body);
  auto answer = JobsFromAnswer(*body);
  if (!answer) return tl::unexpected(NotOurs(place_, answer.error().message));
  if (answer->jobs.size() != submissions.size()) {
    return tl::unexpected(NotOurs(place_, "jobs are missing"));
  }
  return std::move(answer->jobs);
}

Result<LogPiece> ServerClient::Log(std::int64_t number, bool errors, std::int64_t offset,
                                   std::size_t most) const {
  platform::HttpRequest request = To(fmt::format("/jobs/{}/logs?stream={}&offset={}&most={}",
                                                 number, errors ? "err" : "out", offset, most));
  request.wanted = {"X-Next-Offset", "X-Ended"};
  auto answer = Send(request);
  RETURN_IF_ERROR(answer);
  LogPiece piece;
  const std::string& next = answer->wanted[0];
  const auto [rest, error] = std::from_chars(next.data(), next.data() + next.size(), piece.next);
  if (error != std::errc() || rest != next.data() + next.size() || piece.next < 0) {
    return tl::unexpected(NotOurs(place_, "no X-Next-Offset"));
  }
  piece.ended = answer->wanted[1] == "1";
  piece.bytes = std::move(answer->body);
  return piece;
}

Result<std::vector<report::GpuNow>> ServerClient::Gpus() const {
  const auto body = Get("/gpus");
  RETURN_IF_ERROR(body);
  auto gpus = GpusFromAnswer(*body);
  if (!gpus) return tl::unexpected(NotOurs(place_, gpus.error().message));
  return gpus;
}

Result<report::NodeNow> ServerClient::Node() const {
  const auto body = Get("/nodes");
  RETURN_IF_ERROR(body);
  auto node = NodeFromAnswer(*body);
  if (!node) return tl::unexpected(NotOurs(place_, node.error().message));
  return node;
}

Result<std::string> ServerClient::User() const {
  const auto body = Get("/limits");
  RETURN_IF_ERROR(body);
  auto user = UserFromAnswer(*body);
  if (!user) return tl::unexpected(NotOurs(place_, user.error().message));
  return user;
}

Result<void> ServerClient::Events(std::int64_t job, core::Seconds most,
                                  const std::function<bool(const core::Event&)>& on_event,
                                  const std::function<bool()>& on_wait) const {
  platform::HttpRequest request = To(job == 0 ? "/events" : fmt::format("/events?job={}", job));
  request.headers = {"Accept: text/event-stream"};
  request.timeout = most;
  request.on_wait = on_wait;
  std::string rest;  // a line that has not ended yet
  request.on_body = [&](std::string_view piece) {
    rest += piece;
    std::size_t begin = 0;
    for (std::size_t end; (end = rest.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string_view line = std::string_view(rest).substr(begin, end - begin);
      if (!line.starts_with("data:")) continue;
      const auto event = EventFromAnswer(line.substr(5));
      if (event && !on_event(*event)) return false;
    }
    rest.erase(0, begin);
    return rest.size() <= kLongestEvent;
  };
  const auto answer = Send(request);
  RETURN_IF_ERROR(answer);
  return {};
}

}  // namespace sharewell::cli
