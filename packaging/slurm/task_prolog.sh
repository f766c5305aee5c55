#!/bin/bash
# Sharewell's TaskProlog: runs as the user before each task. Lines `export NAME=VALUE` and `unset NAME` on stdout change
# the task's environment: what the job may use of the GPUs that it shares, as the placement says.
# sharewell-rules-2: by this word `sharewell slurm check` tells it from older ones, which believed forged notes.
MPS_FOLDER=/var/run/sharewell-mps
ANSWER_SECONDS=5
STEPS_FOLDER=/var/lib/sharewell-steps
PACKAGED_WATCHER=/usr/share/sharewell/watcher
settings="$(dirname "$0")/sharewell-slurm.conf"
[ -r "$settings" ] && . "$settings"

[[ "$SLURM_JOB_ID" =~ ^[0-9]+$ ]] || exit 0
# The prolog left what the note says; where it left nothing, the job is none of ours. One of before that is still on the
# node leaves no files: then it is asked for (see prolog.sh).
if [ -d "$MPS_FOLDER/places" ]; then
  put=$(cat "$MPS_FOLDER/places/$SLURM_JOB_ID" 2>/dev/null)
else
  unset "${!SQUEUE_@}" # the user's own settings would change what it prints
  put=$(timeout "$ANSWER_SECONDS" squeue -h -a -j "$SLURM_JOB_ID" -O 'JobID:24,admin_comment:65536' 2>/dev/null |
    sed -nE "s/^$SLURM_JOB_ID +[\"']?sharewell1 ask=[^ \"']* put=([^ \"']+).*/put=\1/p" | head -n 1)
fi
[ -n "$put" ] || exit 0

# The job has shards, not the GPUs that it had asked for: srun in its script would ask for those again, and be refused.
for name in SLURM_GPUS SLURM_GPUS_PER_NODE SLURM_GPUS_PER_TASK SLURM_GPUS_PER_SOCKET; do
  [ -n "${!name:-}" ] && echo "unset $name"
done
if [[ "${SLURM_TRES_PER_TASK:-}" == *gpu* ]]; then
  others=$(tr , '\n' <<<"$SLURM_TRES_PER_TASK" | grep -v gpu | paste -sd,)
  [ -n "$others" ] && echo "export SLURM_TRES_PER_TASK=$others" || echo "unset SLURM_TRES_PER_TASK"
fi

# The prolog left a file for its steps (docs/formats/steps.md).
[ -w "$STEPS_FOLDER/$SLURM_JOB_ID" ] && echo "export SHAREWELL_PROGRESS=$STEPS_FOLDER/$SLURM_JOB_ID"

# The watcher counts the steps of a job that reports none, and tells one of them (docs/watcher.md); `sharewell monitor`
# has put it there, or the package. It is for the first task on a node alone: the others would count the same steps
# again. A PYTHONPATH of two lines cannot be printed, and a very long one is left as it is.
watcher="$STEPS_FOLDER/watcher"
[ -r "$watcher/sitecustomize.py" ] || watcher=$PACKAGED_WATCHER
own="$STEPS_FOLDER/$SLURM_JOB_ID.watch" path="${PYTHONPATH:-}"
if [ "${SHAREWELL_WATCH:-}" != 0 ] && [ "${SLURM_LOCALID:-0}" = 0 ] && [ -w "$own" ] && [ -r "$watcher/sitecustomize.py" ] &&
  [[ ${#path} -le 3000 && "$path" != *$'\n'* ]]; then
  echo "export SHAREWELL_WATCH_PIPE=$own"
  [[ ":$path:" == *":$watcher:"* ]] || echo "export PYTHONPATH=$watcher${path:+:$path}"
elif [ -n "${SHAREWELL_WATCH_PIPE:-}" ]; then
  echo "unset SHAREWELL_WATCH_PIPE" # of the task or the job that started this one
fi

# The number behind `NAME:`.
number_of() {
  grep -oE ",$1:[0-9]{1,9}(,|\$)" <<<"$put" | grep -oE '[0-9]+' | head -n 1
}

# The slots that the job has on this node: "put=1,n2:g0+g1/n3:g0,..." on n2 gives 0,1.
devices=$(cut -d, -f2 <<<"$put" | tr / '\n' |
  awk -F: -v node="$SLURMD_NODENAME" '$1 == node { gsub(/g/, "", $2); gsub(/\+/, ",", $2); print $2; exit }')
# A job that was on another slot before keeps one shard of it (kept:g1): the task must not see that GPU. Slurm's own
# word counts otherwise: with ConstrainDevices it numbers the devices anew, in the order of their slots.
kept=$(grep -oE ',kept:g[0-9]+(\+g[0-9]+)*' <<<"$put" | grep -oE '[0-9]+' | paste -sd,)
if [[ "$devices" =~ ^[0-9]+(,[0-9]+)*$ ]]; then
  if [ -z "${CUDA_VISIBLE_DEVICES:-}" ]; then
    echo "export CUDA_VISIBLE_DEVICES=$devices"
  elif [ -n "$kept" ]; then
    echo "export CUDA_VISIBLE_DEVICES=$(tr , '\n' <<<"$devices,$kept" | sort -n |
      paste -d' ' - <(tr , '\n' <<<"$CUDA_VISIBLE_DEVICES") | awk -v own=",$devices," 'index(own, "," $1 ",") { print $2 }' | paste -sd,)"
  fi
fi

sm=$(number_of sm)
memory=$(number_of mem)
if [ -n "$sm" ] && [ "$sm" -ge 1 ] && [ "$sm" -lt 100 ]; then
  echo "export CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$sm"
fi
if [ -n "$memory" ] && [ "$memory" -ge 1 ]; then
  limits= index=0
  for _ in ${devices//,/ }; do
    limits+="${limits:+,}$index=${memory}M"
    index=$((index + 1))
  done
  [ -n "$limits" ] && echo "export CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=$limits"
fi
# A guest's kernels go after those of its neighbours.
[[ "$put" == *,guest ]] && echo "export CUDA_MPS_CLIENT_PRIORITY=1"
# The prolog left a file where it started a daemon.
if [ -r "$MPS_FOLDER/jobs/$SLURM_JOB_ID" ]; then
  pipe=$(cat "$MPS_FOLDER/jobs/$SLURM_JOB_ID")
  echo "export CUDA_MPS_PIPE_DIRECTORY=$pipe"
  echo "export CUDA_MPS_LOG_DIRECTORY=$pipe.log"
fi
exit 0
