#include "engine/slurm/slurm_submission.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "core/text/quoted.h"

namespace sharewell::engine {
namespace {

// Those of a constraint that are models: "v100", "v100|p100", "[v100|p100]&ib".
std::vector<std::string> ModelsIn(std::string_view constraint, const SlurmModelNamed& named) {
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

ForeignJob SubmissionOf(const SlurmJob& job, const JobNote& note, const SlurmModelNamed& named) {
  ForeignJob foreign;
  foreign.user = {job.user, job.uid, job.gid, false};
  foreign.submitted = job.submitted.value_or(0);
  core::Submission& asked = foreign.asked;
  asked.name = job.name;
  asked.command = {job.script.empty() ? job.name : job.script};
  asked.folder = job.folder;
  asked.gpus = note.ask.gpus;
  if (job.cpus > 0) asked.cores = job.cpus;
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
  if (const auto words = ParseUserWords(job.comment)) {
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

bool WaitsForUs(const SlurmJob& job, core::UnixMillis now) {
  if (!IsHeldJob(job) || (!job.dependency.empty() && job.dependency != "(null)")) return false;
  if (job.reason == "Dependency" || job.reason == "BeginTime") return false;
  return !job.eligible || *job.eligible <= now;
}

}  // namespace sharewell::engine
