// SqlJobStore: the jobs on either database. docs/formats/store.md says how they lie there.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/job_store.h"
#include "store/jobs/seal.h"
#include "store/jobs/server_lock.h"
#include "store/sql.h"

namespace sharewell::store {

// Writers of jobs wait for each other, not for those of samples (PostgreSQL).
inline constexpr std::string_view kJobsLock = "jobs";

class SqlJobStore final : public JobStore {
 public:
  static core::Result<std::unique_ptr<SqlJobStore>> Make(std::unique_ptr<Database> database,
                                                         std::unique_ptr<ServerLock> lock,
                                                         const std::string& key = "");

  core::Result<void> Write(const JobChanges& changes) override;
  core::Result<std::vector<core::JobRecord>> Jobs(const JobFilter& filter) override;
  core::Result<std::map<std::int64_t, core::Phase>> PhasesOf(
      const std::vector<std::int64_t>& numbers) override;
  core::Result<std::int64_t> LastNumber() override;
  core::Result<std::int64_t> LastEvent() override;
  core::Result<std::vector<core::Event>> Events(std::int64_t after, std::size_t most) override;
  core::Result<std::vector<core::SharedRun>> SharedRuns() override;
  core::Result<std::optional<core::SpeedHistory>> SpeedOf(std::int64_t number) override;
  core::Result<std::optional<std::string>> Kept(const std::string& name) override;
  core::Result<std::map<std::string, std::string>> KeptUnder(const std::string& prefix) override;
  core::Result<void> RemoveShared(const std::string& user) override;
  core::Result<void> TidyJobs(core::UnixMillis ended_before, std::int64_t keep_events) override;
  core::Result<void> BecomeServer() override;
  std::optional<core::Result<void>> Health() override {
    return server_ ? database_->Health() : std::nullopt;
  }
  std::string Id() const override { return id_; }

 private:
  SqlJobStore(std::unique_ptr<Database> database, std::unique_ptr<ServerLock> lock,
              const std::string& id, const std::string& key)
      : lock_(std::move(lock)), database_(std::move(database)), id_(id), seal_(key, id) {}
  struct Page {
    std::vector<core::JobRecord>& records;  // at their end
    std::size_t left;  // bytes; none: what was read last did not fit, or filled it
    std::size_t rows = 0;
    std::int64_t last = 0;  // number of the last row
  };
  core::Result<void> ReadPage(const JobFilter& filter, Page& page);
  // In a transaction of its own.
  core::Result<void> Read(const std::string& sql, std::span<const Value> values,
                          const RowReader& read);
  core::Result<void> TakeLock();
  core::Result<void> WriteOnce(const JobChanges& changes);
  core::Result<void> PutJobs(const std::vector<core::JobRecord>& jobs);
  core::Result<void> PutRest(const JobChanges& changes);
  // `jobs`: what is removed are jobs, and what lies beside their records goes too.
  core::Result<std::int64_t> RemoveSome(const std::string& sql, std::int64_t bound, bool jobs);
  // Within a transaction: whether what is written to is still the store that was opened.
  core::Result<void> SameStore();

  std::unique_ptr<ServerLock> lock_;
  std::unique_ptr<Database> database_;
  std::string id_;
  Seal seal_;
  bool server_ = false;
};

}  // namespace sharewell::store
