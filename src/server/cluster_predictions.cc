#include "server/cluster_predictions.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "server/live/study_worker.h"

namespace sharewell::server {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kAtOnce = 2;         // processes
constexpr std::size_t kMostOfUser = 16;    // that wait; the user's others are asked for later
constexpr std::size_t kMostWaiting = 512;  // of all users
constexpr std::size_t kMostKept = 2000;

}  // namespace

OpenFile::~OpenFile() {
  if (fd_ >= 0) ::close(fd_);
}

ClusterPredictions::ClusterPredictions(const catalogue::GpuCatalogue& catalogue, Learner& learner,
                                       Patience patience)
    : catalogue_(catalogue),
      learner_(learner),
      patience_(patience),
      left_(patience.first),
      asked_(SteadyClock::now()),
      worker_(kAtOnce, kMostWaiting) {}

void ClusterPredictions::Stop() {
  stop_.Ask();
  known_.notify_all();
  worker_.Stop();
}

std::optional<ClusterPredictions::Asked> ClusterPredictions::AskOf(
    std::string user, std::shared_ptr<const OpenFile> file, const Words& words,
    const core::Submission& asked, const std::string& usual_gpu) {
  struct stat facts {};
  if (::fstat(file->fd(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  Asked ask;
  ask.user = std::move(user);
  ask.file_version = fmt::format("{}.{}.{}.{}", facts.st_dev, facts.st_ino, facts.st_mtim.tv_sec,
                                 facts.st_mtim.tv_nsec);
  ask.name = words.name;
  ask.ask.batch = words.batch.value_or(1);
  if (!words.precision.empty()) ask.ask.precision = words.precision;
  ask.ask.gpu = asked.gpu_models.empty() ? usual_gpu : asked.gpu_models.front();
  ask.ask.gpus = asked.gpus;
  ask.file = std::move(file);
  return ask;
}

std::optional<core::Result<core::Needs>> ClusterPredictions::Of(const Asked& asked) {
  if (stop_.asked()) return std::nullopt;
  const advice::PredictionAsk& ask = asked.ask;
  // Who asks is part of it: an error names the file as that user called it.
  const std::string key = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", asked.user, asked.file_version,
                                      ask.batch, ask.gpus, ask.precision, ask.gpu, asked.name);
  const auto model = learner_.InUse();
  {
    const platform::MutexLock lock(mutex_);
    if (const auto known = entries_.find(key); known != entries_.end()) {
      Entry& entry = known->second;
      if (!entry.needs || entry.model == model) {
        entry.told = entry.needs.has_value();
        return entry.needs;
      }
      entries_.erase(known);  // a model that has learnt since says something else
    }
    // Those that nobody was told of yet stay: their number is bounded by what may wait.
    if (entries_.size() >= kMostKept) {
      std::erase_if(entries_, [](const auto& one) { return one.second.told; });
    }
    entries_[key].model = model;
  }
  const auto taken =
      worker_.Put(asked.user, kMostOfUser, [this, key, asked] { Predict(key, asked); });
  if (taken == api::FairWorker::Taken::kYes) return WaitFor(key);
  const platform::MutexLock lock(mutex_);
  entries_.erase(key);
  return std::nullopt;
}

std::optional<core::Result<core::Needs>> ClusterPredictions::WaitFor(const std::string& key) {
  using Time = std::chrono::duration<double>;
  const auto begin = SteadyClock::now();
  const core::Seconds more(Time(begin - asked_).count() * patience_.of_the_time);
  if (left_ < patience_.later) left_ = std::min(patience_.later, left_ + more);
  platform::MutexLock lock(mutex_);
  known_.wait_for(lock, Time(left_.value), [&]() SHAREWELL_REQUIRES(mutex_) {
    return entries_.at(key).needs.has_value() || stop_.asked();
  });
  asked_ = SteadyClock::now();
  left_ = std::max(core::Seconds(0), left_ - core::Seconds(Time(asked_ - begin).count()));
  Entry& entry = entries_.at(key);
  entry.told = entry.needs.has_value();
  return entry.needs;
}

void ClusterPredictions::Predict(const std::string& key, const Asked& asked) {
  core::Result<core::Needs> needs = core::FailedError("the prediction ended without a result");
  try {
    const auto answer = PredictInWorker(learner_, asked.ask, asked.file->fd(), catalogue_,
                                        asked.name, {.stop = stop_});
    needs = answer ? NeedsIn(*answer) : tl::unexpected(answer.error());
  } catch (const std::exception& exception) {
    needs = core::FailedError("the prediction ended without a result: {}", exception.what());
  }
  const platform::MutexLock lock(mutex_);
  if (const auto known = entries_.find(key); known != entries_.end()) {
    known->second.needs = std::move(needs);
  }
  known_.notify_all();
}

}  // namespace sharewell::server
