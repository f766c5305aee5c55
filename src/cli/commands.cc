#include "cli/command.h"
#include "cli/commands/completion.h"
#include "cli/commands/evaluate.h"
#include "cli/commands/gpus.h"
#include "cli/commands/inspect.h"
#include "cli/commands/policies.h"
#include "cli/commands/predict.h"
#include "cli/commands/reproduce.h"
#include "cli/commands/simulate.h"
#include "cli/commands/train.h"

namespace sharewell::cli {
namespace {

// A command is added by one pair of files in commands/ and one row here.
constexpr CommandEntry kCommands[] = {
    {"inspect", "say what a model costs: arithmetic, memory, layers, and what could not be costed",
     "Reads the graph alone; weights are never read. Layers that an exporter folded away and "
     "training\n"
     "runs (batch normalisation) are put back and marked.",
     "sharewell inspect resnet50.onnx --batch 64 --precision bf16\n"
     "sharewell inspect llama/config.json --batch 4 --bind seq=2048 --optimizer adamw --json",
     NewInspectCommand},
    {"predict",
     "say what a job will need before it has ever run: GPU, memory, speed, cores, neighbours",
     "Each figure comes with its median, the bounds that nine in ten lie between, and its source.\n"
     "With --together: how fast jobs would go side by side on one GPU.",
     "sharewell predict resnet50.onnx --batch 64 --precision bf16 --gpu H200\n"
     "sharewell predict --manifest jobs.csv --json\n"
     "sharewell predict --together pair.csv --gpu H200",
     NewPredictCommand},
    {"train", "learn from your own profiles: one command, one file for `predict --trained`",
     "Rows are profiles (docs/formats/profiles.md) with a column model or onnx that names the "
     "graph.",
     "sharewell train profiles.csv --pairs pairs.csv --out model.json", NewTrainCommand},
    {"evaluate", "say how far predictions are off on workloads that were held out",
     "Each learner learns from a part of the profiles and predicts the rest, whose families it has "
     "never\n"
     "seen unless --split says otherwise. The same profiles give the same figures.",
     "sharewell evaluate data/h200/profiles.csv data/h200/profiles-2.csv\n"
     "sharewell evaluate data/h200/profiles.csv --split random --learner mean --out results\n"
     "sharewell evaluate --timm timm/results",
     NewEvaluateCommand},
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
