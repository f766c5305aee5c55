#!/usr/bin/env bash
# node.sh NAME FOLDER PROGRAMS: containerd and a real kubelet, the init of a node's own process and mount namespaces (whole_cluster.py). What a node
# has in /var/lib, /var/log and /run lies in FOLDER, so that this machine's own is neither used nor seen.
set -euo pipefail
name=$1 folder=$2 programs=$3
socket=/run/containerd/containerd.sock

for place in lib log; do
  mkdir -p "$folder/$place"
  mount --bind "$folder/$place" "/var/$place"
done
mount -t tmpfs run /run
# The kernel's settings belong to the machine; the kubelet sets these, and reads whether they are as it wants them.
while read -r setting value; do
  echo "$value" >"$folder/${setting//\//-}"
  mount --bind "$folder/${setting//\//-}" "/proc/sys/$setting"
done <<'END'
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
END
# Mounts that a pod asks to be passed on are.
mount --make-rshared /
mkdir -p /var/lib/kubelet /var/log/pods /var/log/containers /run/containerd

containerd --config "$folder/containerd.toml" >"$folder/../$name-containerd.log" 2>&1 &
until ctr -a "$socket" version >/dev/null 2>&1; do sleep 0.1; done
for image in "$folder"/../images/*.tar; do
  ctr -a "$socket" -n k8s.io images import --snapshotter native "$image"
done
"$programs/kubelet" --config="$folder/kubelet.yaml" --kubeconfig="$folder/kubeconfig" --hostname-override="$name" --node-ip=10.88.0.1 \
  --cert-dir="$folder/pki" --container-runtime=remote --container-runtime-endpoint="unix://$socket" \
  --image-service-endpoint="unix://$socket" --runtime-cgroups=/ --v=1 >"$folder/../$name-kubelet.log" 2>&1 &
# An init waits for all that lose their parent. One of its two that ends is the node's end.
while [ "$(jobs -rp | wc -l)" = 2 ]; do wait -n || true; done
