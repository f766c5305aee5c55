#include "server/live/told_inbox.h"

#include <utility>

namespace sharewell::server {

bool ToldInbox::IsNews(const Run& run, const std::string& who, const store::ToldHead& head) {
  if (head.time < run.since) return false;
  const platform::MutexLock lock(mutex_);
  Told& told = told_[run.job];
  if (told.since != run.since) {
    told = {};
    told.since = run.since;
  }
  const auto taken = told.taken.find(who);
  return taken == told.taken.end() || taken->second < head.id;
}

void ToldInbox::Handle(const Run& run, const std::string& who, std::int64_t id,
                       core::JobTold news) {
  const platform::MutexLock lock(mutex_);
  const auto found = told_.find(run.job);
  if (found == told_.end() || found->second.since != run.since) return;  // it has ended meanwhile
  Told& told = found->second;
  told.taken[who] = id;
  told.counts = news.counts_steps;
  if (!news.document.empty() && told.read < kMostDocuments) {
    ++told.read;
    told.documents.push_back(std::move(news.document));
  }
  if (!news.off.empty() && !std::exchange(told.said_off, true)) told.off = std::move(news.off);
}

// Documents are large, so those alone are read that are news.
core::Result<void> ToldInbox::Read(store::ToldStore& store, const std::set<std::string>& nodes,
                                   const RunNamed& run_named) {
  for (const std::string& node : nodes) {
    const auto heads = store.ToldOn(node);
    RETURN_IF_ERROR(heads);
    for (const store::ToldHead& head : *heads) {
      const std::string who = node + " " + head.job;
      const auto run = run_named(head.job);
      if (!run || !IsNews(*run, who, head)) continue;
      auto told = store.ReadTold(head.id);
      RETURN_IF_ERROR(told);
      if (*told) Handle(*run, who, head.id, **std::move(told));
    }
  }
  return {};
}

void ToldInbox::GiveOut(const std::map<std::int64_t, engine::WatchedRun>& running,
                        std::map<std::int64_t, engine::ToldSteps>& told) {
  const platform::MutexLock lock(mutex_);
  std::erase_if(told_, [&](const auto& entry) { return !running.contains(entry.first); });
  for (auto& [job, own] : told_) {
    const auto steps = told.find(job);
    if (steps != told.end()) steps->second.by_watcher = own.counts;
    if (own.documents.empty() && own.off.empty()) continue;
    engine::ToldSteps& news = told[job];
    news.documents = std::exchange(own.documents, {});
    news.off = std::exchange(own.off, {});
  }
}

}  // namespace sharewell::server
