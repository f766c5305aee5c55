// SqlStore: the store on either database. docs/formats/store.md says how it lies there.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/samples/compact.h"
#include "store/samples/pending.h"
#include "store/samples/rows.h"
#include "store/sql.h"
#include "store/store.h"

namespace sharewell::store {

class SqlStore final : public Store {
 public:
  explicit SqlStore(std::unique_ptr<Database> database,
                    std::size_t most_pending_bytes = kMostPendingBytes)
      : database_(std::move(database)), pending_(most_pending_bytes) {}

  core::Result<void> Append(const std::string& node, const core::Batch& batch) override;
  core::Result<void> Sync() override;
  core::Result<std::vector<SeriesInfo>> List(const SeriesFilter& filter) override;
  core::Result<std::vector<core::Point>> Read(const SeriesKey& key, TimeRange range) override;
  core::Result<std::vector<SeriesPoints>> LastMinutes(const std::string& node) override;
  core::Result<std::vector<Bucket>> Chart(const SeriesKey& key, TimeRange range,
                                          std::size_t most) override;
  core::Result<std::int64_t> Remove(const SeriesFilter& filter, TimeRange range) override;
  core::Result<void> Tidy(core::UnixMillis now, const Retention& retention) override;
  core::Result<std::int64_t> Save(const core::ProfileRecord& record) override;
  core::Result<std::vector<core::ProfileRecord>> Profiles(const ProfileFilter& filter) override;
  core::Result<std::int64_t> RemoveProfiles(std::span<const std::int64_t> ids) override;
  core::Result<void> SaveTold(const std::string& node, const core::JobTold& told) override;
  core::Result<std::vector<ToldHead>> ToldOn(const std::string& node) override;
  core::Result<std::optional<core::JobTold>> ReadTold(std::int64_t id) override;

 private:
  core::Result<void> SyncNode(PendingNode& node);
  // Ids of the node's series, in their order; those unknown are looked up, and made.
  core::Result<std::vector<std::int64_t>> SeriesIds(PendingNode& node);
  core::Result<void> ForgetIdsIfSomeAreGone();

  std::unique_ptr<Database> database_;
  Pending pending_;
  std::int64_t generation_ = 0;                       // series ids are known as of this one
  std::unordered_map<std::int64_t, SeriesKey> keys_;  // of LastMinutes: no id is ever used again
};

}  // namespace sharewell::store
