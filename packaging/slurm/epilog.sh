#!/bin/bash
# Sharewell's Epilog: runs as root on a node after a job, and stops the MPS daemon when its last job has ended. It
# never fails: Slurm would drain the node.
MPS_FOLDER=/var/run/sharewell-mps
MPS_CONTROL=nvidia-cuda-mps-control
STEPS_FOLDER=/var/lib/sharewell-steps
settings="$(dirname "$0")/sharewell-slurm.conf"
[ -r "$settings" ] && . "$settings"

main() {
  [[ "$SLURM_JOB_ID" =~ ^[0-9]+$ ]] || return 0
  rm -f "$STEPS_FOLDER/$SLURM_JOB_ID" "$STEPS_FOLDER/$SLURM_JOB_ID.watch" "$MPS_FOLDER/places/$SLURM_JOB_ID"
  local mine="$MPS_FOLDER/jobs/$SLURM_JOB_ID" pipe
  [ -f "$mine" ] || return 0
  exec 9>"$MPS_FOLDER/lock"
  flock -w 20 9 || return 0
  pipe=$(cat "$mine")
  rm -f "$mine"
  if cat "$MPS_FOLDER"/jobs/* 2>/dev/null | grep -qxF -- "$pipe"; then return 0; fi
  # A client that hangs has five seconds.
  echo "quit -t 5" | CUDA_MPS_PIPE_DIRECTORY=$pipe CUDA_MPS_LOG_DIRECTORY=$pipe.log timeout 20 "$MPS_CONTROL" >/dev/null 2>&1 9>&- ||
    logger -t sharewell-epilog "job $SLURM_JOB_ID: the MPS daemon of $pipe did not end when told to" 2>/dev/null
}

main
exit 0
