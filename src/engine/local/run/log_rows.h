// The ledger of logs, a file that the server and the supervisors of its jobs map: how many bytes of
// log each running job has, and each user's jobs that do not run. A supervisor writes its own row
// before it writes the log, and then looks at all rows: so the bounds hold while any number of jobs
// write, and none waits for another. Nothing but libc: supervisors use it.
#pragma once

#include <atomic>
#include <cstdint>

namespace sharewell::engine {

constexpr int kLogRows = 16384;  // runs at once, and users

constexpr std::int64_t kLittleLog = 64 << 10;

struct LogRow {
  std::atomic<std::int64_t> bytes;
  std::atomic<std::uint32_t> uid;
  std::atomic<std::uint32_t> taken;  // 0: it is free, and counts nothing
};

struct LogRows {
  std::atomic<std::int32_t> begun;  // rows behind this were never taken
  char unused[60];
  LogRow rows[kLogRows];
};

static_assert(std::atomic<std::int64_t>::is_always_lock_free && sizeof(LogRow) == 16);

struct LogBytes {
  std::int64_t user = 0, all = 0;
};

inline LogBytes BytesInLogs(const LogRows& ledger, std::uint32_t uid) {
  LogBytes sum;
  const int rows = ledger.begun.load();
  for (int i = 0; i < rows && i < kLogRows; ++i) {
    const LogRow& row = ledger.rows[i];
    if (row.taken.load() == 0) continue;
    const std::int64_t bytes = row.bytes.load();
    sum.all += bytes;
    if (row.uid.load() == uid) sum.user += bytes;
  }
  return sum;
}

// Near a bound, what is left is for those who have little: for users where all logs are, for jobs
// where those of their user are.
inline bool WithinLogBounds(std::int64_t own, const LogBytes& sum, std::int64_t most_user,
                            std::int64_t most_all) {
  const bool little = own <= kLittleLog || own <= most_user / 256;
  const std::int64_t user = little ? most_user : most_user / 8 * 7;
  const std::int64_t all = sum.user > most_all / 16 ? most_all / 8 * 7 : most_all;
  return sum.user <= user && sum.all <= all;
}

// False: nothing is granted.
inline bool GrowLogs(const LogRows& ledger, LogRow& own, std::int64_t bytes, std::int64_t most_user,
                     std::int64_t most_all) {
  // First ours, then a look at all: of two that grow at once, one at least sees the other.
  const std::int64_t wanted = own.bytes.fetch_add(bytes) + bytes;
  if (WithinLogBounds(wanted, BytesInLogs(ledger, own.uid.load()), most_user, most_all))
    return true;
  own.bytes.fetch_sub(bytes);
  return false;
}

}  // namespace sharewell::engine
