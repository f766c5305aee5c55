// How much of the disk a job's logs may take: within what its user's logs and all logs together
// may, by the ledger that all supervisors and the server share (engine/local/run/log_rows.h), and
// never the last of the disk, which the server's store needs.
#pragma once

#include <cstdint>

#include "engine/local/run/log_rows.h"
#include "supervise/spec.h"

namespace sharewell::supervise {

struct LogRoom {
  int folder = -1;
  engine::LogRows* ledger = nullptr;
  engine::LogRow* own = nullptr;
  std::int64_t most_user = 0, most_all = 0;
};

// Without a ledger the disk alone is looked at.
void OpenRoom(const Spec& spec, int folder, LogRoom& out);
// 0: so much more is granted. EDQUOT: the user's logs or all logs are at their bound. ENOSPC:
// little of the disk is left.
int Grow(LogRoom& room, std::int64_t bytes);
void Shrink(LogRoom& room, std::int64_t bytes);
// What is on the disk already.
void Count(LogRoom& room, std::int64_t bytes);

}  // namespace sharewell::supervise
