#include "cli/args/command.h"
#include "cli/commands/completion.h"
#include "cli/commands/jobs/act.h"
#include "cli/commands/jobs/drain.h"
#include "cli/commands/jobs/job.h"
#include "cli/commands/jobs/jobs.h"
#include "cli/commands/jobs/logs.h"
#include "cli/commands/jobs/serve.h"
#include "cli/commands/jobs/submit.h"
#include "cli/commands/jobs/token.h"
#include "cli/commands/jobs/top.h"
#include "cli/commands/jobs/why.h"
#include "cli/commands/measure/colocate.h"
#include "cli/commands/measure/doctor.h"
#include "cli/commands/measure/import.h"
#include "cli/commands/measure/monitor.h"
#include "cli/commands/measure/profile.h"
#include "cli/commands/measure/profiles.h"
#include "cli/commands/measure/samples.h"
#include "cli/commands/measure/sensitivity.h"
#include "cli/commands/measure/stress.h"
#include "cli/commands/measure/sweep.h"
#include "cli/commands/predict/evaluate.h"
#include "cli/commands/predict/inspect.h"
#include "cli/commands/predict/predict.h"
#include "cli/commands/predict/train.h"
#include "cli/commands/simulate/gpus.h"
#include "cli/commands/simulate/policies.h"
#include "cli/commands/simulate/reproduce.h"
#include "cli/commands/simulate/simulate.h"
#include "cli/commands/simulate/whatif.h"

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
    {"serve", "turn this machine into one that shares well: a queue, a scheduler and an API",
     "Runs what `sharewell submit` hands it, several jobs on a GPU where they get on. Jobs outlive "
     "the\n"
     "server, and are found again by the next one. docs/serving.md tells more.",
     "sharewell serve\n"
     "sharewell serve --gpus 2xH200 --store try.db --socket try.sock\n"
     "sharewell serve --listen 0.0.0.0:10401 --tls-cert cert.pem --tls-key key.pem --admin-group "
     "gpu",
     NewServeCommand},
    {"submit", "hand a command to the server: it runs where and when it shares well",
     "Answers at once with the job's number, what it is believed to need and from where, and where "
     "it\n"
     "runs or when it should start. It starts in this folder, with PATH and a few more variables "
     "of this\n"
     "shell (docs/serving.md lists them). An array is a sweep: one job for each value, or for each "
     "cell "
     "of\n"
     "a grid. With --wait the exit code is the job's; Ctrl-C then leaves it running.",
     "sharewell submit -- python3 train.py\n"
     "sharewell submit --model resnet50.onnx --batch 64 --precision bf16 -- python3 train.py\n"
     "sharewell submit --gpus 0 --cpus 2 --time 1h --after 17 -- ./evaluate.sh\n"
     "sharewell submit --array lr=0.1,0.01 --array seed=0-4 -- python3 train.py --lr {lr} --seed "
     "{seed}\n"
     "sharewell submit --dry-run --gpu-memory 20GB -- python3 train.py",
     NewSubmitCommand},
    {"jobs", "list what runs and waits, where, beside whom and why",
     "The last five that ended in the last ten minutes are shown too, --all shows every one.",
     "sharewell jobs -w\nsharewell jobs --all --user ann --json", NewJobsCommand},
    {"job", "say everything that is known of one job: what was believed, what came of it", "",
     "sharewell job 17\nsharewell job 17 --json", NewJobCommand},
    {"why", "say why a job waits, or why it was put where it is and beside whom", "",
     "sharewell why 17", NewWhyCommand},
    {"logs", "print what a job has written, as it wrote it",
     "Its stdout goes to stdout and its stderr to stderr. -f goes on until the job is over.",
     "sharewell logs -f 17\nsharewell logs 17 --err --tail 20", NewLogsCommand},
    {"cancel", "end jobs, or take them out of the queue",
     "A job that runs gets SIGTERM first. Exit code 4: some could not be cancelled.",
     "sharewell cancel 17 18\nsharewell cancel 71-370", NewCancelCommand},
    {"hold", "keep waiting jobs from starting", "Exit code 4: some could not be held.",
     "sharewell hold 17", NewHoldCommand},
    {"release", "let held jobs start", "Exit code 4: some could not be released.",
     "sharewell release 17", NewReleaseCommand},
    {"top", "show the GPUs, who is on them and how well they share",
     "speed: a job's rate over its rate alone. together: the sum of them; above 1 sharing pays.",
     "sharewell top -w", NewTopCommand},
    {"drain", "give a GPU no new jobs; what runs there ends by itself",
     "For admins; it stays so when the server is started again.",
     "sharewell drain 0\nsharewell drain 0 --undo", NewDrainCommand},
    {"token", "make, list or revoke what lets programs in where the kernel cannot say who calls",
     "For HTTP over TCP (docs/api.md). The secret is printed once; the server keeps its SHA-256. "
     "To "
     "make\n"
     "one takes being whom the server runs as, or root; a revoked one is refused from then on.",
     "sharewell token create --label dashboard > token\n"
     "sharewell token list\n"
     "sharewell token revoke 1f0c4a9e",
     NewTokenCommand},
    {"whatif", "play this server's own history and queue under other policies",
     "In the simulator, with what was measured of the jobs (docs/simulator.md).",
     "sharewell whatif --policy slot,sharewell --days 30", NewWhatIfCommand},
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
