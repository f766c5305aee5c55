// LogLedger: the server's side of the ledger of logs (log_rows.h). Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/local/run/log_rows.h"
#include "platform/mutex.h"

namespace sharewell::engine {

class LogLedger {
 public:
  static std::string PathIn(const std::string& state);

  // Of <state>/logs, which must be there; supervisors of an earlier server go on with it. Where it
  // cannot be made (the disk is full), no row is given.
  explicit LogLedger(const std::string& state);
  ~LogLedger();
  LogLedger(const LogLedger&) = delete;
  LogLedger& operator=(const LogLedger&) = delete;

  // A row for a run that writes to this folder; -1: there is none.
  int Take(const std::string& folder, std::uint32_t uid);
  // An earlier server's, for a run that was found again.
  void Claim(int row, const std::string& folder, std::uint32_t uid);
  // Once all runs were found: rows of others are free.
  void FreeTheRest();
  // The run is over. Its row counts until what it wrote was counted on the disk.
  void End(int row);

  bool IsWritten(const std::string& folder) const;  // a run writes there
  std::map<std::uint32_t, double> Written() const;  // bytes of those, by user
  std::map<std::uint32_t, double> Kept() const;     // bytes of the others, by user
  std::vector<int> Ended() const;                   // to be given back after the next count
  // What was counted on the disk, without what is written; `ended` are free from now on.
  void SetKept(const std::map<std::uint32_t, double>& bytes, const std::vector<int>& ended);

  LogRows* rows() { return rows_; }  // for tests; null: there is none

 private:
  int Free(std::uint32_t uid) SHAREWELL_REQUIRES(mutex_);

  LogRows* rows_ = nullptr;
  mutable platform::Mutex mutex_;
  std::map<int, std::string> written_ SHAREWELL_GUARDED_BY(mutex_);  // row -> folder
  std::set<int> ended_ SHAREWELL_GUARDED_BY(mutex_);
  std::map<std::uint32_t, int> kept_ SHAREWELL_GUARDED_BY(mutex_);  // uid -> row
};

}  // namespace sharewell::engine
