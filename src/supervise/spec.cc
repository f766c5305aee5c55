#include "supervise/spec.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "engine/local/run/job_files.h"

namespace sharewell::supervise {
namespace {

constexpr std::int64_t kMostSpec = 256 << 20;
constexpr long kMostCpus = 65536;

// The whole file and a NUL; null: it cannot be read.
char* ReadWhole(int folder, const char* name, std::size_t& size) {
  const int file = ::openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  struct stat state {};
  if (file < 0 || ::fstat(file, &state) != 0 || state.st_size > kMostSpec) return nullptr;
  size = static_cast<std::size_t>(state.st_size);
  char* bytes = static_cast<char*>(std::malloc(size + 1));
  std::size_t got = 0;
  while (bytes != nullptr && got < size) {
    const ssize_t n = ::read(file, bytes + got, size - got);
    if (n <= 0) return nullptr;
    got += static_cast<std::size_t>(n);
  }
  ::close(file);
  if (bytes != nullptr) bytes[size] = 0;
  return bytes;
}

// The value of a record "key=value"; null: it has another key.
char* ValueOf(char* record, const char* key) {
  const std::size_t n = std::strlen(key);
  return std::strncmp(record, key, n) == 0 && record[n] == '=' ? record + n + 1 : nullptr;
}

struct Records {
  char *begin, *end;

  char* Next(char* record) const { return record + std::strlen(record) + 1; }
  char* First(const char* key) const {
    for (char* record = begin; record < end; record = Next(record)) {
      if (char* value = ValueOf(record, key)) return value;
    }
    return nullptr;
  }
  std::int64_t Number(const char* key, std::int64_t otherwise) const {
    const char* value = First(key);
    return value == nullptr ? otherwise : std::strtoll(value, nullptr, 10);
  }
  bool All(const char* key, Words& out) const {
    for (char* record = begin; record < end; record = Next(record)) {
      if (ValueOf(record, key) != nullptr) ++out.count;
    }
    out.words = static_cast<char**>(std::calloc(out.count + 1, sizeof(char*)));
    if (out.words == nullptr) return false;
    std::size_t i = 0;
    for (char* record = begin; record < end; record = Next(record)) {
      if (char* value = ValueOf(record, key)) out.words[i++] = value;
    }
    return true;
  }
};

// "0-3,8"
bool ReadCpus(const char* text, Spec& out) {
  out.cpus = CPU_ALLOC(kMostCpus);
  out.cpus_size = CPU_ALLOC_SIZE(kMostCpus);
  if (out.cpus == nullptr) return false;
  CPU_ZERO_S(out.cpus_size, out.cpus);
  while (*text != 0) {
    char* after = nullptr;
    const long first = std::strtol(text, &after, 10);
    long last = first;
    if (after == text) return false;
    if (*after == '-') last = std::strtol(after + 1, &after, 10);
    if (first < 0 || last < first || last >= kMostCpus) return false;
    for (long cpu = first; cpu <= last; ++cpu) {
      CPU_SET_S(static_cast<std::size_t>(cpu), out.cpus_size, out.cpus);
    }
    text = *after == ',' ? after + 1 : after;
    if (*after != ',' && *after != 0) return false;
  }
  return true;
}

bool ReadUser(const Records& records, Spec& out) {
  out.has_user = records.First("uid") != nullptr;
  if (!out.has_user) return true;
  out.uid = static_cast<uid_t>(records.Number("uid", 0));
  out.gid = static_cast<gid_t>(records.Number("gid", 0));
  Words groups;
  if (!records.All("group", groups)) return false;
  out.groups = static_cast<gid_t*>(std::calloc(groups.count + 1, sizeof(gid_t)));
  if (out.groups == nullptr) return false;
  out.group_count = groups.count;
  for (std::size_t i = 0; i < groups.count; ++i) {
    out.groups[i] = static_cast<gid_t>(std::strtoll(groups.words[i], nullptr, 10));
  }
  return true;
}

}  // namespace

bool ReadSpec(int folder, Spec& out) {
  std::size_t size = 0;
  char* bytes = ReadWhole(folder, engine::kSpecFile, size);
  constexpr std::size_t kHead = sizeof engine::kSpecHead, kEnd = sizeof engine::kSpecEnd;
  if (bytes == nullptr || size < kHead + kEnd ||
      std::memcmp(bytes, engine::kSpecHead, kHead) != 0 ||
      std::memcmp(bytes + size - kEnd, engine::kSpecEnd, kEnd) != 0) {
    return false;
  }
  const Records records{bytes + kHead, bytes + size - kEnd};
  if (!records.All("arg", out.command) || out.command.count == 0 ||
      !records.All("env", out.environment) || !records.All("enter", out.groups_to_enter) ||
      !records.All("cleanup", out.cleanup) || !records.All("rlimit", out.limits) ||
      !ReadUser(records, out)) {
    return false;
  }
  if (const char* cpus = records.First("cpus"); cpus != nullptr && !ReadCpus(cpus, out)) {
    return false;
  }
  if (const char* path = records.First("folder"); path != nullptr) out.folder = path;
  out.home = records.First("home");
  out.logs = records.First("logs");
  out.group = records.First("group_folder");
  out.no_forks = records.First("no_forks");
  out.kill_all = records.First("kill_all");
  out.terminal = records.Number("terminal", 0) != 0;
  out.log_limit = records.Number("log_limit", out.log_limit);
  out.ledger = records.First("ledger");
  out.log_row = records.Number("log_row", -1);
  out.user_log_limit = records.Number("user_log_limit", 0);
  out.all_log_limit = records.Number("all_log_limit", 0);
  out.time_limit_ms = records.Number("time_limit_ms", 0);
  out.grace_ms = records.Number("grace_ms", out.grace_ms);
  // Whatever is there, no more than a umask has.
  out.umask = static_cast<mode_t>(records.Number("umask", out.umask) & 0777);
  return true;
}

}  // namespace sharewell::supervise
