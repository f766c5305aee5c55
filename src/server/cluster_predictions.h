// ClusterPredictions: what jobs need that come by a cluster's manager and name a model file. They
// are made in bounded processes, users in turn, one of each user at a time. The manager's thread
// asks, and what is not known yet it asks again with its next look.
//
// It waits a little: most predictions take less than a look, and jobs that were there before the
// server are decided on together. How long it may wait is a bucket: full at first, then filled
// slowly, so that nobody's models hold up everybody's placing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "advice/prediction.h"
#include "api/fair_worker.h"
#include "catalogue/gpu_catalogue.h"
#include "core/job/submission.h"
#include "core/result.h"
#include "core/units.h"
#include "platform/mutex.h"
#include "platform/process/bounded_work.h"
#include "server/learn/learner.h"

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
  struct Patience {
    core::Seconds first{10};    // in all, when the server begins
    core::Seconds later{0.3};   // at most, from then on
    double of_the_time = 0.15;  // that it may wait
  };
  // Both must outlive it.
  ClusterPredictions(const catalogue::GpuCatalogue& catalogue, Learner& learner)
      : ClusterPredictions(catalogue, learner, Patience{}) {}
  ClusterPredictions(const catalogue::GpuCatalogue& catalogue, Learner& learner, Patience patience);
  ~ClusterPredictions() { Stop(); }

  struct Asked {
    std::string user;                      // who waits for it
    std::string file_version;              // another one where the file has changed
    std::string name;                      // what the user calls the file
    advice::PredictionAsk ask;             // its model is not read: `file` is
    std::shared_ptr<const OpenFile> file;  // shared with the one who reads it later
  };
  // What the user says of the model: its name, batch and precision.
  struct Words {
    const std::string& name;
    std::optional<int> batch;
    const std::string& precision;
  };
  // As Of wants it. Absent: it is no plain file.
  static std::optional<Asked> AskOf(std::string user, std::shared_ptr<const OpenFile> file,
                                    const Words& words, const core::Submission& asked,
                                    const std::string& usual_gpu);
  // Absent: not known yet. What was predicted is kept while file and predictor are the same. One
  // thread alone.
  std::optional<core::Result<core::Needs>> Of(const Asked& asked);
  void Stop();  // ends what is under way, and asks the learner nothing more

 private:
  struct Entry {
    std::shared_ptr<const predict::Trained> model;  // that predicts it
    std::optional<core::Result<core::Needs>> needs;
    bool told = false;
  };
  void Predict(const std::string& key, const Asked& asked);
  // What is known of it once the patience is over.
  std::optional<core::Result<core::Needs>> WaitFor(const std::string& key);

  const catalogue::GpuCatalogue& catalogue_;
  Learner& learner_;
  const platform::WorkStop stop_;
  const Patience patience_;
  core::Seconds left_;                           // of it; of the thread that asks, as is the next
  std::chrono::steady_clock::time_point asked_;  // last
  platform::Mutex mutex_;
  std::condition_variable_any known_;
  std::map<std::string, Entry> entries_ SHAREWELL_GUARDED_BY(mutex_);
  api::FairWorker worker_;  // the last: it uses all of the above
};

}  // namespace sharewell::server
