// Store: where samples and profiles are kept. SQLite in one file, or PostgreSQL by URL.
//
// One thread uses one object; several processes may have the same store open. What Sync() has
// returned success for survives kill -9 and power loss of this machine. Errors say what to do, and
// leave what was appended in memory to be tried again by the next Sync().
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/job/job_told.h"
#include "core/job/profile_record.h"
#include "core/metric.h"
#include "core/result.h"

namespace sharewell::store {

struct SeriesKey {
  std::string node, metric, instance, job;

  friend auto operator<=>(const SeriesKey&, const SeriesKey&) = default;
};

struct SeriesInfo {
  SeriesKey key;
  std::string unit;
  core::MetricKind kind = core::MetricKind::kGauge;
  core::UnixMillis first = 0, last = 0;
  std::int64_t samples = 0;
};

struct SeriesPoints {
  SeriesKey key;
  std::vector<core::Point> points;  // in order of time
};

// Absent: any.
struct SeriesFilter {
  std::optional<std::string> node, metric, instance, job;
};

// From `from` up to, not including, `to`.
struct TimeRange {
  core::UnixMillis from = std::numeric_limits<core::UnixMillis>::min();
  core::UnixMillis to = std::numeric_limits<core::UnixMillis>::max();
};

// Several points of a series as one, for a chart. Of a counter, mean is meaningless: last is what
// counts.
struct Bucket {
  core::UnixMillis time = 0;  // where it begins
  double least = 0, most = 0, mean = 0, last = 0;
  std::int64_t samples = 0;
  core::UnixMillis last_time = 0;  // in a chart: when `last` was read, or its rollup began
};

// How long samples are kept: as they were read, and as rollups of a minute and of an hour.
struct Retention {
  core::Seconds raw{7 * 86400.0}, minutes{90 * 86400.0}, hours{2 * 365 * 86400.0};
};

class SampleStore {
 public:
  virtual ~SampleStore() = default;
  // Takes the batch into memory; Sync makes it durable. Fails, with nothing taken, only when more
  // is waiting than the store will hold (its bound is in bytes; the message says so), or for a time
  // beyond the year 14,600. Names are kept as UTF-8 without control characters: others become '?'.
  virtual core::Result<void> Append(const std::string& node, const core::Batch& batch) = 0;
  virtual core::Result<void> Sync() = 0;
  // By key; synced and not yet synced alike. `samples` counts those kept as they were read; `first`
  // may be a time of which rollups alone are left.
  virtual core::Result<std::vector<SeriesInfo>> List(const SeriesFilter& filter) = 0;
  // In order of time; synced and not yet synced alike. Of a series that is not there: none.
  virtual core::Result<std::vector<core::Point>> Read(const SeriesKey& key, TimeRange range) = 0;
  // What was synced of a node in its last one to three minutes, by whomever; by key. For those who
  // follow what agents tell: it takes as long as those minutes have samples, however many series
  // and samples the store holds.
  virtual core::Result<std::vector<SeriesPoints>> LastMinutes(const std::string& node) = 0;
  // At most `most` buckets of equal width over the range; from rollups where raw samples are gone
  // or would be too many. Those with nothing in them are left out. An open end of the range is
  // where the series ends.
  virtual core::Result<std::vector<Bucket>> Chart(const SeriesKey& key, TimeRange range,
                                                  std::size_t most) = 0;
  // How many samples were removed. Rollups of that time go with them.
  virtual core::Result<std::int64_t> Remove(const SeriesFilter& filter, TimeRange range) = 0;
  // Makes rollups and drops what is older than its retention. Cheap when there is nothing to do.
  virtual core::Result<void> Tidy(core::UnixMillis now, const Retention& retention) = 0;
};

struct ProfileFilter {
  std::optional<std::int64_t> id;
  std::optional<std::string> name, workload, gpu, source;
};

class ProfileStore {
 public:
  virtual ~ProfileStore() = default;
  // Durable when it returns; its id. A record with an id replaces that one; where that was removed
  // it is a new one, with a new id.
  virtual core::Result<std::int64_t> Save(const core::ProfileRecord& record) = 0;
  virtual core::Result<std::vector<core::ProfileRecord>> Profiles(const ProfileFilter& filter) = 0;
  virtual core::Result<std::int64_t> RemoveProfiles(std::span<const std::int64_t> ids) = 0;
};

struct ToldHead {
  std::int64_t id = 0;  // another one whenever something is new
  std::string job;
  core::UnixMillis time = 0;
};

// What watchers inside the jobs of a cluster told (docs/formats/told-step.md), on its way from the
// agent of a node to the server. Bounded: of each node the newest 64 jobs, for a day.
class ToldStore {
 public:
  virtual ~ToldStore() = default;
  // Durable when it returns, in the place of what the same job told on that node before.
  virtual core::Result<void> SaveTold(const std::string& node, const core::JobTold& told) = 0;
  // The oldest first.
  virtual core::Result<std::vector<ToldHead>> ToldOn(const std::string& node) = 0;
  // Absent: it is gone, or something newer stands in its place.
  virtual core::Result<std::optional<core::JobTold>> ReadTold(std::int64_t id) = 0;
};

class Store : public SampleStore, public ProfileStore, public ToldStore {};

// `where`: a file (made when it is not there; its folder is not, but for the default one), or
// postgresql://USER@HOST/DATABASE. Brings an older schema up to date; refuses a newer one and says
// which program wrote it.
core::Result<std::unique_ptr<Store>> Open(const std::string& where);

// Takes passwords out of what /proc shows of this process's environment: $SHAREWELL_STORE, which
// DefaultStore still knows afterwards and children do not inherit, and $PGPASSWORD. To be called
// before there are threads.
void HideSecrets();

// The folder of the default store: the one folder that is made where it is not there.
std::string DefaultFolder();

// $SHAREWELL_STORE, or sharewell/store.db in $XDG_STATE_HOME or ~/.local/state; for root
// /var/lib/sharewell/store.db.
std::string DefaultStore();

// The folder for what a server keeps apart from its store (jobs, logs, tokens), unless it is told
// another: the store's own; where the store is a database elsewhere, sharewell in $XDG_STATE_HOME
// or ~/.local/state, for root /var/lib/sharewell. Nothing of an address goes into a path: it may
// hold a password.
std::string StateFolder(const std::string& store);

}  // namespace sharewell::store
