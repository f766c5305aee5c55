// ClusterPredictions: what jobs need that come by a cluster's manager and name a model file. The
// manager's thread asks, and never waits: what is not known yet is asked again with its next look.
// Predictions are made in bounded processes, users in turn, one of each user at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "api/fair_worker.h"
#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "core/submission.h"
#include "platform/mutex.h"
#include "platform/process/bounded_work.h"
#include "server/learner.h"
#include "study/prediction/prediction.h"

namespace sharewell::server {

// One that is open, for as long as somebody has it.
class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

class ClusterPredictions {
 public:
  // Both must outlive it.
  ClusterPredictions(const catalogue::GpuCatalogue& catalogue, Learner& learner);
  ~ClusterPredictions() { Stop(); }

  struct Asked {
    std::string user;                      // who waits for it
    std::string file_version;              // another one where the file has changed
    std::string name;                      // what the user calls the file
    study::PredictionAsk ask;              // its model is not read: `file` is
    std::shared_ptr<const OpenFile> file;  // shared with the one who reads it later
  };
  // Absent: not known yet. What was predicted is kept while file and predictor are the same.
  std::optional<core::Result<core::Needs>> Of(const Asked& asked);
  void Stop();  // ends what is under way, and asks the learner nothing more

 private:
  struct Entry {
    std::shared_ptr<const predict::Trained> model;  // that predicts it
    std::optional<core::Result<core::Needs>> needs;
    bool told = false;
  };
  void Predict(const std::string& key, const Asked& asked);

  const catalogue::GpuCatalogue& catalogue_;
  Learner& learner_;
  const platform::WorkStop stop_;
  platform::Mutex mutex_;
  std::map<std::string, Entry> entries_ SHAREWELL_GUARDED_BY(mutex_);
  api::FairWorker worker_;  // the last: it uses all of the above
};

}  // namespace sharewell::server
