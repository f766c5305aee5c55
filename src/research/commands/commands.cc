#include "research/commands/commands.h"

#include "cli/args/completion.h"
#include "cli/simulate/simulate_command.h"
#include "research/optimum/compare.h"
#include "simulation/summary.h"

namespace sharewell::research {
namespace {

// The groups, as `sharewell-lab --help` heads them.
constexpr std::string_view kPapers = "the papers";
constexpr std::string_view kPolicies = "judge policies";
constexpr std::string_view kPredictors = "make and judge predictors";
constexpr std::string_view kShell = "set up your shell";

constexpr cli::CommandEntry kCommands[] = {
    {kPapers, "reproduce", "run the papers' experiments and show their figures beside ours", "",
     "sharewell-lab reproduce yeung\nsharewell-lab reproduce --seeds 5 --json",
     NewReproduceCommand},

    {kPolicies, "simulate", "run a trace of a few jobs and compare policies with the optimum",
     "As `sharewell simulate`, which tells more; beside policies --policy may name optimal and\n"
     "optimal-shared, from which the others get their distances. Their work grows exponentially\n"
     "with the jobs: docs/reproduce.md says how many there may be.",
     "sharewell-lab simulate --trace jobs.csv --cluster 4x1xH200 --policy optimal-shared,pack",
     NewSimulateCommand},

    {kPredictors, "evaluate", "measure how far predictions are off on workloads that were held out",
     "Each learner learns from a part of the profiles and predicts the rest, whose families it "
     "has\n"
     "never seen unless --split says otherwise. With --pairs: how far predicted speeds beside\n"
     "another job are off. The same measurements give the same figures.",
     "sharewell-lab evaluate data/h200/profiles.csv data/h200/profiles-2.csv\n"
     "sharewell-lab evaluate data/h200/profiles.csv --split random --learner mean --out results\n"
     "sharewell-lab evaluate data/h200/profiles.csv --recommend data/h200/cores.csv\n"
     "sharewell-lab evaluate --pairs\n"
     "sharewell-lab evaluate --timm timm/results",
     NewEvaluateCommand},
    {kPredictors, "train", "train a predictor on your own profiles, for `predict --trained`",
     "Rows are profiles (docs/formats/profiles.md) with a column model or onnx that names the "
     "graph.\n"
     "--onto corrects a model by them, as a server does with its own runs: the newest quarter is "
     "held\n"
     "out, and only what is better there is taken.",
     "sharewell-lab train profiles.csv --pairs pairs.csv --out model.json\n"
     "sharewell-lab train runs.csv --onto shipped --next later.csv --out model.json",
     NewTrainCommand},

    {kShell, "completion", "print a completion script for your shell", "",
     "sharewell-lab completion bash > "
     "~/.local/share/bash-completion/completions/sharewell-lab\n"
     "sharewell-lab completion zsh > \"${fpath[1]}/_sharewell_lab\"\n"
     "sharewell-lab completion fish > ~/.config/fish/completions/sharewell-lab.fish",
     NewCompletionCommand},
};

constexpr cli::Program kProgram = {
    "sharewell-lab",
    "Sharewell's laboratory: the papers' experiments, optima, and predictors that are made and "
    "judged.",
    kCommands,
    {}};

}  // namespace

const cli::Program& LabProgram() { return kProgram; }

std::unique_ptr<cli::Command> NewSimulateCommand() {
  return cli::NewSimulate(CompareWithOptima, simulation::kOptima);
}
std::unique_ptr<cli::Command> NewCompletionCommand() { return cli::NewCompletionOf(kProgram); }

}  // namespace sharewell::research
