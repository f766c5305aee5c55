#include "engine/slurm/control/slurm_submission.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "core/key_digest.h"
#include "core/text/quoted.h"
#include "engine/slurm/control/slurm_cores.h"
#include "engine/slurm/read/slurm_words.h"

namespace sharewell::engine {
namespace {

// Those of a constraint that are models: "v100", "v100|p100", "[v100|p100]&ib".
std::vector<std::string> ModelsIn(std::string_view constraint, const GpuModelNamed& named) {
  std::vector<std::string> models;
  std::string word;
  for (std::size_t i = 0; i <= constraint.size(); ++i) {
    const char c = i < constraint.size() ? constraint[i] : '|';
    if (std::string_view("|&,[]()* ").find(c) == std::string_view::npos) {
      word += c;
      continue;
    }
    const auto model = word.empty() ? std::nullopt : named(word);
    if (model && std::find(models.begin(), models.end(), model->name) == models.end()) {
      models.push_back(model->name);
    }
    word.clear();
  }
  return models;
}

// "0-9%2" -> 2.
std::optional<int> AtOnce(std::string_view tasks) {
  const auto percent = tasks.rfind('%');
  int most = 0;
  if (percent == std::string_view::npos) return std::nullopt;
  const std::string_view text = tasks.substr(percent + 1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), most);
  if (error != std::errc() || most <= 0) return std::nullopt;
  return most;
}

void PutUserWords(const UserWords& words, core::Submission& asked) {
  asked.profile = words.profile;
  asked.max_slowdown = words.max_slowdown;
  if (words.gpu_memory_mib) {
    asked.gpu_memory = core::Bytes(static_cast<double>(*words.gpu_memory_mib) * (1 << 20));
  }
  if (words.sm_percent && asked.gpus == 1) asked.sm_share = *words.sm_percent / 100.0;
  asked.exclusive = asked.exclusive || words.exclusive;
}

}  // namespace

std::optional<UserWords> WordsOf(const SlurmJob& job, const JobNote& note) {
  return ParseUserWords(note.say.empty() ? job.comment : note.say);
}

ForeignJob SubmissionOf(const SlurmJob& job, const JobNote& note, const GpuModelNamed& named) {
  ForeignJob foreign;
  foreign.user = {job.user, job.uid, job.gid, false};
  foreign.submitted = job.submitted.value_or(0);
  core::Submission& asked = foreign.asked;
  asked.name = job.name;
  asked.command = {job.script.empty() ? job.name : job.script};
  // Which script it is as far as Slurm says: nobody reads it. One that has no path, from standard
  // input or --wrap, is known by what it says.
  if (!job.script.empty()) {
    asked.script = core::TextOf(core::DigestOf("slurm " + job.script));
  } else if (!note.ask.script.empty()) {
    asked.command.push_back("script " + note.ask.script);
    asked.script = core::TextOf(core::DigestOf("slurm script " + note.ask.script));
  }
  asked.folder = job.folder;
  asked.project = job.account;  // where there is one of that name
  asked.gpus = note.ask.gpus;
  if (job.cpus > 0) asked.cores = CpusAsked(job, note.ask);
  if (job.memory && job.memory->value > 0) {
    asked.memory = *job.memory * static_cast<double>(std::max(job.nodes_wanted, 1));
  }
  if (!note.ask.model.empty()) {
    const auto model = named(note.ask.model);
    asked.gpu_models = {model ? model->name : note.ask.model};
  } else {
    asked.gpu_models = ModelsIn(job.features, named);
  }
  asked.exclusive = note.ask.exclusive;
  asked.held = note.ask.held;
  asked.time_limit = job.time_limit;
  if (job.array && job.array_task) {
    asked.array = fmt::format("{}_{}", *job.array, *job.array_task);
    asked.array_at_once = AtOnce(job.array_tasks);
  }
  if (!note.ask.gres.empty()) {
    foreign.remark = fmt::format(
        "{} of its request was not understood; ask with --gpus=N or "
        "--gres=gpu:MODEL:N",
        core::Quoted(note.ask.gres));
  }
  if (const auto words = WordsOf(job, note)) {
    PutUserWords(*words, asked);
    if (!words->problem.empty()) foreign.remark = words->problem;
  }
  if (!job.requeue && !asked.exclusive) {
    asked.exclusive = true;  // one that cannot be put back cannot give way either
    if (foreign.remark.empty()) {
      foreign.remark =
          "it has its GPU for itself, as it may not be requeued; submit it without --no-requeue to "
          "let it share";
    }
  }
  return foreign;
}

std::optional<JobNote> NoteOfRequest(const SlurmJob& job) {
  constexpr std::int64_t kMost = 1'000'000;  // as a note may say
  JobNote note;
  std::int64_t gpus = 0;
  for (std::string_view part : SplitAtCommas(job.gres)) {
    const bool of_job = part.starts_with("per_job=");
    if (part.starts_with("per_")) part.remove_prefix(std::min(part.find('='), part.size() - 1) + 1);
    const auto parsed = ParseGres(part);
    if (!parsed) continue;
    for (const SlurmGres& gres : *parsed) {
      if (gres.name != "gpu") continue;
      if (!gres.type.empty() && !gres.type.starts_with('g')) note.ask.model = gres.type;  // no slot
      const int nodes = of_job ? 1 : std::max(job.nodes_wanted, 1);
      gpus = std::min(gpus + gres.count * nodes, kMost);
    }
  }
  if (gpus == 0) return std::nullopt;
  note.ask.gpus = static_cast<int>(gpus);
  return note;
}

// "afterok:19_*(unfulfilled),after:20:21+5,singleton": each clause, separated by ',' (all of them)
// or '?' (one of them).
bool DependencyIsSettled(std::string_view dependency, const SlurmIsThere& is_there) {
  if (dependency.empty() || dependency == "(null)") return true;
  const bool any = dependency.find('?') != std::string_view::npos;
  bool all_settled = true, one_settled = false;
  while (!dependency.empty()) {
    const std::size_t end = std::min(dependency.find_first_of(",?"), dependency.size());
    std::string_view clause = dependency.substr(0, end);
    dependency.remove_prefix(std::min(end + 1, dependency.size()));
    const std::size_t colon = std::min(clause.find(':'), clause.size());
    const bool begins = clause.substr(0, colon) == "after";
    clause.remove_prefix(colon);
    bool settled = true;
    while (!clause.empty()) {
      clause.remove_prefix(1);
      const std::size_t next = std::min(clause.find(':'), clause.size());
      const std::string_view one = clause.substr(0, next);
      clause.remove_prefix(next);
      std::int64_t id = 0, task = 0;
      const char* const stop = one.data() + one.size();
      const auto [rest, error] = std::from_chars(one.data(), stop, id);
      if (error != std::errc()) continue;
      const bool has_task =
          rest != stop && *rest == '_' && std::from_chars(rest + 1, stop, task).ec == std::errc();
      settled = settled && !is_there(id, has_task ? std::optional(task) : std::nullopt, begins);
    }
    all_settled = all_settled && settled;
    one_settled = one_settled || settled;
  }
  return any ? one_settled : all_settled;
}

bool WaitsForUs(const SlurmJob& job, core::UnixMillis now, const SlurmIsThere& is_there) {
  if (!IsHeldJob(job) || (job.eligible && *job.eligible > now)) return false;
  return DependencyIsSettled(job.dependency, is_there);
}

}  // namespace sharewell::engine
