#include "control/service/jobs/waiting_room.h"

namespace sharewell::control {

void WaitingRoom::Leave(std::int64_t number) {
  gate_.Forget(number);
  std::erase(entered_, number);
}

std::vector<std::int64_t> WaitingRoom::TakeNext() {
  std::vector<std::int64_t> all = gate_.TakeNext();
  all.insert(all.end(), entered_.begin(), entered_.end());
  entered_.clear();
  return all;
}

}  // namespace sharewell::control
