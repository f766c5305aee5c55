#!/bin/bash
# Sharewell's watchdog, run by cron each minute as root or SlurmUser: when the server has been gone for ten minutes it
# releases all jobs that wait for it to plain Slurm, each with the GPUs that it asked for. `--now` releases them at
# once: the way back out. It touches no job that its user or an admin holds, and none that Sharewell never held.
#
#   * * * * * root /etc/slurm/sharewell-watchdog
HEARTBEAT=/var/lib/sharewell/heartbeat # `sharewell serve` touches it every few seconds
STAMP=/var/run/sharewell-watchdog      # when it was first found to be absent
GRACE_SECONDS=600
COMMAND_SECONDS=30
settings="$(dirname "$0")/sharewell-slurm.conf"
[ -r "$settings" ] && . "$settings"
export LC_ALL=C

say() {
  echo "sharewell-watchdog: $1" >&2
  logger -t sharewell-watchdog "$1" 2>/dev/null || true
}

gone_seconds() {
  local now since
  now=$(date +%s)
  if since=$(stat -c %Y "$HEARTBEAT" 2>/dev/null); then
    rm -f "$STAMP.since"
  else
    # Never there, or removed: counted from now on.
    [ -e "$STAMP.since" ] || : >"$STAMP.since"
    since=$(stat -c %Y "$STAMP.since" 2>/dev/null || echo "$now")
  fi
  echo $((now - since))
}

slurm() {
  timeout "$COMMAND_SECONDS" "$@"
}

# Partitions whose server was heard within the grace, by what servers say in Slurm, in the field Extra of a node:
# sharewell1,PARTITION,HOST,PROCESS,STORE,MACHINE,SINCE,BEAT;... One on another machine has its heartbeat there.
served() {
  slurm scontrol show node -o 2>/dev/null | grep -oE ' Extra=sharewell1,[^ ]*' | sed 's/ Extra=//' | tr ';' '\n' |
    awk -F, -v now="$(date +%s)" -v grace="$GRACE_SECONDS" 'NF == 8 && now - $8 / 1000 < grace { print $2 }'
}

# The GPUs of a place, put=1,n2:g0+g1/n3:g0+g1,shards:40,kept:g2: "shard:g0:40,shard:g1:40,shard:g2:1". $2: "whole"
# where it has whole nodes.
gres_of() {
  local put=$1 slot out= plain=0 shards
  shards=$(grep -oE ',shards:[0-9]{1,3}' <<<"$put" | grep -oE '[0-9]+')
  for slot in $(cut -d, -f2 <<<"$put" | cut -d/ -f1 | cut -s -d: -f2 | tr + ' '); do
    case $slot in
      gpu[0-9]*) plain=$((plain + 1)) ;;
      *) [ "$2" = whole ] && out+=",gpu:$slot:1" || out+=",shard:$slot:${shards:-100}" ;;
    esac
  done
  for slot in $(grep -oE ',kept:[^,]+' <<<"$put" | cut -d: -f2 | tr + ' '); do out+=",shard:$slot:1"; done
  [ "$plain" -gt 0 ] && out=",gpu:$plain"
  grep -xE '[A-Za-z0-9_.:,-]*' <<<"${out#,}"
}

features_of_nodes() {
  slurm scontrol show node -o 2>/dev/null | grep -oE ' AvailableFeatures=[^ ]+' | cut -d= -f2 | tr , '\n' | sort -u
}

# Gives job $1, on $2 nodes, back to Slurm. 2: it is not ours to give.
release() {
  local id=$1 nodes=$2 shown note ask gpus model
  shown=$(slurm scontrol show job -o "$id" 2>/dev/null) || return 1
  # From its own field: a job's name or folder could pass for a note in what `scontrol show job` prints.
  note=$(slurm squeue -h -a -j "$id" -O 'JobID:24,admin_comment:65536' 2>/dev/null |
    sed -nE "s/^$id +[\"']?(sharewell1 [^\"']*).*/\1/p" | head -n 1)
  # Another word than ours, or left to Slurm before (plain=).
  [[ "$note" =~ ^sharewell1\ ask=([^\ ]+) && "$note" != *" plain="* ]] || return 2
  ask=${BASH_REMATCH[1]}
  # Where it was placed already its shards and node are a whole request: it is released as it stands. One that has left
  # its place has its node alone: without the shards that it once had slurmctld 22.05 would die of it.
  if grep -q '^sharewell1 ask=[^ ]* put=' <<<"$note"; then
    local gres whole=
    grep -q ' OverSubscribe=NO ' <<<"$shown" && whole=whole
    gres=$(gres_of "$(grep -oE '^sharewell1 ask=[^ ]* put=[^ "]*' <<<"$note" | sed 's/.* put=//')" "$whole")
    if [ -n "$gres" ] && ! grep -qE ' TresPerNode=[^ ]' <<<"$shown"; then
      slurm scontrol update "JobId=$id" "Gres=$gres" || return 1
    fi
  else
    [[ ",$ask," != *,held,* ]] || return 2 # by its user (sbatch --hold), who has not let it go
    gpus=$(grep -oE '^gpus:[0-9]{1,6}' <<<"$ask" | grep -oE '[0-9]+$')
    model=$(grep -oE ',model:[A-Za-z0-9_.-]+' <<<"$ask" | cut -d: -f2)
    # In a cluster with slots the model is a feature of the node; without them it is the type of its GPUs.
    local type= features feature
    if [ -n "$model" ]; then
      feature=$(grep -ixF -- "$model" <<<"$NODE_FEATURES" | head -n 1) # however it is written
      if [ -n "$feature" ]; then
        features=$(grep -oE ' Features=[^ ]+' <<<"$shown" | head -n 1 | cut -d= -f2 | grep -vxF '(null)')
        [[ "$features" =~ [^A-Za-z0-9_.\&-] ]] && features="($features)"
        slurm scontrol update "JobId=$id" "Features=${features:+$features&}$feature" || return 1
      else
        type="$model:"
      fi
    fi
    # `--gpus` is for all of its nodes, however many these are.
    if [ "${gpus:-0}" -gt 0 ] && [[ ",$ask," == *,anywhere,* ]]; then
      slurm scontrol update "JobId=$id" "TresPerJob=gres:gpu:$type$gpus" || return 1
    elif [ "${gpus:-0}" -gt 0 ]; then
      slurm scontrol update "JobId=$id" "Gres=gpu:$type$(((gpus + nodes - 1) / nodes))" || return 1
    fi
  fi
  slurm scontrol release "$id"
}

main() {
  exec 9>"$STAMP.lock"
  flock -n 9 || return 0
  local gone
  gone=$(gone_seconds)
  if [ "$1" != --now ] && [ "$gone" -lt "$GRACE_SECONDS" ]; then return 0; fi
  # Of these fields users write none, so that no job can pretend to be another.
  local queue id priority nodes partition reason heard= released=0 failed=0
  [ "$1" = --now ] || heard=$(served)
  queue=$(slurm squeue -h -a -t PD -S i -o '%A %Q %D %P %r') || { say "squeue does not answer"; return 1; }
  NODE_FEATURES=$(features_of_nodes)
  while read -r id priority nodes partition reason; do
    if [ "$priority" != 0 ] || [ "$reason" = JobHeldAdmin ]; then continue; fi
    if [ -n "$heard" ] && { tr , '\n' <<<"$partition"; echo '*'; } | grep -qxF -- "$heard"; then continue; fi
    [[ "$id" =~ ^[0-9]+$ && "$nodes" =~ ^[1-9][0-9]*$ ]] || continue
    release "$id" "$nodes"
    case $? in
      0) released=$((released + 1)) ;;
      2) ;;
      *) failed=$((failed + 1)) ;;
    esac
  done < <(sort -u -n <<<"$queue")
  if [ "$((released + failed))" -gt 0 ]; then
    if [ "$1" = --now ]; then say "released $released held jobs to Slurm, $failed could not be"
    else say "the server is gone for $gone s: released $released held jobs to Slurm, $failed could not be"; fi
  fi
  [ "$failed" = 0 ]
}

main "${1:-}"
