#include "api/worker.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace sharewell::api {

bool Worker::Put(std::function<void()> work, std::shared_ptr<http::Meter> user) {
  // The meter stays as long as the work, so that no other has its address meanwhile.
  const std::string key = fmt::format("{}", fmt::ptr(user.get()));
  const auto taken = fair_.Put(key, std::numeric_limits<std::size_t>::max(),
                               [work = std::move(work), user = std::move(user)] {
                                 const http::MeteredBlock metered(user.get());
                                 work();
                               });
  return taken == FairWorker::Taken::kYes;
}

}  // namespace sharewell::api
