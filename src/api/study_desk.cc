#include "api/study_desk.h"

#include <utility>

namespace sharewell::api {
namespace {

// So many users have a study under way at once. Each has a process of its own, among which the
// kernel shares out the CPUs: memory is what bounds their number.
constexpr std::size_t kShortAtOnce = 6, kLongAtOnce = 3;

}  // namespace

StudyDesk::StudyDesk(std::size_t most_waiting)
    : short_(kShortAtOnce, most_waiting), long_(kLongAtOnce, most_waiting) {}

std::size_t StudyDesk::CountOf(const std::string& user) const {
  return short_.CountOf(user) + long_.CountOf(user);
}

std::shared_ptr<const platform::WorkStop> StudyDesk::NewStop() {
  auto stop = std::make_shared<const platform::WorkStop>();
  const platform::MutexLock lock(mutex_);
  std::erase_if(stops_, [](const auto& one) { return one.expired(); });
  stops_.push_back(stop);
  if (stopping_) stop->Ask();
  return stop;
}

StudyDesk::Put StudyDesk::Add(const std::string& user, std::size_t most, Length length, Work work) {
  FairWorker& worker = length == Length::kLong ? long_ : short_;
  auto stop = NewStop();
  const auto taken =
      worker.Put(user, CountOf(user) < most ? most : 0, [stop, work = std::move(work)] {
        if (!stop->asked()) work(*stop);
      });
  return {taken, std::move(stop)};
}

void StudyDesk::Stop() {
  {
    const platform::MutexLock lock(mutex_);
    stopping_ = true;
    for (const auto& one : stops_) {
      if (const auto stop = one.lock()) stop->Ask();
    }
  }
  short_.Stop();
  long_.Stop();
}

}  // namespace sharewell::api
