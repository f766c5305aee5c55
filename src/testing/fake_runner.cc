#include "testing/fake_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sharewell::fixtures {

using core::Seconds;
using engine::RunEnd;
using engine::RunEvent;
using engine::RunId;

namespace {

constexpr Seconds kNever(1e18);

}  // namespace

FakeRunner::FakeRunner(std::vector<engine::RunnerNode> nodes, const FakeRunnerOptions& options)
    : options_(options), dice_(options.seed), list_at_(options.list_every) {
  for (engine::RunnerNode& node : nodes) up_[node.name] = std::move(node);
}

bool FakeRunner::Up(const std::string& node) const { return up_.contains(node); }

// Commands arrive in the order they were given.
void FakeRunner::Send(Command command) {
  Seconds arrives = now_ + Seconds(dice_.Uniform(0, options_.command.value));
  if (!sent_.empty()) arrives = std::max(arrives, sent_.back().arrives);
  sent_.push_back({arrives, std::move(command)});
}

void FakeRunner::Start(const engine::RunRequest& request) {
  if (dice_.Chance(options_.lose_command)) return;
  Send(StartCommand{request});
}

void FakeRunner::Stop(RunId id, const engine::StopOrder& order) {
  if (dice_.Chance(options_.lose_command)) return;
  Send(StopCommand{id, order.grace});
}

void FakeRunner::SetLoss(double commands, double answers) {
  options_.lose_command = commands;
  options_.lose = answers;
}

void FakeRunner::Forget(RunId id) { ended_.erase(id); }

void FakeRunner::Emit(const RunEvent& event) {
  if (dice_.Chance(options_.lose)) return;
  const int times = dice_.Chance(options_.twice) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    const double delay = dice_.Chance(options_.late) ? dice_.Uniform(0, options_.latest.value) : 0;
    answers_.emplace(now_ + Seconds(delay), event);
  }
}

void FakeRunner::CarryOut(const StartCommand& start) {
  const engine::RunRequest& request = start.request;
  const RunId id = request.id;
  requests_[id] = request;
  if (running_.contains(id) || ended_.contains(id)) return;  // it has been started
  if (stopped_.contains(id)) {
    RunEnd end;
    end.stopped = true;
    end.message = "it was stopped before it began";
    return End(id, std::move(end));
  }
  const bool up = std::all_of(request.nodes.begin(), request.nodes.end(),
                              [&](const std::string& node) { return Up(node); });
  if (!up || dice_.Chance(options_.refuse)) {
    const char* why = up ? "the queue of the manager is full" : "its node is down";
    return Emit(engine::StartRefused{id, why});
  }
  for (const auto& [other, process] : running_) {
    if (other.job == id.job && wrong.empty()) {
      wrong =
          fmt::format("job {} runs twice: attempts {} and {}", id.job, other.attempt, id.attempt);
    }
  }
  if (finished_.contains(id.job) && wrong.empty()) {
    wrong = fmt::format("job {} runs again (attempt {}) after it has finished", id.job, id.attempt);
  }
  if (request.nodes.empty() && wrong.empty()) wrong = fmt::format("job {} has no node", id.job);
  const double lasts = dice_.LogUniform(options_.shortest.value, options_.longest.value);
  running_[id] = {request, now_ + Seconds(lasts), false};
  ++began_[id.job];
  Emit(engine::RunStarted{id});
}

void FakeRunner::CarryOut(const StopCommand& stop) {
  stopped_.insert(stop.id);
  const auto found = running_.find(stop.id);
  if (found == running_.end() || found->second.told) return;
  if (dice_.Chance(options_.keep)) {
    return Emit(engine::StopRefused{stop.id, "a budget does not allow it"});
  }
  found->second.told = true;
  const Seconds leaves = now_ + stop.grace * dice_.Pick({0, 0, 0.5, 1});
  found->second.ends = std::min(found->second.ends, leaves);
}

void FakeRunner::CarryOut(const ListCommand& list) {
  engine::RunsListed listed{list.as_of};
  for (const auto& [id, process] : running_) listed.runs.push_back({id, true, std::nullopt});
  for (const auto& [id, end] : ended_) listed.runs.push_back({id, true, end});
  for (const auto& [name, node] : up_) listed.nodes.push_back(node);
  Emit(listed);
}

void FakeRunner::CarryOut(const PauseCommand& asked) {
  const auto found = running_.find(asked.id);
  if (found == running_.end() || found->second.told) return;  // its end is told
  Process& process = found->second;
  if (dice_.Chance(options_.refuse_pause)) {
    if (asked.pause) return Emit(engine::PauseRefused{asked.id, "the host's memory is full"});
    return Emit(engine::ResumeRefused{asked.id, "the GPU's memory is full"});
  }
  if (asked.pause && !process.left) {
    process.left = process.ends - now_;
    process.ends = kNever;
  } else if (!asked.pause && process.left) {
    process.ends = now_ + *std::exchange(process.left, std::nullopt);
  }
  if (asked.pause) return Emit(engine::RunPaused{asked.id});
  Emit(engine::RunResumed{asked.id});
}

void FakeRunner::End(RunId id, RunEnd end) {
  running_.erase(id);
  ended_[id] = end;
  Emit(engine::RunEnded{id, std::move(end)});
}

void FakeRunner::NodeGoes(const std::string& name) {
  if (up_.erase(name) == 0) return;
  Emit(engine::NodeWent{name, "it does not answer"});
  std::vector<RunId> lost;
  for (const auto& [id, process] : running_) {
    const auto& nodes = process.request.nodes;
    if (std::find(nodes.begin(), nodes.end(), name) != nodes.end()) lost.push_back(id);
  }
  RunEnd end;
  end.lost = true;
  for (const RunId& id : lost) End(id, end);
}

void FakeRunner::NodeComes(const engine::RunnerNode& node) {
  up_[node.name] = node;
  Emit(engine::NodeCame{node});
}

void FakeRunner::LoseRun(RunId id) {
  if (!running_.contains(id)) return;
  RunEnd end;
  end.exit_code = 128 + 9;
  end.lost = true;
  End(id, std::move(end));
}

void FakeRunner::FailGpu(const std::string& uuid) {
  for (const RunId& id : running()) {
    const auto& gpus = running_.at(id).request.gpus;
    if (std::none_of(gpus.begin(), gpus.end(),
                     [&](const core::GivenGpu& gpu) { return gpu.uuid == uuid; })) {
      continue;
    }
    RunEnd end;
    end.exit_code = 1;
    End(id, std::move(end));
  }
}

void FakeRunner::SetGpuLost(const std::string& uuid, bool lost) {
  if (lost ? !lost_gpus_.insert(uuid).second : lost_gpus_.erase(uuid) == 0) return;
  RunEvent event = engine::GpuBack{uuid};
  if (lost) event = engine::GpuLost{uuid, "it has fallen off the bus"};
  answers_.emplace(now_, std::move(event));
}

std::vector<RunId> FakeRunner::running() const {
  std::vector<RunId> all;
  for (const auto& [id, process] : running_) all.push_back(id);
  return all;
}

std::vector<engine::RunRequest> FakeRunner::Recover() {
  while (!sent_.empty()) {  // what the earlier server asked for arrives, or never will
    now_ = std::max(now_, sent_.front().arrives);
    Happen();
  }
  answers_.clear();  // they were for the earlier one
  for (const std::string& uuid : std::exchange(lost_gpus_, {})) SetGpuLost(uuid, true);
  std::vector<engine::RunRequest> found;
  for (const auto& [id, process] : running_) {
    found.push_back(process.request);
    Emit(engine::RunStarted{id});
  }
  for (const auto& [id, end] : ended_) {
    found.push_back(requests_.at(id));
    Emit(engine::RunEnded{id, end});
  }
  return found;
}

std::optional<Seconds> FakeRunner::Next() const {
  std::optional<Seconds> next;
  const auto also = [&](Seconds at) { next = next ? std::min(*next, at) : at; };
  if (!sent_.empty()) also(sent_.front().arrives);
  if (!answers_.empty()) also(answers_.begin()->first);
  for (const auto& [id, process] : running_) {
    if (process.ends < kNever) also(process.ends);
  }
  if (list_at_) also(*list_at_);
  return next;
}

void FakeRunner::Happen() {
  if (list_at_ && *list_at_ <= now_) {
    list_at_ = now_ + *options_.list_every;
    Send(ListCommand{now_});  // one that gets lost would only be told again
  }
  while (!sent_.empty() && sent_.front().arrives <= now_) {
    const Sent next = std::move(sent_.front());
    sent_.erase(sent_.begin());
    std::visit([this](const auto& command) { CarryOut(command); }, next.command);
  }
  std::vector<RunId> over;
  for (const auto& [id, process] : running_) {
    if (process.ends <= now_) over.push_back(id);
  }
  for (const RunId& id : over) {
    RunEnd end;
    if (running_.at(id).told) {
      end.signal = 15;
      end.exit_code = 143;
      end.stopped = true;
    } else if (dice_.Chance(options_.fail)) {
      end.exit_code = 1;
      end.out_of_memory = dice_.Chance(0.4);
      end.lost = dice_.Chance(0.2);
    } else {
      ++finished_[id.job];
    }
    End(id, std::move(end));
  }
}

bool FakeRunner::Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) {
  for (;;) {
    Happen();
    while (!answers_.empty() && answers_.begin()->first <= now_) {
      out.push_back(std::move(answers_.begin()->second));
      answers_.erase(answers_.begin());
    }
    if (!out.empty()) return true;
    const std::optional<Seconds> next = Next();
    if (!next && !until) return false;
    if (until && (!next || *next > *until)) {
      now_ = std::max(now_, *until);
      return true;
    }
    now_ = std::max(now_, *next);
  }
}

bool FakeRunner::quiet() const { return running_.empty() && sent_.empty() && answers_.empty(); }

}  // namespace sharewell::fixtures
