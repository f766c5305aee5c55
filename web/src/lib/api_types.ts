// Made from docs/openapi.json by make_types.mjs; `npm run types` writes it anew.

/** A string; where it is no UTF-8, its bytes in base64. */
export type Text = string | {
  bytes: string;
};

/** stopping: it was told to end (cancelled, its time limit over, or back into the queue), and its processes are still there */
export type Phase = "held" | "waiting" | "starting" | "running" | "stopping" | "finished" | "failed" | "cancelled";

export type Training = {
  id: number;
  time_ms: number;
  outcome: "taken" | "refused" | "failed" | "chosen" | "forgotten";
  why: string;
  /** of a choice by hand: what is used since */
  chosen?: string;
  /** learnt from */
  runs?: number;
  workloads?: number;
  /** runs that it was judged on */
  held_out?: number;
  /** the model that it was learnt onto */
  given?: string;
  /** whose runs it learnt from */
  taught_by?: string[];
  figures?: ({
    figure: string;
    workloads: number;
    shipped_error: number | null;
    in_use_error: number | null;
    retrained_error: number | null;
    verdict: "kept" | "taken" | "reverted";
    why: string;
  })[];
};

export type Predictor = {
  schema: number;
  /** shipped, a file, or retrained */
  in_use: string;
  given: string;
  /** chosen by hand: nothing is trained */
  pinned: boolean;
  trained: Training | null;
  runs_kept: number;
  graphs_kept: number;
  /** whose jobs taught what */
  users: ({
    user: string;
    /** to train the predictor on */
    runs_kept: number;
    /** that were measured */
    workloads: number;
    /** that were predicted and measured */
    compared: number;
    /** measured over predicted; null: too few were compared */
    busy_factor: number | null;
    gpu_memory_factor: number | null;
    cores_factor: number | null;
  })[];
  new_runs: number;
  trains_at: number | null;
  drift: string | null;
  history: Training[];
};

/** What a job is believed to need, alone. Unknown is null. */
export type Needs = {
  /** whom busy and dram are from; an older client's measured is read as observed */
  source: "observed" | "told" | "predicted" | "assumed";
  sm_source?: "observed" | "told" | "predicted" | "assumed";
  gpu_memory_source?: "observed" | "told" | "predicted" | "assumed";
  cores_source?: "observed" | "told" | "predicted" | "assumed";
  host_memory_source?: "observed" | "told" | "predicted" | "assumed";
  duration_source?: "observed" | "told" | "predicted" | "assumed";
  /** whom steps_per_second is from; nobody is judged by one that is not observed */
  pace_source?: "observed" | "told" | "predicted" | "assumed";
  /** where that comes from, in words */
  from: string;
  workload: string | null;
  batch: number | null;
  precision: string | null;
  workers: number | null;
  /** the GPU model the figures are of */
  gpu: string | null;
  /** share of the time its GPU works, 0 to 1 */
  busy: number | null;
  sm: number | null;
  dram: number | null;
  gpu_memory_bytes: number | null;
  /** 95 % bound */
  gpu_memory_upper_bytes: number | null;
  cpu_cores: number | null;
  /** 95 % bound */
  cores_upper: number | null;
  host_memory_bytes: number | null;
  pcie_bytes_per_second: number | null;
  host_bandwidth_bytes_per_second: number | null;
  power_watts: number | null;
  /** mean time of one kernel */
  kernel_seconds: number | null;
  kernels_per_step: number | null;
  steps_per_second: number | null;
  /** 95 % bound of a prediction */
  steps_per_second_low: number | null;
  /** 95 % bound of a prediction */
  steps_per_second_high: number | null;
  /** alone */
  duration_seconds: number | null;
  /** of a prediction by this server: the graph that it keeps to learn from */
  graph?: string;
  optimizer?: string | null;
  /** the predictor had learnt from runs of this server */
  retrained?: boolean;
  /** by the last run of the same script, until the job has told its own step; absent: no */
  guessed?: boolean;
  /** pairs of cores and the share of its speed it has with them */
  cpu_curve?: number[][];
};

/** As Needs; what is left out is unknown. */
export type NeedsSent = {
  /** whom busy and dram are from; an older client's measured is read as observed */
  source?: "observed" | "told" | "predicted" | "assumed";
  sm_source?: "observed" | "told" | "predicted" | "assumed";
  gpu_memory_source?: "observed" | "told" | "predicted" | "assumed";
  cores_source?: "observed" | "told" | "predicted" | "assumed";
  host_memory_source?: "observed" | "told" | "predicted" | "assumed";
  duration_source?: "observed" | "told" | "predicted" | "assumed";
  /** whom steps_per_second is from; nobody is judged by one that is not observed */
  pace_source?: "observed" | "told" | "predicted" | "assumed";
  /** where that comes from, in words */
  from?: string;
  workload?: string | null;
  batch?: number | null;
  precision?: string | null;
  workers?: number | null;
  /** the GPU model the figures are of */
  gpu?: string | null;
  /** share of the time its GPU works, 0 to 1 */
  busy?: number | null;
  sm?: number | null;
  dram?: number | null;
  gpu_memory_bytes?: number | null;
  /** 95 % bound */
  gpu_memory_upper_bytes?: number | null;
  cpu_cores?: number | null;
  /** 95 % bound */
  cores_upper?: number | null;
  host_memory_bytes?: number | null;
  pcie_bytes_per_second?: number | null;
  host_bandwidth_bytes_per_second?: number | null;
  power_watts?: number | null;
  /** mean time of one kernel */
  kernel_seconds?: number | null;
  kernels_per_step?: number | null;
  steps_per_second?: number | null;
  /** 95 % bound of a prediction */
  steps_per_second_low?: number | null;
  /** 95 % bound of a prediction */
  steps_per_second_high?: number | null;
  /** alone */
  duration_seconds?: number | null;
  /** as a prediction by this server gave it */
  graph?: string | null;
  optimizer?: string | null;
  retrained?: boolean;
  guessed?: boolean;
  /** pairs of cores and the share of its speed it has with them */
  cpu_curve?: number[][];
};

export type GivenGpu = {
  index: number;
  uuid: string;
  model: string;
};

export type Hold = {
  /** user: until it is released. paused: by hand, until it is resumed. ended_paused: its process ended while it was paused. after: a job that it comes after is not over. no_nodes: no node could run it; it is tried again when one comes. machine_changed: this machine could not run it any more. refused: it stands in the queue of the cluster's manager and would not be admitted here. untrusted: its record may not be the server's. lost_runs: what it ran on went down under it too often */
  kind: "user" | "paused" | "ended_paused" | "after" | "no_nodes" | "machine_changed" | "refused" | "untrusted" | "lost_runs";
  /** paused: who did it */
  by?: string;
  /** after: one that it waits for */
  job?: number;
  /** after: the others that it waits for too; not there: none */
  others?: number[];
  /** no_nodes, machine_changed, refused: in words */
  why?: string;
  /** lost_runs: so many in a row */
  runs?: number;
  /** untrusted: its user is not as the server had sealed it. None of the three: what was changed cannot be told */
  user_changed?: boolean;
  /** untrusted: its command, folder or image is not */
  command_changed?: boolean;
  /** untrusted: its environment is not */
  environment_changed?: boolean;
  /** untrusted: whose uid it has, where that is not the user whom it names; such a job cannot be released */
  runs_as?: string;
};

export type CancelledBy = {
  /** user: one who asked this server. manager: in the queue of the cluster's manager. job_before: a job that it was to come after did not finish well. store: the store failed while it was submitted */
  kind: "user" | "manager" | "job_before" | "store";
  /** user: who */
  by?: string;
  /** manager: in words */
  why?: string;
  /** job_before: which */
  job?: number;
  /** job_before: how that one ended, where it is known */
  end?: "failed" | "cancelled";
};

/** Facts of one training step, told by the job itself. Unknown is null. */
export type Told = {
  /** the same for runs of the same operators on the same shapes, run the same way */
  fingerprint: string | null;
  /** the same for the same parameters, at whatever batch */
  model_fingerprint: string | null;
  framework: string | null;
  python: string | null;
  device: string | null;
  /** class of what is trained */
  modules: string | null;
  batch: number | null;
  /** backward passes a step */
  accumulation: number | null;
  optimizer: string | null;
  optimizers: number | null;
  optimizer_style: string | null;
  precision: string | null;
  autocast: string | null;
  grad_scaler: boolean | null;
  /** of the loader that feeds the training */
  workers: number | null;
  compiled: boolean | null;
  channels_last: boolean | null;
  checkpointing: boolean | null;
  cuda_graphs: boolean | null;
  world_size: number | null;
  parallel: string | null;
  /** a number */
  parameters: number | null;
  /** a number */
  trainable: number | null;
  /** of live tensors on its device during the step */
  peak_bytes: number | null;
  /** by those operators, as they are; null in lists */
  predicted: Needs | null;
  /** why they could not be */
  not_predicted: string | null;
};

export type Job = {
  /** where the job is the whole document */
  schema?: 1;
  number: number;
  name: string;
  user: string;
  uid: number;
  gid: number;
  admin?: boolean;
  phase: Phase;
  command: Text[];
  folder: Text;
  /** To its owner and admins; others see {}. */
  environment: Record<string, Text>;
  /** Variables whose names are no UTF-8: pairs in base64. */
  environment_bytes?: string[][];
  gpus_asked: number;
  cores_asked: number | null;
  gpu_memory_asked_bytes: number | null;
  memory_asked_bytes: number | null;
  /** of its GPU's SMs, at most, as its user insists; null: the policy decides */
  sm_share_asked: number | null;
  gpu_models: string[];
  exclusive: boolean;
  max_slowdown: number | null;
  priority: number;
  /** its kernels go before those of its neighbours */
  latency_sensitive: boolean;
  /** no job of which nothing is known starts beside it */
  no_guests: boolean;
  time_limit_seconds: number | null;
  image: string | null;
  after: number[];
  held: boolean;
  requeue: boolean;
  terminal: boolean;
  /** octal: "0022" */
  umask: string | null;
  profile: string | null;
  array: string | null;
  array_at_once: number | null;
  /** whose share of the GPUs it counts to; left out where there are no projects */
  project?: string;
  /** its steps may be counted from inside of it */
  watch: boolean;
  /** which script it runs: of its path and contents */
  script_digest: string | null;
  needs: Needs;
  needs_given: Needs | null;
  /** Unix milliseconds. */
  submitted_ms: number;
  /** Unix milliseconds. The first time. */
  started_ms: number | null;
  /** Unix milliseconds. The last time it was started, later by as much as it was paused since. */
  resumed_ms: number | null;
  /** Unix milliseconds. */
  ended_ms: number | null;
  /** Unix milliseconds. Of a job that waits: when it should start, as believed when the forecast was last made; null: nobody can tell, or it does not wait. Null in the answer to a submission. */
  expected_start_ms: number | null;
  /** how often it was started */
  attempt: number;
  /** so often it ran out of GPU memory, or failed together with its neighbours; after one it runs alone */
  ooms: number;
  /** how often it had to leave its neighbours */
  evicted: number;
  /** runs in a row under which the machine or the supervisor went down */
  lost: number;
  /** what holds it, of a held job; of one that is being paused by hand, what will */
  hold: Hold | null;
  /** somebody asked for its end; while it runs it is on its way there */
  cancelled: boolean;
  cancelled_by: CancelledBy | null;
  /** it waits with its processes alive, its GPU memory on the host; with held until it is resumed */
  paused: boolean;
  /** Unix milliseconds. The last time it was paused. */
  paused_ms: number | null;
  gpus: GivenGpu[];
  /** its GPU was not here when the server came back; it runs on */
  gpu_gone: boolean;
  cores: number;
  /** given: of each GPU's SMs, at most */
  sm_share: number;
  /** it was started as a guest, beside others while nothing was known of it: the GPU memory that it is kept to until its next start; null: it was started as no guest */
  guest_memory_bytes: number | null;
  /** as a guest it ran out of GPU memory with so much of it; not counted in ooms */
  guest_oom_bytes: number | null;
  /** a run of it broke its GPU under its neighbours */
  broke_gpu: boolean;
  beside: number[];
  /** why it waits, was put there, or (phase stopping) is being stopped */
  reason: string;
  note: string;
  /** 128 + signal as a shell has it */
  exit_code: number | null;
  steps: number | null;
  /** now; of one that is over, the mean between its first step and its last */
  steps_per_second: number | null;
  /** who counts them: the watcher inside of it, or the job itself */
  steps_by: "watcher" | "report_step" | null;
  /** what the watcher inside of it told of its step: a user's word */
  told: Told | null;
  /** seen while it had its GPUs to itself, never predicted */
  steps_per_second_alone: number | null;
  /** for so long that was seen */
  seen_alone_seconds: number | null;
  /** measured against itself alone; null where its rate alone was never seen */
  slowdown: number | null;
  /** where its rate alone was never seen: the predicted rate over the one that it has; null: it is as fast as predicted, or not known */
  slower_than_predicted: number | null;
  /** what it was seen to use in its last attempt; a GPU's figures while it had the GPU to itself */
  seen: {
    cores?: number | null;
    busy?: number | null;
    sm?: number | null;
    gpu_memory_bytes?: number | null;
    host_memory_bytes?: number | null;
    power_watts?: number | null;
  } | null;
  run_time_seconds: number;
  /** what its work takes it alone; null: it shared, and its rate alone was never seen */
  alone_time_seconds: number | null;
  /** of the last attempt: its time limit was extended by what it lost beside others */
  time_limit_extended_seconds: number;
};

export type Submission = {
  name?: string;
  command: Text[];
  /** absolute; where it starts */
  folder?: Text;
  /** all of it; ours is added */
  environment?: Record<string, Text>;
  /** Variables whose names are no UTF-8: pairs in base64. */
  environment_bytes?: string[][];
  /** 0: a CPU-only job; left out: 1 */
  gpus?: number;
  /** left out: as many as it needs */
  cores?: number | null;
  gpu_memory_bytes?: number | null;
  /** of the host; it is ended above it */
  memory_bytes?: number | null;
  /** of its GPU's SMs, at most: 0.6 is 60 %. For a job that may share its one GPU; left out: the policy decides */
  sm_share?: number | null;
  gpu_models?: string[];
  exclusive?: boolean;
  max_slowdown?: number | null;
  priority?: number;
  /** its kernels go before those of its neighbours */
  latency_sensitive?: boolean;
  /** no job of which nothing is known starts beside it */
  no_guests?: boolean;
  time_limit_seconds?: number | null;
  image?: string | null;
  /** jobs that must have finished well before it starts */
  after?: number[];
  held?: boolean;
  /** after a reboot or a lost GPU; false: it has failed then */
  requeue?: boolean;
  /** an interactive job: it has a terminal of its own, ends with it, and is never requeued */
  terminal?: boolean;
  /** of its process, octal, at most "0777"; null: "0022" */
  umask?: string | null;
  profile?: string | null;
  needs?: NeedsSent | null;
  array?: string | null;
  /** so many jobs of the array run at once */
  array_at_once?: number | null;
  /** of its user's projects; left out: the only one */
  project?: string | null;
  /** false: nothing is put into the job that counts its steps and tells of them; left out: true */
  watch?: boolean;
  /** which script it runs, as the client saw it: the same script is taken to need what it last needed, until its step is known */
  script_digest?: string | null;
};

export type Gpu = {
  schema?: 1;
  index: number;
  uuid: string;
  model: string;
  memory_bytes: number;
  simulated: boolean;
  drained: boolean;
  /** why it does not answer; empty: it does */
  problem: string;
  jobs: number[];
  /** processes on it that are no jobs; one that is busy keeps jobs away */
  strangers: {
    pid: number;
    user: string;
    memory_bytes: number;
    busy: boolean;
  }[];
  busy: number | null;
  memory_used_bytes: number | null;
  power_watts: number | null;
};

export type Event = {
  id: number;
  /** Unix milliseconds. */
  time_ms: number;
  kind: string;
  /** 0: of no job */
  job: number;
  text: string;
};

export type Problem = {
  type: string;
  title: string;
  status: number;
  /** what, why, and what to do next */
  detail: string;
};

export type Jobs = {
  schema: 1;
  jobs: Job[];
  /** jobs that are not over, by phase */
  counts: Record<string, number>;
  /** give it as `below` for the next page */
  next: number | null;
  /** why the store could not be read: then the list is what the server has in memory, without older jobs that are over */
  store_problem: string | null;
};

export type Submitted = {
  schema: 1;
  jobs: Job[];
};

export type Considered = {
  schema: 1;
  jobs: Job[];
  forecast: {
    /** Unix milliseconds. */
    start_ms: number | null;
    gpus: GivenGpu[];
    why: string;
  } | null;
};

export type Server = {
  schema: 1;
  version: string;
  node: string;
  policy: string;
  /** Unix milliseconds. */
  since_ms: number;
};

export type Token = {
  schema?: 1;
  id: string;
  user: string;
  uid: number;
  admin: boolean;
  created_ms: number;
  label: string;
};

export type Tokens = {
  schema: 1;
  tokens: Token[];
};

export type NewToken = {
  schema: 1;
  id: string;
  user: string;
  secret: string;
};

export type SignIn = {
  schema: 1;
  user: string;
  secret: string;
};

export type SignInLink = {
  schema: 1;
  user: string;
  /** the code stands behind #, which browsers do not send */
  link: string;
  expires_ms: number;
};

export type Limits = {
  schema: 1;
  user: string;
  /** how jobs start of which nothing is known: beside others as guests, or on an idle GPU alone */
  unknown: "guest" | "alone";
  /** default, or the table of sharewell.toml */
  unknown_from: string;
  limits: ({
    /** its key in sharewell.toml */
    name: string;
    what: string;
    unit: "bytes" | "count" | "hours" | "seconds" | "seconds_per_minute";
    /** null: there is none */
    limit: number | null;
    /** null: it is not counted here */
    used: number | null;
    left: number | null;
    /** default, default of admins, or the table of sharewell.toml */
    from: string | null;
  })[];
};

export type Projects = {
  schema: 1;
  /** projects below their share take back what others borrowed: jobs of theirs are stopped, and wait again */
  reclaim: boolean;
  /** the first is that of the users of no other; empty: there are none */
  projects: {
    name: string;
    /** of all GPUs, 0 to 1 */
    share: number;
    gpus_of_share: number;
    /** of a GPU that several jobs share, each has an equal part */
    gpus_in_use: number;
    /** jobs */
    running: number;
    /** jobs */
    waiting: number;
    /** the asking user's jobs may count to it */
    yours: boolean;
  }[];
};

export type Routes = {
  schema: 1;
  routes: string[][];
};

export type Terminal = {
  schema: number;
  number: number;
  path: string;
};

export type Why = {
  schema: 1;
  number: number;
  phase: Phase;
  why: string[];
  /** Who goes before it in line; null: it is not in line. */
  ahead: {
    jobs: number;
    of: ({
      user: string;
      jobs: number;
      because: "higher priority" | "project below its share" | "used less so far" | "earlier in line";
    })[];
  } | null;
  /** Unix milliseconds. As in the job. */
  expected_start_ms: number | null;
};

export type Gpus = {
  schema: 1;
  gpus: Gpu[];
};

export type Nodes = {
  schema: 1;
  nodes: ({
    name: string;
    cores: number;
    cores_given: number;
    /** of the host */
    memory_bytes: number | null;
    /** True: they come with simulated GPUs, and no job is kept to CPUs. */
    simulated_cores: boolean;
    gpus: number;
    policy: string;
    store_up: boolean;
    store_problem: string;
    /** the machine that the jobs run on, as last read; null: the jobs run on others, and this server does not read them */
    machine: {
      /** share of all its CPUs' time, 0 to 1 */
      cpu_busy: number | null;
      memory_bytes: number | null;
      /** what is not available to new programs */
      memory_used_bytes: number | null;
    } | null;
  })[];
};

export type Speed = {
  schema: 1;
  number: number;
  /** in order of time, at most 240: the longer its life, the more time is in each; empty: no steps were told or seen */
  points: {
    /** Unix milliseconds. */
    from_ms: number;
    /** Unix milliseconds. */
    to_ms: number;
    /** observed: the mean, with whatever it did between its steps */
    steps_per_second: number;
  }[];
  /** in order of time, at most 120; a time in which nobody looked is in none */
  neighbours: {
    /** Unix milliseconds. */
    from_ms: number;
    /** Unix milliseconds. */
    to_ms: number;
    /** that shared a GPU with it; empty: it was alone */
    jobs: number[];
  }[];
  /** numbers that the job told of itself, such as its loss (sharewell.report_metric), at most 4; empty: it told none */
  metrics: ({
    name: string;
    /** the last that was told; between -1e30 and 1e30 */
    value: number;
    /** that it was told for; null: none was named */
    step: number | null;
    /** when it was told. Unix milliseconds. */
    time_ms: number;
    /** in order of time, at most 240: the longer its life, the more time is in each; never empty */
    points: {
      /** Unix milliseconds. */
      from_ms: number;
      /** Unix milliseconds. */
      to_ms: number;
      /** the mean of what was told in that time */
      value: number;
    }[];
  })[];
  /** observed: the mean between its first step and its last */
  steps_per_second: number | null;
  /** observed while it had its GPUs to itself */
  steps_per_second_alone: number | null;
  /** steps a second that were predicted; null: none were */
  prediction: {
    /** 95 % bound */
    low: number | null;
    /** median */
    middle: number;
    /** 95 % bound */
    high: number | null;
    /** alone on this model */
    gpu: string;
  } | null;
};

export type Neighbours = {
  schema: 1;
  number: number;
  /** Unix milliseconds. */
  from_ms: number;
  /** Unix milliseconds. */
  to_ms: number;
  /** in order of time; a time of which nothing was sampled is in none */
  spans: ({
    /** Unix milliseconds. */
    from_ms: number;
    /** Unix milliseconds. */
    to_ms: number;
    /** that shared a GPU with it; empty: it was alone */
    jobs: number[];
    /** against its speed alone, where it was measured */
    speed: number | null;
    /** of the span, the time in which its speed was measured */
    measured_seconds: number;
    /** in that time, to its neighbours; null: alone, or not measured */
    lost_seconds: number | null;
  })[];
  /** in which it had neighbours */
  shared_seconds: number;
  /** of these, the time in which its speed was measured */
  measured_seconds: number;
  /** in that time; null: nothing was measured */
  lost_seconds: number | null;
};

export type Samples = {
  schema: 1;
  number: number;
  /** Unix milliseconds. */
  from_ms: number;
  /** Unix milliseconds. */
  to_ms: number;
  series: ({
    /** as docs/metrics.md has it */
    metric: string;
    /** which GPU, disk or sensor; empty: there is one */
    instance: string;
    /** true: of the job's own processes; false: of its GPU or machine, whoever ran there */
    of_job: boolean;
    /** of a counter's rate it ends in /s */
    unit: string;
    /** pairs of Unix milliseconds and the value */
    points: ((number | null)[])[];
  })[];
};

export type Pairs = {
  schema: 1;
  pairs: ({
    /** here: by this server, of its own jobs */
    source: "here" | "shipped";
    gpu: string;
    a: string;
    b: string;
    /** of its speed alone, 0 to 1 */
    speed_a: number | null;
    speed_b: number | null;
    /** false: together they ran out of GPU memory */
    fits: boolean;
    /** Unix milliseconds. */
    time_ms: number | null;
    /** for so long they were watched together; null: shipped, or they did not fit */
    measured_seconds: number | null;
  })[];
};

export type Profiles = {
  schema: 1;
  profiles: Record<string, unknown>[];
};

export type Prediction = {
  schema?: 1;
  needs: Needs;
  /** pairs of cores and the share of its speed it has with them, reckoned by the predictor */
  core_curve: number[][];
};

/** Waiting and completion of the jobs of one size. */
export type SizeTimes = {
  /** GPUs of a job; cpu: none */
  size: "1" | "2-4" | "5-8" | "9+" | "cpu";
  jobs: number;
  /** from submission to the first start */
  wait_mean_seconds: number | null;
  wait_p99_seconds: number | null;
  /** from submission to the end, of finished jobs */
  jct_mean_seconds: number | null;
  jct_p99_seconds: number | null;
};

/** Waiting and completion of one user's jobs. */
export type UserTimes = {
  user: string;
  jobs: number;
  /** from submission to the first start */
  wait_mean_seconds: number | null;
  wait_p99_seconds: number | null;
  /** from submission to the end, of finished jobs */
  jct_mean_seconds: number | null;
  jct_p99_seconds: number | null;
};

export type WhatIfRow = {
  name: string;
  jobs: number;
  finished: number;
  makespan_seconds: number | null;
  jct_mean_seconds: number | null;
  queueing_mean_seconds: number | null;
  slowdown_mean: number | null;
  busy: number | null;
  moves: number;
  ooms: number;
  /** Distributions over jobs, at most 100 values each: of m values the i-th is what i / m of the jobs do not exceed. */
  curves: {
    jct_seconds: number[];
    queueing_seconds: number[];
    slowdown: number[];
  };
  /** sizes without jobs are left out */
  by_size: SizeTimes[];
  /** longest mean wait first; of more than 1,000 those with most jobs */
  by_user: UserTimes[];
};

export type JobChange = {
  /** 0: a job of a trace */
  number: number;
  name: string;
  user: string;
  /** its completion time under the first policy */
  before_seconds: number;
  /** and under this one */
  after_seconds: number;
};

export type WhatIf = {
  schema: 1;
  policies: WhatIfRow[];
  /** what happened, of the jobs that are over */
  really: WhatIfRow | null;
  jobs: number;
  remarks: string[];
  /** Each policy but the first against the first, of jobs that finish under both. */
  changes: ({
    policy: string;
    jobs_sooner: number;
    jobs_later: number;
    /** within a twentieth */
    jobs_same: number;
    /** of the mean completion time, less 1; below 0 is better */
    jct_mean_change: number | null;
    /** of the job that loses most, its completion time over the first policy's */
    worst_job: number | null;
    /** the largest, at most ten */
    gains: JobChange[];
    /** the largest, at most ten */
    losses: JobChange[];
  })[];
  /** By GPU hours, at most 1,000. */
  users: ({
    user: string;
    jobs: number;
    /** what the jobs would have taken alone */
    gpu_hours: number;
    /** by policy, as asked for */
    jct_mean_seconds: (number | null)[];
    really_jct_mean_seconds: number | null;
  })[];
};

export type WhatIfAsked = {
  policies: string[];
  days?: number;
  /** a name for GET /whatif/{follow}: at most 64 letters, digits and '-', chosen at random */
  follow?: string;
};

export type WhatIfState = {
  schema: 1;
  /** unknown: it has not come yet, or is over */
  state: "unknown" | "waiting" | "running";
  /** which is played, from 0; null, as all that follows: not known, or not begun */
  policy: number | null;
  policies: number | null;
  /** that have ended under this policy */
  jobs_done: number | null;
  jobs: number | null;
};

export type SavingsSide = {
  /** of GPUs that some job held; a shared one counts once */
  gpu_hours: number;
  /** of GPUs while they are held */
  energy_kwh: number | null;
  makespan_seconds: number | null;
  jct_mean_seconds: number | null;
  wait_mean_seconds: number | null;
};

export type Used = {
  user?: string;
  jobs: number;
  failed: number;
  /** run time times GPUs: two jobs that share a GPU for an hour have two */
  gpu_hours: number;
  /** of which it is known how busy the GPU was */
  known_gpu_hours: number;
  /** of the known ones, given and not busy */
  idle_gpu_hours: number | null;
  /** of jobs that failed or were cancelled */
  failed_gpu_hours: number;
  wait_mean_seconds: number | null;
  wait_median_seconds: number | null;
  wait_p99_seconds: number | null;
  /** from submission to the end, of finished jobs */
  jct_mean_seconds: number | null;
  jct_p99_seconds: number | null;
  /** of finished jobs, time alone over time from submission to end: 1 is a machine of one's own */
  speed_mean: number | null;
};

export type Usage = {
  schema: 1;
  /** Unix milliseconds. */
  from_ms: number;
  /** Unix milliseconds. */
  to_ms: number;
  /** now there */
  gpus: number;
  /** there are more jobs or users than are told */
  cut: boolean;
  all: Used;
  /** by GPU hours, at most 1,000 */
  users: Used[];
  /** sizes without jobs are left out */
  by_size: SizeTimes[];
  /** over users, of speed_mean: 1 is even */
  fairness_jain: number | null;
  /** share of the GPUs' time in which some job held them */
  held: number | null;
  /** in which several did */
  shared: number | null;
  /** mean of the GPUs that were sampled, while they were */
  busy: number | null;
  /** Equal parts of the time. */
  bins: ({
    /** Unix milliseconds. */
    from_ms: number;
    /** share of the GPUs' time in which some job held them */
    held: number;
    /** in which several did */
    shared: number;
    /** mean of the GPUs that were sampled */
    busy: number | null;
  })[];
  /** What sharing saved, by playing the jobs again with exclusive slots. */
  savings: {
    /** that held GPUs */
    jobs: number;
    /** that shared one at some time */
    shared: number;
    really: SavingsSide;
    exclusive: SavingsSide;
    saved: SavingsSide;
    how: string;
    remarks: string[];
  };
};

export type UsageRow = {
  /** the user or the GPU model; not there in `all` */
  name?: string;
  jobs: number;
  /** an hour in which n jobs share a GPU counts as an nth of it for each */
  held_gpu_hours: number;
  /** of them, those of which it is known how busy they were */
  known_gpu_hours: number;
  /** of known_gpu_hours */
  busy_gpu_hours: number | null;
  /** from submission to the first start; of a job that waits, so far */
  wait_mean_seconds: number | null;
  wait_p99_seconds: number | null;
  /** of held_gpu_hours, those of GPU models with a price */
  priced_gpu_hours: number;
  /** of priced_gpu_hours */
  cost: number | null;
};

export type UsageTable = {
  schema: 1;
  /** Unix milliseconds. */
  from_ms: number;
  /** Unix milliseconds. */
  to_ms: number;
  by: "user" | "project" | "gpu";
  currency: string | null;
  /** there are more jobs or rows than are told */
  cut: boolean;
  all: UsageRow;
  /** by GPU hours, at most 1,000 */
  rows: UsageRow[];
  /** GPU models that were held and have no price */
  unpriced: string[];
};

export type Forecast = {
  schema?: 1;
  jobs: ({
    number: number;
    /** Unix milliseconds. */
    start_ms: number | null;
  })[];
  remarks: string[];
};

export type ReadPath =
  | `/api/v1`
  | `/api/v1/events`
  | `/api/v1/forecast`
  | `/api/v1/gpus`
  | `/api/v1/jobs`
  | `/api/v1/jobs/${string}`
  | `/api/v1/jobs/${string}/logs`
  | `/api/v1/jobs/${string}/neighbours`
  | `/api/v1/jobs/${string}/samples`
  | `/api/v1/jobs/${string}/speed`
  | `/api/v1/jobs/${string}/step`
  | `/api/v1/jobs/${string}/terminal`
  | `/api/v1/jobs/${string}/why`
  | `/api/v1/limits`
  | `/api/v1/projects`
  | `/api/v1/nodes`
  | `/api/v1/openapi.json`
  | `/api/v1/pairs`
  | `/api/v1/predictor`
  | `/api/v1/profiles`
  | `/api/v1/routes`
  | `/api/v1/tokens`
  | `/api/v1/usage`
  | `/api/v1/whatif/${string}`;
