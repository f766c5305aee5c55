#!/bin/bash
# Sharewell's Prolog: runs as root on a node before a job's first process, and starts a CUDA MPS daemon where the
# job shares a GPU. It never fails: Slurm would drain the node. What it could not do stands in the system's log.
# To take it back: remove Prolog=, Epilog= and TaskProlog= from slurm.conf and run `scontrol reconfigure`.
# sharewell-rules-2: by this word `sharewell slurm check` tells it from older ones, which believed forged notes.
MPS_FOLDER=/var/run/sharewell-mps # short: sockets lie in it
MPS_CONTROL=nvidia-cuda-mps-control
STEPS_FOLDER=/var/lib/sharewell-steps # jobs tell of their steps there, and `sharewell monitor` counts them
PACKAGED_WATCHER=/usr/share/sharewell/watcher # where the agent is not root and can put it nowhere
ANSWER_SECONDS=5
settings="$(dirname "$0")/sharewell-slurm.conf"
[ -r "$settings" ] && . "$settings"

say() {
  logger -t sharewell-prolog "job $SLURM_JOB_ID: $1" 2>/dev/null || true
}

# The word `put=` of our note, asked for as the one field that only admins write: in all that Slurm has to say of a job,
# its name, its folder or its container could pass for a note. It is asked for once a job and node: TaskProlog, which
# runs before each of perhaps thousands of tasks, reads it from the file that is left below.
put_of_note() {
  timeout "$ANSWER_SECONDS" squeue -h -a -j "$SLURM_JOB_ID" -O 'JobID:24,admin_comment:65536' 2>/dev/null |
    sed -nE "s/^$SLURM_JOB_ID +[\"']?sharewell1 ask=[^ \"']* put=([^ \"']+).*/put=\1/p" | head -n 1
}

main() {
  [[ "$SLURM_JOB_ID" =~ ^[0-9]+$ && "$SLURM_JOB_UID" =~ ^[0-9]+$ ]] || return 0
  local put
  mkdir -p -m 755 "$MPS_FOLDER" "$MPS_FOLDER/places" # that it is there tells TaskProlog that this prolog leaves files
  rm -f "$MPS_FOLDER/places/$SLURM_JOB_ID"
  put=$(put_of_note)
  [ -n "$put" ] || return 0 # not one of ours, or slurmctld does not answer: then the job runs without MPS
  echo "$put" >"$MPS_FOLDER/places/$SLURM_JOB_ID" || say "its tasks do not learn what they may use of their GPUs"
  # The folder is root's, so that nobody can put anything else in a file's place. New files for each run.
  mkdir -p -m 755 "$STEPS_FOLDER"
  if [ -n "$(find "$STEPS_FOLDER" -maxdepth 0 -type d -user "$EUID" ! -perm /022 2>/dev/null)" ]; then
    local names=("$SLURM_JOB_ID") name
    # For the watcher inside of the job, where there is one: the agent puts it here and reads what it tells.
    if [ -r "$STEPS_FOLDER/watcher/sitecustomize.py" ] || [ -r "$PACKAGED_WATCHER/sitecustomize.py" ]; then
      names+=("$SLURM_JOB_ID.watch")
    fi
    rm -f "$STEPS_FOLDER/$SLURM_JOB_ID" "$STEPS_FOLDER/$SLURM_JOB_ID.watch"
    for name in "${names[@]}"; do
      install -m 600 -o "$SLURM_JOB_UID" /dev/null "$STEPS_FOLDER/$name" || say "its steps cannot be counted"
    done
  else
    say "$STEPS_FOLDER is not root's alone, so its steps are not counted; rm -rf $STEPS_FOLDER && install -d -m 755 $STEPS_FOLDER"
  fi
  # All of a GPU's memory and all of its SMs: nobody shares with it.
  if ! grep -qE ',shards:[1-9][0-9]?(,|$)|,sm:[1-9][0-9]?(,|$)' <<<"$put"; then return 0; fi
  if ! command -v "$MPS_CONTROL" >/dev/null; then
    say "it shares a GPU, but there is no $MPS_CONTROL here: jobs take turns on it, and its SM share is not kept"
    return 0
  fi
  # One daemon serves everybody where the driver can do that; else each user has one.
  local who=$SLURM_JOB_UID flags=()
  if "$MPS_CONTROL" --help 2>&1 </dev/null | grep -q -- --multiuser-server; then
    who=all flags=(--multiuser-server)
  fi
  mkdir -p -m 755 "$MPS_FOLDER/jobs"
  exec 9>"$MPS_FOLDER/lock"
  flock -w 20 9 || { say "another prolog holds $MPS_FOLDER/lock for 20 s"; return 0; }
  local pipe="$MPS_FOLDER/$who"
  mkdir -p -m 755 "$pipe" "$pipe.log"
  export CUDA_MPS_PIPE_DIRECTORY=$pipe CUDA_MPS_LOG_DIRECTORY=$pipe.log
  if ! echo get_server_list | timeout 10 "$MPS_CONTROL" >/dev/null 2>&1; then
    if [ "$who" = all ]; then
      timeout 20 "$MPS_CONTROL" -d "${flags[@]}" >/dev/null 2>&1 9>&-
    else
      chown "$who" "$pipe" "$pipe.log"
      timeout 20 setpriv --reuid "$who" --regid "${SLURM_JOB_GID:-$who}" --clear-groups "$MPS_CONTROL" -d >/dev/null 2>&1 9>&-
    fi || { say "$MPS_CONTROL -d failed, see $pipe.log: jobs take turns on the GPU"; return 0; }
  fi
  # Tells the task where the daemon is, and the epilog that somebody still needs it.
  echo "$pipe" >"$MPS_FOLDER/jobs/$SLURM_JOB_ID"
}

main
exit 0
