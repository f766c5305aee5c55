// Which of its models a Learner uses, and what it keeps of that.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/words.h"
#include "server/learn/learner.h"
#include "server/learn/learner_json.h"

namespace sharewell::server {

core::Result<void> Learner::Choose(bool pin) {
  TrainingReport report;
  report.time = options_.wall();
  report.outcome = "chosen";
  report.chosen = pin ? options_.given_name : "retrained";
  report.why = pin ? "somebody chose it; nothing is trained until \"retrained\" is chosen"
                   : "somebody chose what is trained here";
  if (pin) {
    Take(given_, std::nullopt);
  } else {
    const auto taken = TakeNewest();
    RETURN_IF_ERROR(taken);
    if (!*taken) Take(given_, std::nullopt);
  }
  const auto id = store_->KeepModel({0, report.time, ReportToJson(report), {}});
  RETURN_IF_ERROR(id);
  report.id = *id;
  {
    const platform::MutexLock lock(mutex_);
    state_.pinned = pin;
  }
  Emit("predictor.chosen",
       fmt::format("predictor: {} is in use: {}",
                   pin ? options_.given_name : "what is trained here", report.why));
  Record(std::move(report));
  return {};
}

core::Result<bool> Learner::TakeNewest() {
  const auto models = store_->Models();
  RETURN_IF_ERROR(models);
  for (const store::KeptModel& kept : *models) {
    auto report = ReportFromJson(kept.report);
    if (!report) continue;
    // What is older may have been taught by whoever was forgotten.
    if (report->outcome == "forgotten") break;
    // What was learnt onto another one is not for the one that is given now, and of what an older
    // version trained nobody knows whose runs taught it.
    const bool counts = report->outcome == "taken" && report->given == options_.given_name &&
                        !report->users.empty();
    if (!counts) continue;
    const auto text = store_->ModelText(kept.id);
    RETURN_IF_ERROR(text);
    if (!*text) continue;
    auto trained = predict::ReadTrained(**text);
    if (!trained) {
      Log(fmt::format("the predictor that was trained here is not used: {}",
                      trained.error().message));
      break;
    }
    report->id = kept.id;
    report->time = kept.time;
    Take(std::make_shared<const predict::Trained>(std::move(*trained)), *std::move(report));
    return true;
  }
  return false;
}

core::Result<void> Learner::ForgetNow(const std::string& user) {
  const auto removed = store_->Forget(user);
  RETURN_IF_ERROR(removed);
  RETURN_IF_ERROR(CountRuns());
  bool taught = false;
  {
    const platform::MutexLock lock(mutex_);
    const auto& users = state_.trained ? state_.trained->users : std::vector<std::string>();
    taught = std::find(users.begin(), users.end(), user) != users.end();
  }
  TrainingReport report;
  report.time = options_.wall();
  report.outcome = "forgotten";
  report.why =
      fmt::format("{} of {} forgotten{}", core::Count(static_cast<std::uint64_t>(*removed), "run"),
                  user, taught ? fmt::format("; {} is in use again", options_.given_name) : "");
  const auto id = store_->KeepModel({0, report.time, ReportToJson(report), {}});
  RETURN_IF_ERROR(id);
  report.id = *id;
  if (taught) Take(given_, std::nullopt);
  Emit("predictor.forgotten", "predictor: " + report.why);
  Record(std::move(report));
  return {};
}

core::Result<void> Learner::CountRuns() {
  auto counts = store_->RunsByUser();
  RETURN_IF_ERROR(counts);
  const platform::MutexLock lock(mutex_);
  state_.runs = 0;
  for (const auto& [user, count] : *counts) state_.runs += static_cast<std::size_t>(count);
  state_.runs_by_user = std::move(*counts);
  return {};
}

void Learner::Take(std::shared_ptr<const predict::Trained> model,
                   std::optional<TrainingReport> by) {
  const platform::MutexLock lock(mutex_);
  state_.in_use = model == given_ ? options_.given_name : "retrained";
  state_.trained = std::move(by);
  state_.drift.clear();
  in_use_ = std::move(model);
}

void Learner::Record(TrainingReport report) {
  const platform::MutexLock lock(mutex_);
  state_.taken += report.outcome == "taken" ? 1 : 0;
  state_.refused += report.outcome == "refused" ? 1 : 0;
  state_.failed += report.outcome == "failed" ? 1 : 0;
  state_.history.insert(state_.history.begin(), std::move(report));
  if (state_.history.size() > kHistoryShown) state_.history.pop_back();
}

}  // namespace sharewell::server
