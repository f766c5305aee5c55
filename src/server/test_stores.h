// Stores in memory for tests of what a server knows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/job/job_record.h"
#include "core/job/profile_record.h"
#include "core/result.h"
#include "store/job_store.h"
#include "store/store.h"

namespace sharewell::server {

class MemoryProfiles : public store::ProfileStore {
 public:
  core::Result<std::int64_t> Save(const core::ProfileRecord& record) override {
    ++saves;
    core::ProfileRecord kept = record;
    if (kept.id == 0) kept.id = ++last_id;
    for (core::ProfileRecord& other : all) {
      if (other.id == kept.id) {
        other = kept;
        return kept.id;
      }
    }
    all.push_back(kept);
    return kept.id;
  }
  core::Result<std::vector<core::ProfileRecord>> Profiles(
      const store::ProfileFilter& filter) override {
    std::vector<core::ProfileRecord> found;
    for (const core::ProfileRecord& record : all) {
      if (filter.name && *filter.name != record.name) continue;
      if (filter.source && *filter.source != record.source) continue;
      found.push_back(record);
    }
    return found;
  }
  core::Result<std::int64_t> RemoveProfiles(std::span<const std::int64_t> ids) override {
    return static_cast<std::int64_t>(std::erase_if(all, [&](const core::ProfileRecord& record) {
      return std::find(ids.begin(), ids.end(), record.id) != ids.end();
    }));
  }

  std::vector<core::ProfileRecord> all;
  int saves = 0;
  std::int64_t last_id = 0;
};

class MemoryKnowledge : public store::JobStore {
 public:
  core::Result<void> Write(const store::JobChanges& changes) override {
    shared.insert(shared.end(), changes.shared.begin(), changes.shared.end());
    return {};
  }
  core::Result<std::vector<core::JobRecord>> Jobs(const store::JobFilter& filter) override {
    std::vector<core::JobRecord> found;
    for (auto it = finished.rbegin(); it != finished.rend() && found.size() < filter.most; ++it) {
      if (!filter.user || *filter.user == it->user.name) found.push_back(*it);
    }
    return found;
  }
  core::Result<std::map<std::int64_t, core::Phase>> PhasesOf(
      const std::vector<std::int64_t>&) override {
    return std::map<std::int64_t, core::Phase>();
  }
  core::Result<std::int64_t> LastNumber() override { return 0; }
  core::Result<std::int64_t> LastEvent() override { return 0; }
  core::Result<std::vector<core::Event>> Events(std::int64_t, std::size_t) override {
    return std::vector<core::Event>();
  }
  core::Result<std::vector<core::SharedRun>> SharedRuns() override { return shared; }
  core::Result<std::optional<std::string>> Kept(const std::string&) override {
    return std::optional<std::string>();
  }
  core::Result<void> TidyJobs(core::UnixMillis, std::int64_t) override { return {}; }
  core::Result<void> BecomeServer() override { return {}; }

  std::vector<core::JobRecord> finished;  // the oldest first
  std::vector<core::SharedRun> shared;
};

}  // namespace sharewell::server
