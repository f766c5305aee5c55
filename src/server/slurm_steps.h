// StepsInStore: the steps of a cluster's jobs, as the agents on its nodes (`sharewell monitor`) put
// them into the store that this server has too. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/metric.h"
#include "store/store.h"

namespace sharewell::server {

class StepsInStore {
 public:
  using Open = std::function<core::Result<std::unique_ptr<store::Store>>()>;
  // `say`: what goes wrong, and comes right again; each once.
  StepsInStore(Open open, std::function<void(const std::string&)> say);

  // Of the jobs ("slurm/17") of which an agent has told something since then and lately: the most
  // that any node says. A store that does not answer says nothing.
  std::map<std::int64_t, double> Of(const std::map<std::int64_t, core::UnixMillis>& since,
                                    core::UnixMillis now);

 private:
  core::Result<std::map<std::int64_t, double>> Read(
      const std::map<std::int64_t, core::UnixMillis>& since, core::UnixMillis now);

  Open open_;
  std::function<void(const std::string&)> say_;
  std::unique_ptr<store::Store> store_;
  bool down_ = false;
};

}  // namespace sharewell::server
