#include "cli/command.h"
#include "cli/commands/completion.h"
#include "cli/commands/gpus.h"
#include "cli/commands/policies.h"
#include "cli/commands/reproduce.h"
#include "cli/commands/simulate.h"

namespace sharewell::cli {
namespace {

// A command is added by one pair of files in commands/ and one row here.
constexpr CommandEntry kCommands[] = {
    {"simulate", "run a trace of jobs through policies and compare what comes of it",
     "Every policy sees the same jobs on the same machines. The world runs on what was measured; "
     "the\n"
     "policy is told what a predictor would tell it, errors included (--belief, --durations).\n"
     "Without --profiles and --interference it uses what we measured on an H200.",
     "sharewell simulate --trace examples/day.csv --cluster examples/cluster.toml\n"
     "sharewell simulate --trace jobs.csv --cluster 64x8xV100 --policy slot,srtf+pack --json\n"
     "sharewell simulate --trace jobs.csv --cluster 2x4xH200 --until 3d --out results",
     NewSimulateCommand},
    {"reproduce", "run the papers' own experiments: their figures and ours side by side", "",
     "sharewell reproduce yeung\nsharewell reproduce --seeds 5 --json", NewReproduceCommand},
    {"policies", "list the policies, and the parts that they are made of",
     "A policy is a name, or an order, a placement and a sizing joined by '+': srtf+pack+slim.",
     "sharewell policies", NewPoliciesCommand},
    {"gpus", "list the GPU models that are known", "", "sharewell gpus --gpu-catalogue ours.csv",
     NewGpusCommand},
    {"completion", "print a completion script for your shell", "",
     "sharewell completion bash > ~/.local/share/bash-completion/completions/sharewell\n"
     "sharewell completion zsh > \"${fpath[1]}/_sharewell\"\n"
     "sharewell completion fish > ~/.config/fish/completions/sharewell.fish",
     NewCompletionCommand},
};

}  // namespace

std::span<const CommandEntry> Commands() { return kCommands; }

}  // namespace sharewell::cli
