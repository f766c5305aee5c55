#include "cli/command.h"
#include "cli/commands/colocate.h"
#include "cli/commands/completion.h"
#include "cli/commands/doctor.h"
#include "cli/commands/evaluate.h"
#include "cli/commands/gpus.h"
#include "cli/commands/import.h"
#include "cli/commands/inspect.h"
#include "cli/commands/monitor.h"
#include "cli/commands/policies.h"
#include "cli/commands/predict.h"
#include "cli/commands/profile.h"
#include "cli/commands/profiles.h"
#include "cli/commands/reproduce.h"
#include "cli/commands/samples.h"
#include "cli/commands/sensitivity.h"
#include "cli/commands/simulate.h"
#include "cli/commands/stress.h"
#include "cli/commands/sweep.h"
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
     "say what a job will need before it ever runs: GPU, memory, speed, cores, neighbours",
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
    {"profile", "run a job under watch and say what it needs, what bounds it and how steady it is",
     "The job's output and exit code are its own; the profile goes to stderr and into the store. "
     "It "
     "is\n"
     "stopped once its figures have settled, unless --for says otherwise. Its speed is told by a "
     "line a\n"
     "step in the file $SHAREWELL_PROGRESS, or by what it prints (--progress-regex, --rate-regex).",
     "sharewell profile -- python3 train.py\n"
     "sharewell profile --name resnet --model resnet50.onnx --batch 64 --for 30s -- python3 "
     "train.py\n"
     "sharewell profile --for end --progress-regex 'step (\\d+)' --out profile.json -- ./train.sh",
     NewProfileCommand},
    {"sweep", "run a grid of commands, and say what each core, batch or GPU is worth",
     "A second start goes on where the first one ended; a cell that is finished is not run again.\n"
     "Exit code 4: some cells failed; the table says why, --retry tries them again.",
     "sharewell sweep zoo/small.toml\n"
     "sharewell sweep zoo/cores.toml --out results --json",
     NewSweepCommand},
    {"colocate", "run jobs together and say what each costs the other: the packing matrix",
     "Each job alone first, then each set; under CUDA MPS where there is a GPU. What it writes is "
     "read by\n"
     "`simulate --interference` and `train --pairs`.",
     "sharewell colocate zoo/packing.toml", NewColocateCommand},
    {"stress", "press on a part of this machine at a level that is calibrated and held",
     "Several pressures may be combined. A share (75%) is of what this machine reaches flat out, "
     "which is\n"
     "measured first. Exit code 4: a level was not held; it says which, and why.",
     "sharewell stress --membw 75% --for 60s\n"
     "sharewell stress --cpu 1.5 --disk 100MB/s --disk-path /data --for 5m --json\n"
     "sharewell stress --pcie 8GB/s --gpu 0 --llc 50%",
     NewStressCommand},
    {"sensitivity", "say what pressure on memory, cache, CPU, PCIe and disk costs a job",
     "The job runs once; pressures come and go beside it, with rests in between, so that drift is "
     "seen.",
     "sharewell sensitivity -- python3 zoo/plain.py\n"
     "sharewell sensitivity --pressures membw --levels 25,50,75,100 --cpus 4 -- python3 train.py",
     NewSensitivityCommand},
    {"monitor", "watch this machine all the time: figures for Prometheus, samples into a store",
     "Serves /metrics and /healthz on loopback; 9400 and 9100 are left to dcgm-exporter and "
     "node_exporter.\n"
     "Ends on SIGTERM or Ctrl-C, after what was read is durable. docs/monitoring.md tells more.",
     "sharewell monitor\n"
     "sharewell monitor --store postgresql://agent@db/metrics --listen 0.0.0.0:10400\n"
     "sharewell monitor --listen none --interval 0.2s --for 10m --store run.db",
     NewMonitorCommand},
    {"doctor", "say what can be watched on this machine, what cannot, and what mends it", "",
     "sharewell doctor\nsharewell doctor --json", NewDoctorCommand},
    {"samples", "list, show, export or delete what `monitor` has stored", "",
     "sharewell samples list 'gpu_*' --from 1h\n"
     "sharewell samples show gpu_busy_ratio --instance 0\n"
     "sharewell samples export 'job_*' --job train --every 1m --out train.csv\n"
     "sharewell samples delete --node old-machine --yes",
     NewSamplesCommand},
    {"profiles", "list, show, compare, export or delete what was measured of jobs",
     "`compare A B` sets two side by side; `compare --by gpu` (or cpu) has each workload on all "
     "GPUs.",
     "sharewell profiles\n"
     "sharewell profiles show resnet50\n"
     "sharewell profiles compare --by gpu\n"
     "sharewell profiles export --csv --out profiles.csv\n"
     "sharewell profiles delete 12 --yes",
     NewProfilesCommand},
    {"import", "take in what Nsight Compute, PyTorch's profiler or an exporter has measured",
     "ncu and kineto: figures of every kernel, stored as a profile. dcgm: one answer of a running\n"
     "dcgm-exporter, node_exporter or `sharewell monitor` (or a file of it), stored as samples.",
     "sharewell import ncu kernels.csv --name resnet50\n"
     "sharewell import kineto trace.json --into resnet50 --json\n"
     "sharewell import dcgm http://localhost:9400/metrics --for 1h --interval 10s",
     NewImportCommand},
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
