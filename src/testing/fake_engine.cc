#include "testing/fake_engine.h"

namespace sharewell::fixtures {

bool FakeEngine::Observe(std::optional<core::Seconds> wake, engine::Observation& out) {
  if (journal != nullptr) journal->push_back("observe");
  wakes.push_back(wake);
  if (script_.empty()) return false;
  out = std::move(script_.front());
  script_.pop_front();
  return true;
}

void FakeEngine::Apply(const core::Plan& plan, engine::Observation& out) {
  if (journal != nullptr) journal->push_back("apply");
  applied.push_back(plan);
  const core::Seconds now = out.now;
  out = {};
  out.now = now;
  if (answers_.empty()) return;
  out.progress = std::move(answers_.front());
  answers_.pop_front();
}

}  // namespace sharewell::fixtures
