// Worker: a FairWorker of one thread and of ordinary priority, for short answers. Users are told
// apart by their meters, and what it takes of CPU time is charged to them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "api/fair_worker.h"
#include "http/meter.h"

namespace sharewell::api {

class Worker {
 public:
  explicit Worker(std::size_t most_waiting) : fair_(1, most_waiting, /*nice=*/0) {}

  // Never waits. False: too much does already. `user`: who it is for; null: nobody in particular.
  bool Put(std::function<void()> work, std::shared_ptr<http::Meter> user = nullptr);
  void Stop() { fair_.Stop(); }

 private:
  FairWorker fair_;
};

}  // namespace sharewell::api
