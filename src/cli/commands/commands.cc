#include "cli/commands/commands.h"

#include "cli/args/completion.h"
#include "cli/simulate/simulate_command.h"
#include "simulation/simulate.h"

namespace sharewell::cli {
namespace {

// The groups, as `sharewell --help` heads them.
constexpr std::string_view kJobs = "run jobs on a shared machine";
constexpr std::string_view kMeasure = "measure jobs and machines";
constexpr std::string_view kPredict = "predict what jobs need";
constexpr std::string_view kSimulate = "simulate policies";
constexpr std::string_view kReport = "make reports";
constexpr std::string_view kShell = "set up your shell";

// A command is added by one file in its room, one line in commands.h and one row here.
constexpr CommandEntry kCommands[] = {
    {kJobs, "submit", "submit a command to the server, which starts it where it shares well",
     "Prints at once the job's number, what it is expected to need (and how this is known), and\n"
     "where it runs or when it should start. The job starts in this folder, with PATH and a few\n"
     "more variables of this shell (docs/serving.md lists them). An array makes one job for each\n"
     "value, or for each cell of a grid. With --wait the exit code is the job's; Ctrl-C then "
     "leaves\n"
     "the job running.",
     "sharewell submit -- python3 train.py\n"
     "sharewell submit --model resnet50.onnx --batch 64 --precision bf16 -- python3 train.py\n"
     "sharewell submit --gpus 0 --cpus 2 --time 1h --after 17 -- ./evaluate.sh\n"
     "sharewell submit --array lr=0.1,0.01 --array seed=0-4 -- python3 train.py --lr {lr} --seed "
     "{seed}\n"
     "sharewell submit --sm-share 60% -- python3 train.py\n"
     "sharewell submit --dry-run --gpu-memory 20GB -- python3 train.py",
     NewSubmitCommand},
    {kJobs, "run", "run a command at this terminal, on a GPU of the server",
     "An interactive job: the command gets a terminal of its own, which is this one as long as it\n"
     "runs. Where it has to wait, this says why and when it should start; Ctrl-C then takes it "
     "out\n"
     "of the queue. The job ends when this terminal is closed. The exit code is the command's.\n"
     "Input may be a pipe too. The server must run on this machine.",
     "sharewell run -- bash\n"
     "sharewell run --gpus 2 --time 2h -- python3\n"
     "sharewell run --gpus 0 --cpus 2 -- make < /dev/null",
     NewRunCommand},
    {kJobs, "jobs", "list running and waiting jobs",
     "Each line says where the job runs and beside which others, or why it waits. The last five\n"
     "jobs that ended in the last ten minutes are listed too; --all lists every job that ended.",
     "sharewell jobs -w\nsharewell jobs --all --user ann --json", NewJobsCommand},
    {kJobs, "job", "show everything that is known about one job",
     "Shows what was expected of the job, what it was measured to need, and how it ended.",
     "sharewell job 17\nsharewell job 17 --json", NewJobCommand},
    {kJobs, "why", "explain why a job waits, or why it runs where it runs", "", "sharewell why 17",
     NewWhyCommand},
    {kJobs, "logs", "print the output of a job",
     "The job's stdout goes to stdout and its stderr to stderr. -f follows it until the job ends.",
     "sharewell logs -f 17\nsharewell logs 17 --err --tail 20", NewLogsCommand},
    {kJobs, "cancel", "cancel waiting jobs, and stop running ones",
     "A running job gets SIGTERM first. Exit code 4: some jobs could not be cancelled.",
     "sharewell cancel 17 18\nsharewell cancel 71-370", NewCancelCommand},
    {kJobs, "hold", "keep waiting jobs from starting", "Exit code 4: some jobs could not be held.",
     "sharewell hold 17", NewHoldCommand},
    {kJobs, "release", "let held jobs start", "Exit code 4: some jobs could not be released.",
     "sharewell release 17", NewReleaseCommand},
    {kJobs, "pause", "pause running jobs, and keep their work",
     "Moves what a job has in GPU memory to host memory and gives its GPUs to others, without the\n"
     "job's help. It goes on with `sharewell resume`, on the same GPUs. Only jobs that are alone "
     "on\n"
     "their GPUs (--exclusive, or a policy without sharing) can be paused: docs/pause.md.\n"
     "Exit code 4: some jobs could not be paused.",
     "sharewell pause 17", NewPauseCommand},
    {kJobs, "resume", "let paused jobs go on as soon as their GPUs are free",
     "Exit code 4: some jobs could not be resumed.", "sharewell resume 17", NewResumeCommand},
    {kJobs, "top", "show the GPUs, the jobs on them and how well they share",
     "speed: a job's rate divided by its rate alone. together: the sum of the speeds on a GPU;\n"
     "above 1, sharing pays.",
     "sharewell top -w", NewTopCommand},
    {kJobs, "limits", "show what you may take of the server, and how much is left",
     "used and left are - where the server does not count them here. An admin sets the limits in\n"
     "sharewell.toml (docs/formats/settings.md), and may ask for those of others.",
     "sharewell limits\nsharewell limits --user ann --json", NewLimitsCommand},
    {kJobs, "usage", "show who held the GPUs, how busy they were kept, and what it cost",
     "An hour in which several jobs share a GPU is split evenly among them, so that the sum is "
     "hours\n"
     "of GPUs. Busy is - where it is not known, cost where the GPU has no price: an admin sets\n"
     "prices in sharewell.toml (docs/formats/settings.md).",
     "sharewell usage\n"
     "sharewell usage --by gpu --from 30d\n"
     "sharewell usage --from 2026-10-01 --to 2026-11-01 --csv > october.csv",
     NewUsageCommand},
    {kJobs, "drain", "give a GPU no new jobs, and let its running jobs finish",
     "For admins. The GPU stays drained when the server is started again.",
     "sharewell drain 0\nsharewell drain 0 --undo", NewDrainCommand},
    {kJobs, "serve", "start the server of this machine: a queue, a scheduler and an API",
     "Runs the jobs that `sharewell submit` sends, several on one GPU where they share it well.\n"
     "Jobs keep running when the server stops, and the next server finds them again.\n"
     "docs/serving.md tells more.",
     "sharewell serve\n"
     "sharewell serve --gpus 2xH200 --store try.db --socket try.sock\n"
     "sharewell serve --listen 0.0.0.0:10401 --tls-cert cert.pem --tls-key key.pem --admin-group "
     "gpu\n"
     "sharewell serve --engine slurm --partition gpu\n"
     "sharewell serve --engine kubernetes --kubeconfig ~/.kube/config",
     NewServeCommand},
    {kJobs, "demo", "show in two minutes how jobs share GPUs, on a server with simulated ones",
     "Starts a server in a temporary folder with two simulated GPUs and twelve stand-ins for "
     "training\n"
     "jobs, prints the dashboard's address, and tells what happens and which command shows it.\n"
     "Ctrl-C ends the server and its jobs and removes the folder. Nothing else is touched.",
     "sharewell demo\nsharewell demo --for 30s", NewDemoCommand},
    {kJobs, "dashboard", "print a link that opens the dashboard and signs you in",
     "The link works once, within ten minutes, and only for you. In the dashboard you then read "
     "your\n"
     "logs, submit, cancel and predict. Needs the server's socket on this machine; elsewhere give "
     "the\n"
     "dashboard a token (`sharewell token create`).",
     "sharewell dashboard", NewDashboardCommand},
    {kJobs, "sbatch", "submit a job to Slurm that your own Sharewell places",
     "For `sharewell serve --engine slurm --mode user`, which needs no admin rights: the job is "
     "held in\n"
     "Slurm's queue until it is placed. What stands after -- goes to sbatch. Where an admin runs\n"
     "Sharewell for the whole cluster, plain sbatch does.",
     "sharewell sbatch -- -c 4 train.sh\n"
     "sharewell sbatch --gpus 2 --model resnet50.onnx --batch 64 -- -c 8 --time 2:00:00 train.sh",
     NewSbatchCommand},
    {kJobs, "token", "create, list or revoke access tokens for HTTP over TCP",
     "On the Unix socket the kernel says who calls; over TCP a token does (docs/api.md). Your own\n"
     "tokens are made by the server. Root, or the user that the server runs as, can also make "
     "them\n"
     "for others and for admins, in the server's folder (--state). The secret is printed once; "
     "the\n"
     "server keeps its SHA-256. A revoked token is refused from then on.",
     "sharewell token create --label dashboard > token\n"
     "sharewell token list\n"
     "sharewell token revoke 1f0c4a9e\n"
     "sharewell token create --state /var/lib/sharewell --user ann --admin > token",
     NewTokenCommand},
    {kJobs, "slurm", "check a Slurm cluster, print what has to be added to it, or preview the gain",
     "install prints a shell script for this cluster as it is found: what is added to slurm.conf\n"
     "and gres.conf, the plugin that holds jobs, the nodes' scripts and the watchdog. It says "
     "what\n"
     "each line changes; with --undo the script takes all of it back. Nothing is changed until an\n"
     "admin runs it. check says what is missing, wrong, or would make Slurm die, with the command\n"
     "that mends it; exit code 1: something is. preview simulates the last days of sacct on the\n"
     "cluster as it is, and says what would have changed. docs/slurm.md tells more.",
     "sharewell slurm check\n"
     "sharewell slurm preview --partition gpu\n"
     "sharewell slurm check --partition gpu --json\n"
     "sharewell slurm install --print --partition gpu > install.sh",
     NewSlurmCommand},
    {kJobs, "kubernetes", "add to pods what they need, by hand or as a webhook; publish GPUs",
     "inject reads pods as YAML or JSON from its input, or what has a pod template (Deployment,\n"
     "Job, CronJob and the like), and prints them with spec.schedulerName and with the "
     "environment\n"
     "variables of every container that tell it its GPU, its share, its memory limit and its\n"
     "priority there. Nothing else is changed. With --model what the pods need is predicted here,\n"
     "for the batch, precision and GPU model that their annotations name. webhook does the same "
     "in\n"
     "the cluster to pods that ask by the label sharewell.io/share: \"true\"\n"
     "(deploy/kubernetes/webhook). publish-gpus reads this machine's GPUs and writes them into "
     "the\n"
     "annotation sharewell.io/gpus of its node, where `sharewell serve --engine kubernetes` reads\n"
     "them; run it again after GPUs were added or taken out. docs/kubernetes.md tells more.",
     "sharewell kubernetes inject < pod.yaml | kubectl apply -f -\n"
     "sharewell kubernetes inject --model resnet50.onnx < pod.yaml\n"
     "sharewell kubernetes publish-gpus --print\n"
     "sharewell kubernetes publish-gpus --node n1 --kubeconfig ~/.kube/config",
     NewKubernetesCommand},

    {kMeasure, "doctor", "check what can be measured on this machine, and how to fix what cannot",
     "",
     "sharewell doctor\nsharewell doctor --json\nsharewell doctor --calibrate\n"
     "sudo sharewell doctor --security",
     NewDoctorCommand},
    {kMeasure, "profile", "run a job and measure what it needs and what limits its speed",
     "The job keeps its own output and exit code; the profile goes to stderr and into the store. "
     "The\n"
     "job is stopped once its figures have settled, unless --for says otherwise. A job tells its\n"
     "speed by writing a line for each step to the file $SHAREWELL_PROGRESS, or by what it prints\n"
     "(--progress-regex, --rate-regex).",
     "sharewell profile -- python3 train.py\n"
     "sharewell profile --name resnet --model resnet50.onnx --batch 64 --for 30s -- python3 "
     "train.py\n"
     "sharewell profile --for end --progress-regex 'step (\\d+)' --out profile.json -- ./train.sh",
     NewProfileCommand},
    {kMeasure, "profiles", "list, show, compare, export, plot or delete stored profiles",
     "`compare A B` shows two profiles side by side; `compare --by gpu` (or cpu) shows each "
     "workload\n"
     "on all GPUs.",
     "sharewell profiles\n"
     "sharewell profiles show resnet50\n"
     "sharewell profiles compare --by gpu\n"
     "sharewell profiles export --csv --out profiles.csv\n"
     "sharewell profiles delete 12 --yes",
     NewProfilesCommand},
    {kMeasure, "sweep", "run a grid of commands and measure what each core, batch or GPU gains",
     "A second run continues where the first one ended; a finished cell is not run again.\n"
     "Exit code 4: some cells failed; the table says why, --retry runs them again.",
     "sharewell sweep zoo/small.toml\n"
     "sharewell sweep zoo/cores.toml --out results --json",
     NewSweepCommand},
    {kMeasure, "colocate", "run jobs together and measure how much each slows the others",
     "Runs each job alone first, then each set, under CUDA MPS where there is a GPU. `simulate\n"
     "--interference` and `train --pairs` read the results.",
     "sharewell colocate zoo/packing.toml", NewColocateCommand},
    {kMeasure, "sensitivity",
     "measure how pressure on memory, cache, CPU, PCIe and disk slows a job",
     "The job runs once. Pressures come and go beside it, with rests in between, so that drift is\n"
     "seen.",
     "sharewell sensitivity -- python3 zoo/plain.py\n"
     "sharewell sensitivity --pressures membw --levels 25,50,75,100 --cpus 4 -- python3 train.py",
     NewSensitivityCommand},
    {kMeasure, "monitor", "sample this machine, for Prometheus and into a store",
     "Serves /metrics and /healthz on loopback; ports 9400 and 9100 are left to dcgm-exporter and\n"
     "node_exporter. SIGTERM or Ctrl-C ends it, after all samples are stored. docs/monitoring.md\n"
     "tells more.",
     "sharewell monitor\n"
     "sharewell monitor --store postgresql://agent@db/metrics --listen 0.0.0.0:10400\n"
     "sharewell monitor --listen none --interval 0.2s --for 10m --store run.db",
     NewMonitorCommand},
    {kMeasure, "samples", "list, show, export or delete the samples that `monitor` stored", "",
     "sharewell samples list 'gpu_*' --from 1h\n"
     "sharewell samples show gpu_busy_ratio --instance 0\n"
     "sharewell samples export 'job_*' --job train --every 1m --out train.csv\n"
     "sharewell samples delete --node old-machine --yes",
     NewSamplesCommand},
    {kMeasure, "import", "import measurements of Nsight Compute, PyTorch's profiler or an exporter",
     "ncu and kineto: the figures of every kernel, stored as a profile. dcgm: the answer of a "
     "running\n"
     "dcgm-exporter, node_exporter or `sharewell monitor` (or a file of it), stored as samples.",
     "sharewell import ncu kernels.csv --name resnet50\n"
     "sharewell import kineto trace.json --into resnet50 --json\n"
     "sharewell import dcgm http://localhost:9400/metrics --for 1h --interval 10s",
     NewImportCommand},
    {kMeasure, "measure", "measure what this GPU takes for single operators, through PyTorch",
     "Runs some thousands of operators with the shapes of real models, forward and backward, with "
     "the\n"
     "PyTorch of the python3 in PATH, and keeps the seconds of their kernels in a table\n"
     "(docs/formats/operators.md), which `sharewell-lab train --operators` learns from. The most "
     "valuable\n"
     "come first. A second run goes on where the first one ended. Exit code 3: there is no PyTorch "
     "or\n"
     "no GPU.",
     "sharewell measure operators\n"
     "sharewell measure operators --gpu 1 --seconds 120 --out a100.csv",
     NewMeasureCommand},
    {kMeasure, "stress", "put a calibrated, steady load on a part of this machine",
     "Several pressures can be combined. A share (75%) is a share of the most that this machine\n"
     "reaches, which is measured first. Exit code 4: a level was not held; the output says which,\n"
     "and why.",
     "sharewell stress --membw 75% --for 60s\n"
     "sharewell stress --cpu 1.5 --disk 100MB/s --disk-path /data --for 5m --json\n"
     "sharewell stress --pcie 8GB/s --gpu 0 --llc 50%",
     NewStressCommand},

    {kMeasure, "stand-in", "pretend to train: report steps, and be slowed by other stand-ins",
     "For demos and tests on simulated GPUs: a job that computes nothing. With --loads it goes as\n"
     "fast as the interference model has it beside the other stand-ins on its GPU.",
     "sharewell stand-in --rate 20 --steps 600\n"
     "sharewell submit -- sharewell stand-in --rate 20",
     NewStandInCommand},

    {kPredict, "predict", "predict what a job needs before it runs: GPU, memory, speed, cores",
     "Prints each figure with its median, the bounds that nine in ten lie between, and its "
     "source.\n"
     "With --together: how fast jobs would run side by side on one GPU.",
     "sharewell predict resnet50.onnx --batch 64 --precision bf16 --gpu H200\n"
     "sharewell predict --manifest jobs.csv --json\n"
     "sharewell predict --together pair.csv --gpu H200",
     NewPredictCommand},
    {kPredict, "recommend",
     "recommend GPU model, precision, batch, loader workers, cores and sharing",
     "Takes what was measured of the workload first (--measured, data/h200), then predictions "
     "from\n"
     "its graph. Each choice comes with its source and reason, each figure with bounds. Prices "
     "are\n"
     "yours: without --price, costs are unknown (docs/recommend.md).",
     "sharewell recommend resnet50.onnx --gpu H200,A100\n"
     "sharewell recommend resnet50.onnx --for cost --price H200=3.5,A100=1.8 --core-price 0.03\n"
     "sharewell recommend bert/config.json --bind seq=128 --optimizer adamw --batch 32 --json\n"
     "sharewell recommend net.onnx --measured sweep/cells.csv --workload net --for energy",
     NewRecommendCommand},
    {kPredict, "inspect", "show what a model costs: arithmetic, memory and layers",
     "Reads the graph alone, never the weights, and lists what could not be costed. Layers that "
     "an\n"
     "exporter folded away although training runs them (batch normalisation) are put back and "
     "marked.",
     "sharewell inspect resnet50.onnx --batch 64 --precision bf16\n"
     "sharewell inspect llama/config.json --batch 4 --bind seq=2048 --optimizer adamw --json",
     NewInspectCommand},
    {kPredict, "watch", "run a training command until it has told one of its steps",
     "Runs the command with a watcher in its Python, which tells every operator of one training "
     "step\n"
     "with its shapes, and how the loop is written: batch, optimizer, precision, loader workers,\n"
     "compiled or not. Nothing in the command has to be changed. The told step is a model file "
     "like\n"
     "any other, for `predict`, `inspect` and `submit --model`. Needs no server, and no GPU: a "
     "command\n"
     "that trains on the CPU tells the same operators. docs/formats/told-step.md tells more.",
     "sharewell watch -- python3 train.py\n"
     "sharewell watch --steps 20 --out resnet.json -- python3 train.py --batch 64\n"
     "sharewell predict step.json --gpu H200",
     NewWatchCommand},
    {kPredict, "predictor", "show which predictor the server uses, and how good it is",
     "A server learns from its jobs that name a model: it trains when enough runs are new, judges "
     "on\n"
     "runs that were held out, and takes only what is better. --use goes back to the shipped one, "
     "or\n"
     "to what was trained here (for admins). docs/prediction.md tells more.",
     "sharewell predictor\nsharewell predictor --json\nsharewell predictor --use shipped",
     NewPredictorCommand},

    {kSimulate, "simulate", "run a trace of jobs through policies and compare the results",
     "Every policy sees the same jobs on the same machines. The simulated world runs on "
     "measurements;\n"
     "the policy is told what a predictor would tell it, errors included (--belief, "
     "--durations).\n"
     "Without --profiles and --interference it uses what we measured on an H200.",
     "sharewell simulate --trace examples/day.csv --cluster examples/cluster.toml\n"
     "sharewell simulate --trace jobs.csv --cluster 64x8xV100 --policy slot,srtf+pack --json\n"
     "sharewell simulate --trace jobs.csv --cluster 2x4xH200 --until 3d --out results",
     NewSimulateCommand},
    {kSimulate, "whatif", "simulate this server's own history and queue under other policies",
     "Uses what was measured of the jobs (docs/simulator.md). With --trace and --cluster no server "
     "is\n"
     "asked: a site's own history is simulated before anything is switched on, the first policy\n"
     "standing for what is done today, and who gains and who loses is told "
     "(docs/formats/sacct.md).\n"
     "Exit code 4: some jobs did not finish, as the cluster cannot hold them.",
     "sharewell whatif --policy slot,sharewell --days 30\n"
     "sharewell whatif --trace trace.csv --cluster cluster.toml",
     NewWhatIfCommand},
    {kSimulate, "trace", "import a Slurm or Kubernetes site's own history as a trace",
     "Reads what sacct prints, or asks it (--since), or what kubectl prints of pods. What is not "
     "known,\n"
     "and what is assumed, is said on stderr and at the top of the trace (docs/formats/sacct.md,\n"
     "docs/formats/kubernetes-pods.md).",
     "sharewell trace import sacct --since 2026-01-01 --partition gpu --out trace.csv\n"
     "sharewell trace import sacct history.txt --out trace.csv\n"
     "sharewell trace import kubernetes pods.json --out trace.csv",
     NewTraceCommand},
    {kSimulate, "policies", "list the policies and the parts that they are made of",
     "A policy is a name, or an order, a placement and a sizing joined by '+': srtf+pack+slim.",
     "sharewell policies", NewPoliciesCommand},
    {kSimulate, "gpus", "list the GPU models that are known", "",
     "sharewell gpus --gpu-catalogue ours.csv", NewGpusCommand},

    {kReport, "report", "write a page with charts: a job, a profile, a simulation, a week",
     "One HTML file that needs nothing else: it opens without a network, has no scripts, and "
     "prints.\n"
     "Each chart has a link to its data as CSV. Without --out it is written into this folder, as\n"
     "report-KIND-NAME.html. job and week ask the server; job, profile and compare read samples "
     "from\n"
     "the store. docs/reports.md says what is in each.",
     "sharewell report job 17\n"
     "sharewell report profile resnet50\n"
     "sharewell report compare 12 15 --out compared.html\n"
     "sharewell report simulation results\n"
     "sharewell report sweep cores-sweep\n"
     "sharewell report week --days 7 --out week.html",
     NewReportCommand},

    {kShell, "completion", "print a completion script for your shell", "",
     "sharewell completion bash > ~/.local/share/bash-completion/completions/sharewell\n"
     "sharewell completion zsh > \"${fpath[1]}/_sharewell\"\n"
     "sharewell completion fish > ~/.config/fish/completions/sharewell.fish",
     NewCompletionCommand},
};

constexpr WordHint kHints[] = {
    {"ps", "; `sharewell jobs` lists running and waiting jobs"},
    {"queue", "; `sharewell jobs` lists running and waiting jobs"},
    {"status", "; `sharewell jobs` lists the jobs, and `sharewell top` shows the GPUs"},
    {"kill", "; `sharewell cancel` stops a job"},
    {"reproduce", "; it is `sharewell-lab reproduce`, a program of its own for research"},
    {"evaluate", "; it is `sharewell-lab evaluate`, a program of its own for research"},
    {"train", "; it is `sharewell-lab train`, a program of its own for research"},
};

constexpr std::string_view kEveryday[] = {"submit", "jobs",   "job",     "why",
                                          "logs",   "cancel", "top",     "serve",
                                          "demo",   "doctor", "predict", "simulate"};

constexpr Program kProgram = {"sharewell", "Sharewell makes shared GPU machines share well.",
                              kCommands, kHints, kEveryday};

}  // namespace

const Program& SharewellProgram() { return kProgram; }

std::unique_ptr<Command> NewSimulateCommand() {
  return NewSimulate(simulation::ComparePolicies, {});
}
std::unique_ptr<Command> NewCompletionCommand() { return NewCompletionOf(kProgram); }

}  // namespace sharewell::cli
