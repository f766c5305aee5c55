// RunFalls: ends under MPS whose reason may be a neighbour. They are told when the neighbours are
// gone too, or have outlived them for a while (fell_together.h). One thread.
#pragma once

#include <string>
#include <vector>

#include "engine/local/local_book.h"

namespace sharewell::engine {

class RunFalls {
 public:
  explicit RunFalls(LocalBook& book) : book_(book) {}

  // Tells how it ended, at once or once it is clear.
  void Handle(LocalRun& run, RunEnd end);
  void Judge();
  bool any() const { return any_; }  // that are not judged yet

 private:
  bool Wait(const std::string& daemon, const std::vector<LocalRun*>& fallen) const;
  void Judge(const std::string& daemon, const std::vector<LocalRun*>& fallen);

  LocalBook& book_;
  bool any_ = false;
};

}  // namespace sharewell::engine
