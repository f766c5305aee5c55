#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "cli/args/values.h"
#include "cli/commands/commands.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "engine/slurm/control/job_note.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;

constexpr std::uint64_t kMostSlurmGpus = 4096;
// What would give the job GPUs of Slurm's own choice, or a comment of its own.
constexpr std::array<std::string_view, 9> kOurs = {
    "--gres",          "--gpus",          "-G",
    "--gpus-per-node", "--gpus-per-task", "--gpus-per-socket",
    "--tres-per-task", "--comment",       "--gres-flags"};

bool IsOurs(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  return std::find(kOurs.begin(), kOurs.end(), name) != kOurs.end() ||
         (name.starts_with("-G") && !name.starts_with("--"));
}

// The first line of the script that asks for GPUs; empty: none does.
std::string AskInScript(const std::string& path) {
  std::ifstream script(path);
  std::string line;
  for (int i = 0; i < 1000 && std::getline(script, line); ++i) {
    if (!line.starts_with("#SBATCH")) continue;
    std::string word;
    for (const char c : line + " ") {
      if (c != ' ' && c != '\t') {
        word += c;
        continue;
      }
      if (IsOurs(word)) return line;
      word.clear();
    }
  }
  return {};
}

// A job of one's own that `sharewell serve --engine slurm --mode user` places: held, without GPUs,
// with a note of what it asks for.
class SbatchCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    const auto text = [&](const char* flag, std::string& to, const char* type, const char* help) {
      app.add_option(flag, to, help)->type_name(type);
    };
    text("--gpus", gpus_, "N", "number of GPUs it runs on (default 1)");
    text("--gpu-model", gpu_model_, "M", "run it only on GPUs of this model");
    app.add_flag("--exclusive", exclusive_, "share its GPUs with nobody")->disable_flag_override();
    text("--model", model_, "FILE", "predict what it needs from this model file");
    text("--batch", batch_, "N", "with --model: batch size");
    text("--precision", precision_, "P", "with --model: fp32, fp16 or bf16");
    text("--profile", profile_, "NAME",
         "take what it needs from this profile in the server's store");
    text("--gpu-memory", gpu_memory_, "SIZE", "GPU memory that it may use on each GPU: 10GB");
    text("--max-slowdown", max_slowdown_, "X", "maximum slowdown by neighbours: 1.25");
    text("--sm-share", sm_share_, "P%", "use at most this share of its GPU's SMs: 60%");
  }
  std::vector<std::string>* CommandLine() override { return &sbatch_; }

  Result<ExitCode> Run() override {
    if (sbatch_.empty()) {
      return UsageError(
          "sbatch: what sbatch is to be given is missing; write it after --: sharewell sbatch "
          "--gpus "
          "1 -- -c 4 train.sh");
    }
    for (const std::string& word : sbatch_) {
      if (!IsOurs(word)) continue;
      return UsageError(
          "sbatch: {} cannot stand after --: GPUs are asked for with --gpus N before it, and the "
          "comment holds what Sharewell writes",
          core::Quoted(word));
    }
    for (const std::string& word : sbatch_) {
      if (word.starts_with('-')) continue;
      const std::string line = AskInScript(word);
      if (line.empty()) continue;
      return UsageError(
          "sbatch: {} has the line {}, which Sharewell cannot change; take it out, and give --gpus "
          "N before --",
          core::Quoted(word), core::Quoted(line));
    }
    const auto note = Note();
    RETURN_IF_ERROR(note);
    std::vector<std::string> words = {"sbatch", "--hold", "--comment=" + *note};
    words.insert(words.end(), sbatch_.begin(), sbatch_.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execvp("sbatch", argv.data());
    return tl::unexpected(core::Error{
        core::ErrorKind::kAbsent,
        fmt::format("sbatch cannot be run: {}; is this a machine that submits to Slurm?",
                    std::strerror(errno))});
  }

 private:
  Result<std::string> Note() const {
    engine::JobNote note;
    const auto gpus = ParseWhole("--gpus", gpus_, 0, kMostSlurmGpus);
    RETURN_IF_ERROR(gpus);
    note.ask.gpus = static_cast<int>(*gpus);
    note.ask.model = gpu_model_;
    note.ask.exclusive = exclusive_;
    note.say = "sharewell";
    const std::array<std::pair<const char*, const std::string*>, 7> said = {
        {{"model", &model_},
         {"batch", &batch_},
         {"precision", &precision_},
         {"profile", &profile_},
         {"gpu_memory", &gpu_memory_},
         {"max_slowdown", &max_slowdown_},
         {"sm_share", &sm_share_}}};
    for (const auto& [key, value] : said) {
      if (value->empty()) continue;
      if (value->find_first_of(" \t\n\"'") != std::string::npos) {
        return UsageError("--{}: {} has blanks or quotes in it, which a comment cannot hold", key,
                          core::Quoted(*value));
      }
      note.say += fmt::format(" {}={}", key, *value);
    }
    if (model_.empty() && (!batch_.empty() || !precision_.empty())) {
      return UsageError("sbatch: --batch and --precision say how --model FILE is run; give it too");
    }
    const auto words = engine::ParseUserWords(note.say);
    if (words && !words->problem.empty()) return UsageError("sbatch: {}", words->problem);
    if (note.say == "sharewell") note.say.clear();
    return engine::FormatJobNote(note);
  }

  std::vector<std::string> sbatch_;
  std::string gpus_ = "1", gpu_model_, model_, batch_, precision_, profile_, gpu_memory_,
              max_slowdown_, sm_share_;
  bool exclusive_ = false;
};

}  // namespace

std::unique_ptr<Command> NewSbatchCommand() { return std::make_unique<SbatchCommand>(); }

}  // namespace sharewell::cli
