#include "api/study_progress.h"

namespace sharewell::api {

StudyProgress::Entry::~Entry() {
  const platform::MutexLock lock(all_.mutex_);
  all_.states_.erase(name_);
}

void StudyProgress::Entry::Emit(std::size_t part, std::size_t done, std::size_t of) {
  const platform::MutexLock lock(all_.mutex_);
  StudyState& state = all_.states_[name_];
  state.part = part;
  state.done = done;
  state.of = of;
}

std::shared_ptr<StudyProgress::Entry> StudyProgress::Begin(const std::string& name,
                                                           std::size_t parts) {
  {
    const platform::MutexLock lock(mutex_);
    if (!states_.emplace(name, StudyState{0, parts, {}, {}}).second) return nullptr;
  }
  return std::make_shared<Entry>(*this, name);
}

std::optional<StudyState> StudyProgress::Find(const std::string& name) const {
  const platform::MutexLock lock(mutex_);
  const auto found = states_.find(name);
  return found == states_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace sharewell::api
