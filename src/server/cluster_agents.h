// ClusterAgents: on which nodes of a cluster an agent (`sharewell monitor`) is at work, by the
// store that it writes into and this server has too: what it told within the last minute. A thread
// of its own reads the store, some nodes at a time, so that one that does not answer delays nobody.
// Both engines have it: without an agent nobody sees who slows whom, and GPUs there are not shared.
//
// All methods from any thread; none waits for the store, except Look.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/metric.h"
#include "core/result.h"
#include "core/units.h"
#include "store/store.h"

namespace sharewell::server {

struct ClusterAgentsOptions {
  std::function<core::Result<std::unique_ptr<store::Store>>()> open;  // REQUIRED
  std::function<core::UnixMillis()> wall;                             // REQUIRED
  core::Seconds every{2};      // some nodes are looked at; 0: by Look alone
  std::size_t at_a_time = 32;  // so many of them
};

class ClusterAgents {
 public:
  explicit ClusterAgents(ClusterAgentsOptions options);
  ~ClusterAgents();
  ClusterAgents(const ClusterAgents&) = delete;
  ClusterAgents& operator=(const ClusterAgents&) = delete;

  // As it was seen last. Absent: it was not looked at yet, and is from now on, soon. Where the
  // store does not answer, what was seen stays.
  std::optional<bool> On(const std::string& node);

  void Look(const std::vector<std::string>& nodes);  // at these, all of them

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sharewell::server
