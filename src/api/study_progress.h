// How far long studies are, for those who wait for them: a client names its study, and asks for it
// by that name while it waits or runs.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "platform/mutex.h"

namespace sharewell::api {

struct StudyState {
  std::size_t part = 0, parts = 0;      // which policy is played, of how many
  std::optional<std::size_t> done, of;  // of its jobs; absent: it has not begun
};

// Any thread. Must outlive what it handed out.
class StudyProgress {
 public:
  // While it is held the study is known by its name.
  class Entry {
   public:
    Entry(StudyProgress& all, std::string name) : all_(all), name_(std::move(name)) {}
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    void Emit(std::size_t part, std::size_t done, std::size_t of);

   private:
    StudyProgress& all_;
    const std::string name_;
  };

  // Null: another has that name.
  std::shared_ptr<Entry> Begin(const std::string& name, std::size_t parts);
  std::optional<StudyState> Find(
      const std::string& name) const;  // absent: it is over, or never was

 private:
  mutable platform::Mutex mutex_;
  std::map<std::string, StudyState> states_ SHAREWELL_GUARDED_BY(mutex_);
};

}  // namespace sharewell::api
