// ToldInbox: what watchers inside the jobs of a cluster told, from the store that agents write into
// to the engine, each once. It is a user's word, and nobody has looked into it yet.
//
// Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/job/job_told.h"
#include "core/result.h"
#include "engine/watched_runs.h"
#include "platform/mutex.h"
#include "store/store.h"

namespace sharewell::server {

class ToldInbox {
 public:
  static constexpr std::size_t kMostDocuments = 8;  // of a run; more are not read

  // A job's run that is under way.
  struct Run {
    std::int64_t job = 0;
    core::UnixMillis since = 0;
  };
  // By what agents call the job; absent: it does not run.
  using RunNamed = std::function<std::optional<Run>(const std::string& name)>;

  // Reads what is new of runs that are under way. What was told before a run began is of an earlier
  // one. An error: what was read until then counts, and is not read again.
  core::Result<void> Read(store::ToldStore& store, const std::set<std::string>& nodes,
                          const RunNamed& run_named);
  // Adds it to what is told of these runs, and forgets all others.
  void GiveOut(const std::map<std::int64_t, engine::WatchedRun>& running,
               std::map<std::int64_t, engine::ToldSteps>& told);

 private:
  struct Told {
    core::UnixMillis since = 0;
    std::map<std::string, std::int64_t> taken;  // the newest row, by node and name
    std::vector<std::string> documents;         // not given out yet
    std::string off;                            // likewise
    bool said_off = false;
    std::size_t read = 0;  // documents
    bool counts = false;
  };
  bool IsNews(const Run& run, const std::string& who, const store::ToldHead& head);
  void Handle(const Run& run, const std::string& who, std::int64_t id, core::JobTold told);

  platform::Mutex mutex_;
  std::map<std::int64_t, Told> told_ SHAREWELL_GUARDED_BY(mutex_);  // by job
};

}  // namespace sharewell::server
