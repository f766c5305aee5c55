#include "testing/fake_slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/result.h"

namespace sharewell::fixtures {

using core::Result;
using core::Seconds;
using engine::RunEvent;
using engine::SlurmJob;
using engine::SlurmNode;
using engine::SlurmPhase;
using engine::SlurmQueueLine;
using engine::SlurmSlot;

namespace {

constexpr int kShards = 100;
constexpr const char* kRequeuedHeld = "job requeued in held state";

tl::unexpected<core::Error> NoAnswer() {
  return core::FailedError("slurmctld does not answer (Unable to contact slurm controller)");
}

// "update JobId=1 AdminComment=\"a b\"" -> its words, without the quotes.
std::vector<std::string> WordsOf(const std::string& line) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (const char c : line) {
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else if (c == ' ' && quote == 0) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

void SetPhase(SlurmJob& job, SlurmPhase phase, const char* word) {
  job.phase = phase;
  job.phase_word = word;
}

}  // namespace

void FakeSlurm::AddNode(const std::string& name, int gpus, const std::string& model, int cpus) {
  SlurmNode node;
  node.name = name;
  node.states = {"IDLE"};
  node.up = true;
  node.cpus = cpus;
  node.memory = core::GiB(64);
  for (int i = 0; i < gpus; ++i) node.slots.push_back(fmt::format("g{}", i));
  node.features = {model};
  nodes_[name] = std::move(node);
}

void FakeSlurm::AddPlainNode(const std::string& name, int gpus, const std::string& model) {
  AddNode(name, 0, model);
  SlurmNode& node = nodes_.at(name);
  node.features.clear();
  node.gpu_types = {model};
  node.other_gpus = gpus;
}

// A node that fails takes its jobs with it: Slurm puts them back into its queue, not held.
void FakeSlurm::SetNode(const std::string& name, bool up, const std::string& state) {
  SlurmNode& node = nodes_.at(name);
  node.up = up;
  node.states = {state};
  if (state != "DOWN") return;
  for (auto& [id, job] : jobs_) {
    const auto& on = job.slurm.nodes;
    const bool there = std::find(on.begin(), on.end(), name) != on.end();
    if (there && job.slurm.phase == SlurmPhase::kRunning) Requeue(job, "");
  }
}

std::int64_t FakeSlurm::Submit(int gpus, Told told, const std::function<void(SlurmJob&)>& change) {
  const std::int64_t id = next_id_;
  SubmitAs(id, gpus, told, 1);
  if (change) change(jobs_.at(id).slurm);
  jobs_.at(id).ends = now_ + told.lasts;  // where it is to run already
  return id;
}

void FakeSlurm::SubmitAs(std::int64_t id, int gpus, Told told, int nodes) {
  next_id_ = std::max(next_id_, id + 1);
  Job job;
  job.told = told;
  SlurmJob& slurm = job.slurm;
  slurm.id = id;
  slurm.name = "train";
  slurm.user = "ann";
  slurm.uid = slurm.gid = 1000;
  slurm.partition = "gpu";
  SetPhase(slurm, SlurmPhase::kPending, "PENDING");
  slurm.reason = "JobHeldUser";
  slurm.cpus = 1;
  slurm.nodes_wanted = nodes;
  slurm.script = "/home/ann/train.sh";
  slurm.folder = "/home/ann";
  slurm.admin_comment = fmt::format("sharewell1 ask=gpus:{}", gpus);
  slurm.submitted = 1'000'000 + static_cast<core::UnixMillis>(now_.value * 1e3);
  jobs_[id] = std::move(job);
}

FakeSlurm::Fault FakeSlurm::NextFault() {
  ++calls;
  if (!faults.empty()) {
    const Fault fault = faults.front();
    faults.pop_front();
    return fault;
  }
  if (!dice_.Chance(chance_of_fault)) return Fault::kNone;
  return static_cast<Fault>(dice_.Between(1, 3));
}

FakeSlurm::Job* FakeSlurm::Named(const std::string& name) {
  for (auto& [id, job] : jobs_) {
    if (engine::SlurmName(job.slurm) == name) return &job;
    if (fmt::format("{}", id) == name && !job.slurm.array) return &job;
  }
  return nullptr;
}

std::string FakeSlurm::Update(Job& job, const std::vector<std::string>& words, std::size_t most) {
  SlurmJob& slurm = job.slurm;
  for (std::size_t i = 2; i < words.size() && i - 2 < most; ++i) {
    const auto equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals), value = words[i].substr(equals + 1);
    const bool place = key == "ReqNodeList" || key == "Gres" || key == "TresPerNode" ||
                       key == "NumCPUs" || key == "CPUsPerTask" || key == "MinCPUsNode";
    if (place && slurm.phase != SlurmPhase::kPending) return "Job is no longer pending execution";
    if (place && !refuse_updates.empty()) return refuse_updates;
    if (key == "NumCPUs" && refuse_cores) return "Requested node configuration is not available";
    if (key == "ReqNodeList") {
      slurm.required_nodes = value.empty() ? std::vector<std::string>{} : Split(value, ',');
    } else if (key == "TresPerNode" && value.empty()) {
      slurm.slots.clear();
      slurm.gres.clear();
    } else if (key == "Gres" && value.starts_with("gpu:")) {
      slurm.gres = "gres:" + value;
    } else if (key == "Gres") {
      for (const std::string& part : Split(value, ',')) {
        const auto fields = Split(part, ':');
        const SlurmSlot slot{fields.at(1), std::stoi(fields.at(2))};
        const auto same = [&](const SlurmSlot& one) { return one.slot == slot.slot; };
        std::erase_if(slurm.slots, same);  // another type is added to what there is
        slurm.slots.push_back(slot);
        job.slots_ever.insert(slot.slot);
      }
    } else if (key == "NumCPUs") {
      slurm.cpus = std::stoi(value);
    } else if (key == "CPUsPerTask") {
      job.cpus_a_task = std::stoi(value);
    } else if (key == "MinCPUsNode") {
      slurm.cpus_a_node = std::stoi(value);
    } else if (key == "MinMemoryNode") {
      slurm.memory = core::Bytes(std::stod(value) * (1 << 20));
      slurm.memory_by_cpu = false;
    } else if (key == "Comment") {
      slurm.comment = value;
    } else if (key == "AdminComment") {
      slurm.admin_comment = value;
    } else if (key == "TimeLimit") {
      const auto parts = Split(value, ':');
      slurm.time_limit =
          Seconds(std::stod(parts[0]) * 3600 + std::stod(parts[1]) * 60 + std::stod(parts[2]));
    }
  }
  return {};
}

std::string FakeSlurm::CarryOut(const std::string& line) {
  log.push_back(line);
  const auto words = WordsOf(line);
  std::string name = words.at(1);
  if (words[0] == "update") name = name.substr(name.find('=') + 1);
  Job* job = Named(name);
  if (job == nullptr) return "Invalid job id specified";
  SlurmJob& slurm = job->slurm;
  if (words[0] == "update") {
    const std::string complaint = Update(*job, words, words.size());
    StartJobs();
    return complaint;
  }
  const bool pending = slurm.phase == SlurmPhase::kPending;
  if (words[0] == "release" && pending) {
    slurm.priority = 1;
    slurm.reason = "Resources";
  } else if ((words[0] == "hold" || words[0] == "uhold") && pending) {
    slurm.priority = 0;
    if (slurm.reason != kRequeuedHeld) {
      slurm.reason = words[0] == "hold" ? "JobHeldAdmin" : "JobHeldUser";
    }
  } else if (words[0] == "uhold" && job->leaves && job->requeues) {
    job->held_as = "JobHeldUser";
  } else if (words[0].starts_with("requeue") && slurm.phase == SlurmPhase::kRunning) {
    job->leaves = now_ + leaving;
    job->requeues = true;
    job->held_as = words[0] == "requeuehold" ? kRequeuedHeld : "";
  } else if (words[0].starts_with("requeue") && !pending) {
    return "Job/step already completing or completed";
  }
  StartJobs();
  return {};
}

void FakeSlurm::Requeue(Job& job, const std::string& held_as) {
  SlurmJob& slurm = job.slurm;
  SetPhase(slurm, SlurmPhase::kPending, "PENDING");
  slurm.priority = held_as.empty() ? 1 : 0;
  slurm.reason = held_as.empty() ? "BeginTime" : held_as;
  slurm.nodes.clear();
  slurm.started.reset();
  ++slurm.restarts;
  job.leaves.reset();
  job.requeues = false;
}

// On each node at least what was set for one, in whole tasks and whole cores.
int FakeSlurm::CpusGiven(const Job& job) const {
  const SlurmJob& slurm = job.slurm;
  const int nodes = std::max(static_cast<int>(slurm.required_nodes.size()), 1);
  const auto up = [](int count, int by) { return (count + by - 1) / by * by; };
  const int of_task = std::max(job.cpus_a_task, 1);
  const int of_node = std::max(up(slurm.cpus, nodes) / nodes, slurm.cpus_a_node);
  return nodes * up(up(of_node, of_task), cpus_of_core);
}

bool FakeSlurm::HasRoom(const Job& job) const {
  const int nodes = std::max(static_cast<int>(job.slurm.required_nodes.size()), 1);
  for (const std::string& name : job.slurm.required_nodes) {
    const auto node = nodes_.find(name);
    if (node == nodes_.end() || !node->second.up) return false;
    const auto& excluded = job.slurm.excluded_nodes;
    if (std::find(excluded.begin(), excluded.end(), name) != excluded.end()) return false;
    int cpus = CpusGiven(job) / nodes;
    for (const auto& [id, other] : jobs_) {
      const auto& on = other.slurm.nodes;
      if (std::find(on.begin(), on.end(), name) == on.end()) continue;
      cpus += other.slurm.cpus / static_cast<int>(on.size());
    }
    if (cpus > node->second.cpus) return false;
    int whole = engine::PlainGpusIn(job.slurm);
    for (const auto& [id, other] : jobs_) {
      const auto& on = other.slurm.nodes;
      if (std::find(on.begin(), on.end(), name) == on.end()) continue;
      whole += engine::PlainGpusIn(other.slurm);
    }
    const int gpus = std::max(node->second.other_gpus, static_cast<int>(node->second.slots.size()));
    if (!job.slurm.gres.empty() && whole > gpus) return false;
    for (const SlurmSlot& slot : job.slurm.slots) {
      int used = slot.shards;
      for (const auto& [id, other] : jobs_) {
        const auto& on = other.slurm.nodes;
        if (std::find(on.begin(), on.end(), name) == on.end()) continue;
        for (const SlurmSlot& its : other.slurm.slots) {
          if (its.slot == slot.slot) used += its.shards;
        }
      }
      if (used > kShards) return false;
    }
  }
  return true;
}

// One that Slurm put back waits a while, as the real one does: somebody may hold it meanwhile.
void FakeSlurm::StartJobs() {
  for (auto& [id, job] : jobs_) {
    SlurmJob& slurm = job.slurm;
    if (!starts_jobs || slurm.phase != SlurmPhase::kPending || slurm.priority == 0) continue;
    if (slurm.reason == "BeginTime" || !HasRoom(job)) continue;
    if (keeps.contains(id)) {
      slurm.reason = keeps.at(id);
      continue;
    }
    const auto note = engine::ParseJobNote(slurm.admin_comment);
    for (const std::string& slot : job.slots_ever) {
      const bool has = std::any_of(slurm.slots.begin(), slurm.slots.end(),
                                   [&](const SlurmSlot& one) { return one.slot == slot; });
      if (!has && wrong.empty()) {
        wrong = fmt::format("job {} starts without {}, which it once had: slurmctld 22.05 dies", id,
                            slot);
      }
    }
    if ((!note || !note->put || slurm.required_nodes.empty()) && wrong.empty()) {
      wrong = fmt::format("job {} runs at a place that nobody gave it", id);
    }
    SetPhase(slurm, SlurmPhase::kRunning, "RUNNING");
    slurm.reason.clear();
    slurm.nodes = slurm.required_nodes;
    slurm.cpus = CpusGiven(job);
    slurm.started = static_cast<core::UnixMillis>(now_.value * 1e3);
    job.ends = now_ + job.told.lasts;
    ++starts[id];
  }
}

void FakeSlurm::Happen() {
  for (auto& [id, job] : jobs_) {
    SlurmJob& slurm = job.slurm;
    if (slurm.phase != SlurmPhase::kRunning) continue;
    const bool leaves = job.leaves && *job.leaves <= now_;
    if (job.ends <= now_ && (!job.leaves || job.ends < *job.leaves)) {
      const bool well = job.told.exit_code == 0;
      SetPhase(slurm, well ? SlurmPhase::kCompleted : SlurmPhase::kFailed,
               well ? "COMPLETED" : "FAILED");
      slurm.exit_code = job.told.exit_code;
    } else if (leaves && job.requeues) {
      Requeue(job, job.held_as);
    } else if (leaves) {
      SetPhase(slurm, SlurmPhase::kCancelled, "CANCELLED");
    }
    if (engine::IsOver(slurm.phase)) {
      slurm.ended = static_cast<core::UnixMillis>(now_.value * 1e3);
      slurm.nodes.clear();
    }
  }
  StartJobs();
}

void FakeSlurm::End(std::int64_t id, int exit_code) {
  jobs_.at(id).told.exit_code = exit_code;
  jobs_.at(id).ends = now_;
  Happen();
}

void FakeSlurm::Advance(Seconds to) {
  constexpr Seconds kTick(0.25);
  Happen();  // what takes no time
  while (now_ < to) {
    now_ = std::min(now_ + kTick, to);
    Happen();
  }
}

bool FakeSlurm::quiet() const {
  return std::all_of(jobs_.begin(), jobs_.end(), [](const auto& one) {
    const SlurmJob& job = one.second.slurm;
    return engine::IsOver(job.phase) || engine::IsHeldJob(job);
  });
}

Result<std::vector<SlurmQueueLine>> FakeSlurm::Queue() {
  if (NextFault() != Fault::kNone) return NoAnswer();
  std::vector<SlurmQueueLine> lines;
  for (const auto& [id, job] : jobs_) {
    const SlurmJob& slurm = job.slurm;
    if (engine::IsOver(slurm.phase)) continue;
    lines.push_back(
        {id, slurm.phase, slurm.priority, slurm.reason, slurm.nodes, slurm.partition, slurm.cpus});
  }
  return lines;
}

Result<std::vector<SlurmJob>> FakeSlurm::Jobs(const std::vector<std::int64_t>& ids) {
  if (NextFault() != Fault::kNone) return NoAnswer();
  std::vector<SlurmJob> found;
  for (const auto& [id, job] : jobs_) {
    if (ids.empty() || std::find(ids.begin(), ids.end(), id) != ids.end()) {
      found.push_back(job.slurm);
    }
  }
  return found;
}

Result<std::vector<SlurmJob>> FakeSlurm::Check(const std::vector<std::int64_t>& ids,
                                               const std::vector<std::string>&) {
  return Jobs(ids);
}

Result<std::vector<SlurmNode>> FakeSlurm::Nodes() {
  if (NextFault() != Fault::kNone) return NoAnswer();
  std::vector<SlurmNode> all;
  for (const auto& [name, node] : nodes_) all.push_back(node);
  return all;
}

void FakeSlurm::Purge(std::int64_t id) {
  if (accounts) accounted_[id] = job(id);
  jobs_.erase(id);
}

Result<std::optional<SlurmJob>> FakeSlurm::Accounted(std::int64_t id) {
  if (NextFault() != Fault::kNone) return NoAnswer();
  const auto found = accounted_.find(id);
  return found == accounted_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::vector<engine::SlurmReservation>> FakeSlurm::Reservations() {
  if (NextFault() != Fault::kNone) return NoAnswer();
  return reservations;
}

Result<std::string> FakeSlurm::Control(const std::vector<std::string>& lines) {
  if (lines.empty()) return std::string();
  const Fault fault = NextFault();
  if (fault == Fault::kFails) return NoAnswer();
  std::string complaint;
  const std::size_t most = fault == Fault::kHalf ? lines.size() / 2 : lines.size();
  for (std::size_t i = 0; i < most; ++i) {
    const std::string said = CarryOut(lines[i]);
    if (complaint.empty()) complaint = said;
  }
  if (fault == Fault::kHalf) {  // and of the next one the first field
    const auto words = WordsOf(lines[most]);
    Job* job = words[0] == "update" ? Named(words[1].substr(words[1].find('=') + 1)) : nullptr;
    if (job != nullptr) Update(*job, words, 1);
  }
  if (fault != Fault::kNone) return NoAnswer();
  return complaint;
}

Result<std::string> FakeSlurm::Cancel(const std::vector<std::string>& names) {
  if (names.empty()) return std::string();
  const Fault fault = NextFault();
  if (fault == Fault::kFails) return NoAnswer();
  for (const std::string& name : names) {
    log.push_back("scancel " + name);
    Job* job = Named(name);
    if (job == nullptr) continue;
    if (job->slurm.phase == SlurmPhase::kPending) {
      SetPhase(job->slurm, SlurmPhase::kCancelled, "CANCELLED");
    } else if (job->slurm.phase == SlurmPhase::kRunning) {
      job->leaves = now_ + leaving;
      job->requeues = false;
    }
  }
  if (fault != Fault::kNone) return NoAnswer();
  return std::string();
}

engine::SlurmControlOptions FakeSlurmRunner::Options(FakeSlurm& slurm) {
  engine::SlurmControlOptions options;
  options.model = [](std::string_view name) -> std::optional<engine::KnownGpuModel> {
    if (name != "A" && name != "V100") return std::nullopt;
    return engine::KnownGpuModel{std::string(name), core::GiB(32)};
  };
  options.wall = [&slurm] {
    return 1'000'000 + static_cast<std::int64_t>(slurm.now().value * 1e3);
  };
  options.steps = [&slurm](const std::map<std::int64_t, engine::WatchedRun>& running) {
    std::map<std::int64_t, engine::ToldSteps> told;
    for (const auto& [job, one] : running) {
      if (slurm.steps.contains(job)) told[job] = {slurm.steps.at(job), core::Seconds(0)};
      if (slurm.documents.contains(job))
        told[job].documents = {std::exchange(slurm.documents[job], {})};
      slurm.documents.erase(job);
    }
    return told;
  };
  return options;
}

FakeSlurmRunner::FakeSlurmRunner(FakeSlurm& slurm, bool gpu_numbers)
    : control(slurm,
              [&] {
                engine::SlurmControlOptions options = Options(slurm);
                options.meanwhile = [this] { return CarryOut(); };
                options.reasons = [this] { return std::exchange(reasons_, {}); };
                return options;
              }()),
      slurm_(slurm),
      gpu_numbers_(gpu_numbers),
      listed_at_(slurm.now()) {}

void FakeSlurmRunner::Do(std::function<void()> command) {
  commands_.push_back(std::move(command));
  if (!between) CarryOut();
}

bool FakeSlurmRunner::CarryOut() {
  const auto commands = std::exchange(commands_, {});
  for (const auto& command : commands) command();
  return !commands.empty();
}

void FakeSlurmRunner::Start(const engine::RunRequest& request) {
  engine::RunRequest own = request;
  if (gpu_numbers_) {
    for (core::GivenGpu& gpu : own.gpus) {
      const int number = std::stoi(gpu.uuid.substr(4));
      gpu.uuid = fmt::format("n{}/g{}", number / 2, number % 2);
    }
    own.expected_memory = core::GiB(12);  // two fit
  }
  if (before_start) before_start(own);
  Do([this, own] { control.Start(own); });
  asked_ = true;
}

std::vector<engine::RunRequest> FakeSlurmRunner::Recover() {
  for (;;) {
    if (auto found = control.Recover()) return *found;
  }
}

std::vector<RunEvent> FakeSlurmRunner::Hear(Seconds time) {
  std::vector<RunEvent> all;
  const Seconds until = Now() + time;
  while (Now() < until) {
    std::vector<RunEvent> some;
    Wait(until, some);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

bool FakeSlurmRunner::Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) {
  for (;;) {
    if (list_every && Now() >= listed_at_ + *list_every) {
      listed_at_ = Now();
      Do([this, as_of = Now()] { control.List(as_of); });
    }
    if (until && *until <= Now()) return true;
    if (std::exchange(asked_, false) || Now() >= due_) {
      if (between && Now() < due_) {
        CarryOut();
        due_ = std::min(due_, control.DoNow(Now(), out));
      } else {
        due_ = control.Cycle(Now(), out);
      }
      const auto renumber = [](engine::RunnerNode& node) {
        for (core::GivenGpu& gpu : node.gpus) gpu.uuid = fmt::format("GPU-{}", gpu.index);
      };
      for (RunEvent& event : out) {
        if (!gpu_numbers_) continue;
        if (auto* came = std::get_if<engine::NodeCame>(&event)) renumber(came->node);
        auto* list = std::get_if<engine::RunsListed>(&event);
        for (std::size_t i = 0; list != nullptr && i < list->nodes.size(); ++i) {
          renumber(list->nodes[i]);
        }
      }
      if (!out.empty()) return true;
    }
    const Seconds next = until ? std::min(due_, *until) : due_;
    slurm_.Advance(std::max(next, Now() + Seconds(0.25)));
  }
}

SlurmSide::SlurmSide(int nodes, std::uint64_t seed, double chance_of_fault)
    : slurm(seed), dice_(seed + 17), runner_(slurm, true) {
  for (int i = 0; i < nodes; ++i) slurm.AddNode(fmt::format("n{}", i), 2, "A");
  SHAREWELL_CHECK(runner_.control.Open().has_value());
  slurm.chance_of_fault = chance_of_fault;
  runner_.between = dice_.Chance(0.5);
  runner_.list_every = Seconds(30);
  runner_.before_start = [this](const engine::RunRequest& request) {
    if (slurm.Knows(request.id.job)) return;
    FakeSlurm::Told told;
    told.lasts = Seconds(dice_.LogUniform(1, 200));
    told.exit_code = dice_.Chance(0.2) ? 1 : 0;
    slurm.SubmitAs(request.id.job, static_cast<int>(request.gpus.size()), told, 1);
  };
}

void SlurmSide::NodeGoes(const std::string& name) { slurm.SetNode(name, false, "DOWN"); }

void SlurmSide::NodeComes(const engine::RunnerNode& node) {
  const bool known = [&] {
    const auto nodes = slurm.Nodes();
    return nodes && std::any_of(nodes->begin(), nodes->end(),
                                [&](const SlurmNode& one) { return one.name == node.name; });
  }();
  if (!known) slurm.AddNode(node.name, 2, "A");
  slurm.SetNode(node.name, true, "IDLE");
}

}  // namespace sharewell::fixtures
