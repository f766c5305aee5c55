#include "engine/live/live_news.h"

#include <algorithm>
#include <utility>

#include "engine/live/staying_id.h"

namespace sharewell::engine {

bool LiveNews::OwesLoop() const {
  return turn || !paused.empty() || !finished.empty() || !failed.empty() ||
         !out_of_memory.empty() || !requeued.empty();
}

void LiveNews::Note(RunEvent event) {
  notes.push_back(std::move(event));
  turn = true;
}

void LiveNews::EndBesideTheLoop(Ended end) {
  ended.push_back(std::move(end));
  turn = true;
}

void LiveNews::DropOffer(const std::string& node) {
  std::erase_if(notes, [&](const RunEvent& note) {
    const auto* came = std::get_if<NodeCame>(&note);
    return came != nullptr && came->node.name == node;
  });
}

bool LiveNews::HasEndOf(core::JobId id) const {
  return std::any_of(ended.begin(), ended.end(), [&](const Ended& end) { return end.job == id; });
}

void LiveNews::Renumber(const core::Renumbering& ids) {
  for (auto* list : {&finished, &failed, &out_of_memory, &requeued}) {
    for (core::JobId& id : *list) id = StayingId(ids, id);
  }
  for (PausedJob& one : paused) one.job = ids.Of(one.job);
  for (Ended& end : ended) {
    if (end.job.valid()) end.job = ids.Of(end.job);
  }
}

}  // namespace sharewell::engine
