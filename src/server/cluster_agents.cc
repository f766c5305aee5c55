#include "server/cluster_agents.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <stop_token>
#include <thread>
#include <utility>

#include "platform/mutex.h"

namespace sharewell::server {
namespace {

constexpr core::UnixMillis kAgentIsSilentAfter = 60'000;  // it writes every 5 s

}  // namespace

struct ClusterAgents::Impl {
  explicit Impl(ClusterAgentsOptions chosen) : options(std::move(chosen)) {}

  const ClusterAgentsOptions options;
  platform::Mutex store_mutex;  // of one Look at a time
  std::unique_ptr<store::Store> store SHAREWELL_GUARDED_BY(store_mutex);

  mutable platform::Mutex mutex;
  std::condition_variable_any wake;
  std::map<std::string, std::optional<bool>> seen SHAREWELL_GUARDED_BY(mutex);  // by node
  std::string next SHAREWELL_GUARDED_BY(mutex);                                 // to be looked at
  std::jthread thread;  // the last: it uses all of the above

  // In turn, so that many nodes are no burden; but all that were not looked at yet.
  std::vector<std::string> Some() SHAREWELL_REQUIRES(mutex) {
    std::vector<std::string> some;
    for (const auto& [node, on] : seen) {
      if (!on) some.push_back(node);
    }
    if (!some.empty()) return some;
    auto at = seen.lower_bound(next);
    while (some.size() < std::min(options.at_a_time, seen.size())) {
      if (at == seen.end()) at = seen.begin();
      some.push_back(at->first);
      ++at;
    }
    next = at == seen.end() ? "" : at->first;
    return some;
  }
};

ClusterAgents::ClusterAgents(ClusterAgentsOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {
  if (impl_->options.every.value <= 0) return;
  impl_->thread = std::jthread([this](const std::stop_token& stop) {
    const auto pause = std::chrono::duration<double>(impl_->options.every.value);
    while (!stop.stop_requested()) {
      std::vector<std::string> some;
      {
        platform::MutexLock lock(impl_->mutex);
        some = impl_->Some();
      }
      Look(some);
      platform::MutexLock lock(impl_->mutex);
      impl_->wake.wait_for(lock, stop, pause, [] { return false; });
    }
  });
}

ClusterAgents::~ClusterAgents() {
  impl_->thread.request_stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

std::optional<bool> ClusterAgents::On(const std::string& node) {
  const platform::MutexLock lock(impl_->mutex);
  return impl_->seen.try_emplace(node).first->second;
}

// What goes wrong with the store is told by whoever reads what jobs do from it.
void ClusterAgents::Look(const std::vector<std::string>& nodes) {
  Impl& in = *impl_;
  if (nodes.empty()) return;
  const platform::MutexLock one_at_a_time(in.store_mutex);
  if (!in.store) {
    auto opened = in.options.open();
    if (!opened) return;
    in.store = std::move(*opened);
  }
  for (const std::string& node : nodes) {
    const auto told = in.store->LastMinutes(node);
    if (!told) {
      in.store.reset();  // opened anew next time
      return;
    }
    core::UnixMillis newest = 0;
    for (const store::SeriesPoints& series : *told) {
      if (!series.points.empty()) newest = std::max(newest, series.points.back().time);
    }
    const bool on = newest > in.options.wall() - kAgentIsSilentAfter;
    const platform::MutexLock lock(in.mutex);
    in.seen[node] = on;
  }
}

}  // namespace sharewell::server
