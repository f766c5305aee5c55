#include "engine/kubernetes/api/kube_logs.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "core/text/iso_time.h"
#include "core/text/quoted.h"
#include "engine/kubernetes/api/kube_writes.h"

namespace sharewell::engine {
namespace {

using core::Result;
using core::Seconds;

constexpr std::size_t kMostLogAtOnce = std::size_t{8} << 20;  // of one pod, in one answer
constexpr std::size_t kMostLogKept = std::size_t{4} << 20;    // of one job
constexpr std::size_t kMostLogsKept = 32;                     // jobs
constexpr Seconds kReadLogEvery(1);                           // of one job
constexpr Seconds kFailedLogRests(3);
constexpr Seconds kMostForLog(4);  // all that is asked for at once
constexpr int kMostLogRounds = 4;
constexpr std::int64_t kSecondNanos = 1'000'000'000;

// In whole seconds: older API servers know no finer.
std::string LogSince(std::int64_t nanos) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     std::chrono::sys_seconds(std::chrono::seconds(nanos / kSecondNanos)));
}

KubeRequest LogRequest(const KubeLogPod& pod, std::int64_t since) {
  std::string path = fmt::format("/api/v1/namespaces/{}/pods/{}/log?timestamps=true&limitBytes={}",
                                 pod.name_space, pod.name, kMostLogAtOnce);
  if (!pod.container.empty()) path += "&container=" + pod.container;
  if (since > 0) path += "&sinceTime=" + LogSince(since);
  return {"GET", std::move(path), "", ""};
}

// What its user can do with rights of his own.
std::string KubectlLogs(const KubeLogPod& pod) {
  return fmt::format("kubectl logs -n {} {}{}", pod.name_space, pod.name,
                     pod.container.empty() ? "" : " -c " + pod.container);
}

core::Error NoLog(const KubeLogPod& pod, const KubeRequest& request, const KubeAnswer& answer) {
  if (answer.status == 403) {
    return core::Error{
        core::ErrorKind::kFailed,
        fmt::format("this server may not read logs of pods: its role lacks `get pods/log`, which "
                    "deploy/kubernetes/base/rbac.yaml has; `{}` shows it with your own rights",
                    KubectlLogs(pod))};
  }
  return core::Error{core::ErrorKind::kFailed,
                     fmt::format("the log of pod {} cannot be read now: {}; try `{}`",
                                 core::Quoted(pod.name_space + "/" + pod.name),
                                 RefusedInWords(request, answer), KubectlLogs(pod))};
}

}  // namespace

std::optional<std::int64_t> ParseKubeLogTime(std::string_view text) {
  constexpr std::size_t kWhole = 19;  // "2026-11-19T21:00:00"
  if (text.size() <= kWhole || text[10] != 'T') return std::nullopt;
  std::string_view zone = text.substr(kWhole);
  std::int64_t nanos = 0;
  if (zone.front() == '.') {
    zone.remove_prefix(1);
    std::int64_t worth = kSecondNanos / 10;
    std::size_t digits = 0;
    for (; digits < zone.size() && zone[digits] >= '0' && zone[digits] <= '9'; ++digits) {
      nanos += (zone[digits] - '0') * worth;
      worth /= 10;
    }
    if (digits == 0) return std::nullopt;
    zone.remove_prefix(digits);
  }
  if (zone.empty()) return std::nullopt;
  const auto millis = core::ParseIsoTime(std::string(text.substr(0, kWhole)) + std::string(zone));
  constexpr std::int64_t kMostMillis = 9'000'000'000'000;  // what nanoseconds can count
  if (!millis || *millis < 0 || *millis > kMostMillis) return std::nullopt;
  return *millis * (kSecondNanos / 1000) + nanos;
}

Result<bool> KubeLogs::ReadPod(const KubeLogPod& pod, Place& place, std::vector<Line>& out,
                               Seconds limit) {
  const KubeRequest request = LogRequest(pod, place.last);
  const auto answer = driver_.Ask(request, limit);
  RETURN_IF_ERROR(answer);
  if (answer->status == 404) {
    place.done = true;  // the pod is gone, and its log with it
    return true;
  }
  if (answer->status == 400) return true;  // its container has not begun
  if (answer->status != 200) return tl::unexpected(NoLog(pod, request, *answer));
  std::string_view left = answer->body;
  const bool full = left.size() >= kMostLogAtOnce;
  const std::int64_t known = place.last;
  const std::size_t known_lines = place.lines, before = out.size();
  std::size_t again = 0;
  while (!left.empty()) {
    const std::size_t end = left.find('\n');
    // Half a line comes whole the next time.
    if (end == std::string_view::npos && (full || !pod.over)) break;
    const std::string_view line = left.substr(0, end);
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
    const std::size_t blank = std::min(line.find(' '), line.size());
    const auto time = ParseKubeLogTime(line.substr(0, blank));
    if (!time) {  // the rest of a line that has a break inside
      if (out.size() > before) out.back().text += std::string(line) + "\n";
      continue;
    }
    if (*time < known) continue;
    if (*time == known && again < known_lines) {
      ++again;
      continue;
    }
    if (*time > place.last) {
      place.last = *time;
      place.lines = 0;
    }
    ++place.lines;
    out.push_back({*time, std::string(line.substr(std::min(blank + 1, line.size()))) + "\n"});
  }
  if (full && out.size() == before) {
    // More in one second than is read at once: the rest of that second is left out.
    place.last = (place.last / kSecondNanos + 1) * kSecondNanos;
    place.lines = 0;
    out.push_back({place.last, "[sharewell: lines are missing here: too many in one second]\n"});
  }
  if (!full && pod.over) place.done = true;
  return !full;
}

Result<void> KubeLogs::ReadOn(std::int64_t job, bool over, const Pods& pods, Log& log) {
  const Seconds until = now_() + kMostForLog;
  const auto found = pods();
  RETURN_IF_ERROR(found);
  if (found->empty() && over && log.places.empty()) {
    return core::FailedError(
        "the pods of job {} are deleted, and Kubernetes keeps no log without its pod", job);
  }
  // A pod may have been deleted since: what was read of it stays.
  std::vector<Line> lines;
  bool all = true;
  Result<void> outcome;
  for (const KubeLogPod& pod : *found) {
    Place& place = log.places[pod.uid];
    const std::size_t before = lines.size();
    bool its_all = place.done;
    for (int round = 0; !its_all && round < kMostLogRounds && now_() < until; ++round) {
      const auto read = ReadPod(pod, place, lines, until - now_());
      if (!read) {
        outcome = tl::unexpected(read.error());
        break;
      }
      its_all = *read;
    }
    all = all && its_all;
    if (found->size() < 2) continue;
    for (std::size_t i = before; i < lines.size(); ++i) {
      lines[i].text.insert(0, pod.name + ": ");
    }
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.time < b.time; });
  for (const Line& line : lines) log.kept += line.text;
  if (log.kept.size() > kMostLogKept) {
    std::size_t cut = log.kept.find('\n', log.kept.size() - kMostLogKept);
    cut = cut == std::string::npos ? log.kept.size() - kMostLogKept : cut + 1;
    log.kept.erase(0, cut);
    log.begin += static_cast<std::int64_t>(cut);
  }
  // What some pods told is shown, though another cannot be read.
  if (!outcome && lines.empty()) return outcome;
  log.all = all && outcome.has_value();
  log.complete = log.all && over;
  return {};
}

Result<KubeLogPart> KubeLogs::Read(std::int64_t job, bool over, std::int64_t offset,
                                   std::size_t most, const Pods& pods) {
  const platform::MutexLock lock(mutex_);
  if (!logs_.contains(job)) ForgetOld();
  Log& log = logs_[job];
  const Seconds now = now_();
  log.asked = now;
  const bool due =
      !log.complete && (over || !log.all || !log.read || now >= *log.read + kReadLogEvery);
  if (due) {
    if (log.failed && now < *log.failed + kFailedLogRests) return tl::unexpected(log.error);
    const auto read = ReadOn(job, over, pods, log);
    if (!read) {
      log.failed = now_();
      log.error = read.error();
      return tl::unexpected(log.error);
    }
    log.failed.reset();
    log.read = now_();
  }
  const std::int64_t end = log.begin + static_cast<std::int64_t>(log.kept.size());
  const std::int64_t wanted = offset < 0 ? end + std::max(offset, -end) : offset;
  KubeLogPart part;
  part.next = std::clamp(wanted, log.begin, end);
  part.bytes = log.kept.substr(static_cast<std::size_t>(part.next - log.begin), most);
  part.next += static_cast<std::int64_t>(part.bytes.size());
  part.all = log.all && part.next >= end;
  return part;
}

void KubeLogs::ForgetOld() {
  while (logs_.size() >= kMostLogsKept) {
    logs_.erase(std::min_element(logs_.begin(), logs_.end(), [](const auto& a, const auto& b) {
      return a.second.asked < b.second.asked;
    }));
  }
}

}  // namespace sharewell::engine
