#!/usr/bin/env bash
# tests/kubernetes/mps.sh: what deploy/kubernetes/base/mps.yaml believes of MPS, tried on a machine with a GPU (root, python3, no container
# runtime): the daemon has no capabilities, its own process and IPC namespaces and its own /dev/shm; so do two clients of different users, which see
# its folder read-only. More memory than a limit must be refused; each is to see a quarter of the SMs. Not part of `make test`.
set -euo pipefail
place=$(mktemp -d /run/sharewell-mps-try.XXXXXX)
mkdir "$place/pipe" "$place/log"
chmod 755 "$place"
export CUDA_MPS_PIPE_DIRECTORY=$place/pipe CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=2048M
apart=(unshare --mount --ipc --pid --fork --mount-proc --kill-child)

cat >"$place/client.py" <<'END'
import ctypes, os, sys, time
cuda, device, context, memory, sms = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device) == 0
assert cuda.cuDeviceGetAttribute(ctypes.byref(sms), 16, device) == 0
small, large = (cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(size << 20)) for size in (1, 3072))
print(f"user {os.getuid()}: {sms.value} SMs, 1 MiB: {small}, 3 GiB with a limit of 2 GiB: {large}", flush=True)
time.sleep(4)  # so that both are there at once
sys.exit(small != 0 or large != 2)
END

"${apart[@]}" bash -c 'mount -t tmpfs tmpfs /dev/shm && exec setpriv --bounding-set -all --inh-caps=-all --no-new-privs "$@"' - \
  env -u CUDA_MPS_ACTIVE_THREAD_PERCENTAGE -u CUDA_MPS_PINNED_DEVICE_MEM_LIMIT CUDA_MPS_LOG_DIRECTORY="$place/log" nvidia-cuda-mps-control -f --multiuser-server &
daemon=$!
trap 'echo "quit -t 2" | nvidia-cuda-mps-control >/dev/null; wait $daemon || true; rm -rf "$place"' EXIT
sleep 3

clients=()
for user in 0 1000; do
  "${apart[@]}" bash -c 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"
    exec setpriv --reuid "$2" --regid "$2" --clear-groups --no-new-privs python3 "$3"' - "$place/pipe" "$user" "$place/client.py" &
  clients+=($!)
done
for client in "${clients[@]}"; do wait "$client"; done
echo "mps: two users share the GPU, and memory above their limits was refused; their SMs have to be a quarter of all"
