#include "engine/local/run/job_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "core/text/parse_number.h"
#include "core/text/quoted.h"
#include "engine/local/run/job_files.h"
#include "platform/process/process_handle.h"

namespace sharewell::engine {
namespace {

constexpr std::size_t kMostSmall = 64 << 10;
constexpr std::size_t kMostSpecBytes = 256 << 20;
constexpr std::size_t kMostEnvironmentBytes = 4 << 20;
constexpr int kKillRounds = 250;  // of 20 ms

// A descriptor, closed with the object.
struct OpenFile {
  int number;
  explicit OpenFile(int n) : number(n) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (number >= 0) ::close(number);
  }
};

// At most `most` bytes; absent: it cannot be read.
std::optional<std::string> ReadSmall(const std::string& path, std::size_t most = kMostSmall) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.number < 0) return std::nullopt;
  std::string text;
  struct stat state {};
  if (::fstat(file.number, &state) == 0 && state.st_size > 0) {
    text.reserve(std::min(most, static_cast<std::size_t>(state.st_size)));
  }
  char block[16384];
  while (text.size() < most) {
    const ssize_t n = ::read(file.number, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    text.append(block, static_cast<std::size_t>(n));
  }
  return text;
}

bool IsThere(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

template <class T>
std::optional<T> WholeNumber(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// The value of a line "key value"; absent: there is no such line.
std::optional<std::string_view> LineValue(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.size() > key.size() && line[key.size()] == ' ' && line.substr(0, key.size()) == key) {
      return line.substr(key.size() + 1);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

std::int64_t LineNumber(std::string_view text, std::string_view key) {
  const auto value = LineValue(text, key);
  return value ? WholeNumber<std::int64_t>(*value).value_or(0) : 0;
}

bool HasEntry(int pid, const std::string& entry) {
  const auto environment = ReadSmall(fmt::format("/proc/{}/environ", pid), kMostEnvironmentBytes);
  if (!environment || environment->find(entry) == std::string::npos) return false;
  const std::string all = '\0' + *environment + '\0';
  return all.find('\0' + entry + '\0') != std::string::npos;
}

// All processes whose environment has that entry get the signal; how many they are.
int SignalMarked(const std::string& entry, int signal) {
  int found = 0;
  DIR* entries = ::opendir("/proc");
  while (entries != nullptr) {
    const dirent* each = ::readdir(entries);
    if (each == nullptr) break;
    const auto pid = WholeNumber<int>(each->d_name);
    if (!pid || *pid == ::getpid() || !HasEntry(*pid, entry)) continue;
    ++found;
    platform::SignalProcess(*pid, signal, [&] { return HasEntry(*pid, entry); });
  }
  if (entries != nullptr) ::closedir(entries);
  return found;
}

}  // namespace

std::string JobFolder(const std::string& state, std::int64_t job, int attempt) {
  return fmt::format("{}/jobs/{}.{}", state, job, attempt);
}

std::optional<std::pair<std::int64_t, int>> JobOfFolder(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == name.npos) return std::nullopt;
  const auto job = WholeNumber<std::int64_t>(name.substr(0, dot));
  const auto attempt = WholeNumber<int>(name.substr(dot + 1));
  if (!job || !attempt || *job < 0 || *attempt < 0) return std::nullopt;
  return std::pair(*job, *attempt);
}

void JobSpec::Put(std::string_view key, std::string_view value) {
  records_.emplace_back(key, value);
}

void JobSpec::Put(std::string_view key, double value) { Put(key, fmt::format("{}", value)); }

void JobSpec::Set(std::string_view key, std::string_view value) {
  const auto it = std::find_if(records_.begin(), records_.end(),
                               [&](const auto& record) { return record.first == key; });
  if (it == records_.end()) return Put(key, value);
  it->second = value;
}

std::optional<std::string_view> JobSpec::Get(std::string_view key) const {
  for (const auto& [name, value] : records_) {
    if (name == key) return value;
  }
  return std::nullopt;
}

std::optional<double> JobSpec::Number(std::string_view key) const {
  const auto value = Get(key);
  if (!value) return std::nullopt;
  return WholeNumber<double>(*value);
}

std::vector<std::string_view> JobSpec::All(std::string_view key) const {
  std::vector<std::string_view> values;
  for (const auto& [name, value] : records_) {
    if (name == key) values.emplace_back(value);
  }
  return values;
}

std::string JobSpec::Bytes() const {
  std::string bytes(kSpecHead, sizeof kSpecHead);
  for (const auto& [key, value] : records_) {
    bytes += key;
    bytes += '=';
    bytes += value;
    bytes += '\0';
  }
  bytes.append(kSpecEnd, sizeof kSpecEnd);
  return bytes;
}

std::optional<JobSpec> JobSpec::Parse(std::string_view bytes) {
  const std::string_view head(kSpecHead, sizeof kSpecHead), end(kSpecEnd, sizeof kSpecEnd);
  if (bytes.size() < head.size() + end.size() || bytes.substr(0, head.size()) != head ||
      bytes.substr(bytes.size() - end.size()) != end) {
    return std::nullopt;
  }
  bytes = bytes.substr(head.size(), bytes.size() - head.size() - end.size());
  JobSpec spec;
  while (!bytes.empty()) {
    const std::size_t size = bytes.find('\0'), equals = bytes.find('=');
    if (size == bytes.npos || equals > size) return std::nullopt;
    spec.Put(bytes.substr(0, equals), bytes.substr(equals + 1, size - equals - 1));
    bytes.remove_prefix(size + 1);
  }
  return spec;
}

namespace {

// So that a reader sees all or nothing. Not made durable: when the machine goes down, nothing runs
// any more that it could tell of.
core::Result<void> WriteWhole(const std::string& path, const std::string& bytes) {
  const std::string draft = path + ".tmp";
  const OpenFile file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  std::size_t written = 0;
  while (file.number >= 0 && written < bytes.size()) {
    const ssize_t n = ::write(file.number, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    written += static_cast<std::size_t>(n);
  }
  if (file.number < 0 || written < bytes.size() || ::rename(draft.c_str(), path.c_str()) != 0) {
    return core::FailedError("cannot write {}: {}", core::Quoted(path), std::strerror(errno));
  }
  return {};
}

}  // namespace

core::Result<void> WriteSpec(const std::string& folder, const JobSpec& spec) {
  return WriteWhole(folder + "/" + kSpecFile, spec.Bytes());
}

core::Result<void> WriteLimit(const std::string& folder, core::Seconds limit) {
  return WriteWhole(folder + "/" + kLimitFile,
                    fmt::format("limit_ms {:.0f}\n", std::clamp(limit.value * 1e3, 1.0, 9e15)));
}

core::Seconds ReadLimit(const std::string& folder) {
  constexpr std::string_view kHead = "limit_ms ";
  const auto bytes = ReadSmall(folder + "/" + kLimitFile, 64);
  std::int64_t limit = 0;
  if (bytes && bytes->starts_with(kHead)) {
    std::from_chars(bytes->data() + kHead.size(), bytes->data() + bytes->size(), limit);
  }
  return core::Seconds(static_cast<double>(std::max<std::int64_t>(limit, 0)) / 1e3);
}

core::Result<JobSpec> ReadSpec(const std::string& folder) {
  const std::string path = folder + "/" + kSpecFile;
  const auto bytes = ReadSmall(path, kMostSpecBytes);
  if (!bytes) {
    return core::FailedError("cannot read {}: {}", core::Quoted(path), std::strerror(errno));
  }
  auto spec = JobSpec::Parse(*bytes);
  if (!spec) return core::FailedError("{} is no whole job specification", core::Quoted(path));
  return std::move(*spec);
}

std::optional<JobExit> ReadExit(const std::string& folder) {
  const auto text = ReadSmall(folder + "/" + kExitFile);
  return text ? ParseExit(*text) : std::nullopt;
}

std::optional<JobExit> ParseExit(std::string_view text) {
  if (!text.starts_with(kExitHead)) return std::nullopt;
  JobExit exit;
  exit.code = static_cast<int>(LineNumber(text, "code"));
  exit.signal = static_cast<int>(LineNumber(text, "signal"));
  exit.timed_out = LineNumber(text, "timed_out") != 0;
  exit.stopped = LineNumber(text, "stopped") != 0;
  exit.killed = LineNumber(text, "killed") != 0;
  exit.failed = LineValue(text, "failed").value_or("");
  exit.error = static_cast<int>(LineNumber(text, "error"));
  exit.terminal = LineValue(text, "terminal").value_or("");
  exit.ran = core::Seconds(static_cast<double>(LineNumber(text, "ran_ms")) / 1e3);
  exit.ended_ms = LineNumber(text, "ended_ms");
  exit.cpu_time = core::Seconds(static_cast<double>(LineNumber(text, "cpu_ms")) / 1e3);
  exit.most_memory = core::Bytes(static_cast<double>(LineNumber(text, "most_memory_kib")) * 1024);
  exit.lost_output = core::Bytes(static_cast<double>(LineNumber(text, "lost_output")));
  return exit;
}

namespace {

// Of a file that is overwritten in place: whoever looks in that moment looks again.
template <class Parse>
auto ReadTwice(const std::string& path, Parse&& parse) -> decltype(parse(std::string_view())) {
  for (int i = 0; i < 3; ++i) {
    const auto text = ReadSmall(path);
    if (!text) return std::nullopt;
    if (auto whole = parse(*text)) return whole;
  }
  return std::nullopt;
}

// "loss 1700000000000 0.412 1200"
std::optional<core::ToldMetric> ParseMetric(std::string_view line) {
  const auto next = [&] {
    const auto word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    return word;
  };
  core::ToldMetric told;
  told.name = next();
  const auto at = WholeNumber<std::int64_t>(next());
  const auto value = core::FiniteNumber(next());
  const auto step = WholeNumber<std::int64_t>(next());
  if (!at || !value || !step || !line.empty()) return std::nullopt;
  told.at = *at;
  told.value = *value;
  if (*step != -1) told.step = *step;
  return core::IsToldMetric(told) ? std::optional(told) : std::nullopt;
}

}  // namespace

std::optional<double> ReadSteps(const std::string& folder) {
  return ReadTwice(folder + "/" + kStepsFile, ParseSteps);
}

std::optional<std::vector<core::ToldMetric>> ReadMetrics(const std::string& folder) {
  return ReadTwice(folder + "/" + kMetricsToldFile, ParseMetrics);
}

std::optional<std::vector<core::ToldMetric>> ParseMetrics(std::string_view text) {
  const auto half = text.substr(0, kMetricsBytes);
  if (text.size() != 2 * kMetricsBytes || half != text.substr(kMetricsBytes)) return std::nullopt;
  std::vector<core::ToldMetric> all;
  for (std::string_view rest = half; rest.find('\n') != rest.npos;) {
    auto told = ParseMetric(rest.substr(0, rest.find('\n')));
    if (!told || all.size() >= core::kMostMetrics) return std::nullopt;
    all.push_back(std::move(*told));
    rest.remove_prefix(rest.find('\n') + 1);
  }
  return all;
}

std::string ReadTold(const std::string& folder, std::size_t from) {
  std::string bytes;
  if (from >= kMostToldBytes) return bytes;
  const OpenFile file(
      ::open((folder + "/" + kToldFile).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat state {};
  if (file.number < 0 || ::fstat(file.number, &state) != 0 ||
      state.st_size <= static_cast<off_t>(from)) {
    return bytes;
  }
  const auto size = std::min<std::size_t>(static_cast<std::size_t>(state.st_size), kMostToldBytes);
  bytes.resize(size - from);
  const ssize_t n = ::pread(file.number, bytes.data(), bytes.size(), static_cast<off_t>(from));
  bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return bytes;
}

std::optional<double> ParseSteps(std::string_view text) {
  constexpr std::size_t kDigits = (kStepsBytes - 2) / 2;
  if (text.size() != kStepsBytes || text[kDigits] != ' ' || text.back() != '\n' ||
      text.substr(0, kDigits) != text.substr(kDigits + 1, kDigits)) {
    return std::nullopt;
  }
  const auto steps = WholeNumber<std::int64_t>(text.substr(0, kDigits));
  if (!steps || *steps < 0) return std::nullopt;
  return static_cast<double>(*steps);
}

PauseState ReadPause(const std::string& folder) {
  return ParsePause(ReadSmall(folder + "/" + kPauseFile).value_or(""));
}

std::optional<int> ReadStarted(const std::string& folder) {
  const auto text = ReadSmall(folder + "/" + kStartedFile);
  if (!text) return std::nullopt;
  const int pid = static_cast<int>(LineNumber(*text, "pid"));
  return pid > 0 ? std::optional(pid) : std::nullopt;
}

JobLife LifeOf(const std::string& folder) {
  const auto path = [&](const char* name) { return folder + "/" + name; };
  const OpenFile lock(::open(path(kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.number >= 0 && ::flock(lock.number, LOCK_EX | LOCK_NB) != 0) return JobLife::kAlive;
  if (IsThere(path(kExitFile))) return JobLife::kEnded;
  if (IsThere(path(kBegunFile))) return JobLife::kLost;
  // While we have the lock, whoever would begin it waits; after this it refuses.
  const OpenFile made(::open(path(kVoidFile).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (made.number >= 0 || !IsThere(folder)) return JobLife::kNever;
  // A full disk still lets a file go, and without it nothing can begin either.
  return ::unlink(path(kSpecFile).c_str()) == 0 || errno == ENOENT ? JobLife::kNever
                                                                   : JobLife::kLost;
}

std::optional<int> SupervisorOf(const std::string& folder) {
  const auto text = ReadSmall(folder + "/" + kLockFile);
  const auto pid = text ? WholeNumber<int>(text->substr(0, text->find('\n'))) : std::nullopt;
  return pid && *pid > 0 ? pid : std::nullopt;
}

int OpenSupervisor(const std::string& folder) {
  const std::string path = folder + "/" + kLockFile;
  const auto pid = SupervisorOf(folder);
  if (!pid) return -1;
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0));
  if (pidfd < 0) return -1;
  ::fcntl(pidfd, F_SETFD, FD_CLOEXEC);
  // It holds the lock after we have got hold of it, so it is the one whose number stands there.
  const OpenFile lock(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (lock.number >= 0 && ::flock(lock.number, LOCK_EX | LOCK_NB) != 0) return pidfd;
  ::close(pidfd);
  return -1;
}

bool KillMarked(const std::string& folder) {
  const std::string entry = fmt::format("SHAREWELL_PROGRESS={}/{}", folder, kProgressFile);
  for (int i = 0; i < kKillRounds; ++i) {
    if (SignalMarked(entry, SIGKILL) == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

}  // namespace sharewell::engine
