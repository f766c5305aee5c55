#!/usr/bin/env python3
"""A process that has PyTorch imported, and forks a job from itself when one asks: a job then starts in tenths of a second.

  warm.py SOCKET WORKLOAD...       # imports what these workloads need, then listens

What importing PyTorch costs is the machine's disk and Python, not the GPU and not the policy: twenty short jobs in a row would be measured
mostly by it. No CUDA context is made before the fork. The forked process takes over what its job was given: environment (so which
GPU, and its share of it), folder, output, CPUs and control groups; it dies with the process that asked for it, and gives it its exit status.
"""
import array
import json
import os
import pathlib
import selectors
import signal
import socket
import struct
import sys

_PASSED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)


def control_groups():
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        return file.read()


def join(groups):
    """This process into those control groups. What cannot be joined is left: the caller compares."""
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        roots = [controllers, *controllers.split(",")] if controllers else ["", "unified"]
        for root in roots:
            try:
                pathlib.Path("/sys/fs/cgroup", root.removeprefix("name="), path.lstrip("/"), "cgroup.procs").write_text(
                    str(os.getpid()), encoding="ascii")
                break
            except OSError:
                continue


def receive(connection):
    """The request and the three descriptors that came with its length."""
    head, ancillary, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(3 * 4))
    files = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(data[:len(data) - len(data) % files.itemsize])
    if len(head) != 8 or len(files) != 3:
        raise ValueError("not a request")
    left, text = struct.unpack("<Q", head)[0], b""
    while len(text) < left:
        piece = connection.recv(left - len(text))
        if not piece:
            raise ValueError("half a request")
        text += piece
    return json.loads(text), list(files)


def become(request, files):
    """In the forked process: the job, from here on."""
    os.setsid()
    for target, file in enumerate(files):
        os.dup2(file, target)
        os.close(file)
    join(request["groups"])
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    os.sched_setaffinity(0, request["cpus"])
    if control_groups() != request["groups"]:
        print("warm: this job could not join its control groups; its limits do not hold", file=sys.stderr, flush=True)
    import mix_job
    mix_job.train(mix_job.arguments(request["arguments"]), request["began"])


def serve(path):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(64)
    watch = selectors.DefaultSelector()
    watch.register(listener, selectors.EVENT_READ)
    connections = {}                           # pidfd -> (pid, connection)
    print("warm", flush=True)
    while True:
        for key, _ in watch.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                try:
                    connection.settimeout(10)
                    request, files = receive(connection)
                except (OSError, ValueError) as e:
                    print(f"warm: {e}", file=sys.stderr, flush=True)
                    connection.close()
                    continue
                pid = os.fork()
                if pid == 0:
                    for other in (listener, watch, *(c for _, c in connections.values()), connection):
                        other.close()
                    status = 1
                    try:
                        become(request, files)
                        status = 0
                    except SystemExit as e:
                        if isinstance(e.code, str):
                            print(e.code, file=sys.stderr)
                        status = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
                    except BaseException:      # noqa: BLE001, a forked job must not go on as a server
                        import traceback
                        traceback.print_exc()
                    finally:
                        sys.stdout.flush()
                        sys.stderr.flush()
                        os._exit(status)
                for file in files:
                    os.close(file)
                ended = os.pidfd_open(pid)
                connections[ended] = (pid, connection)
                watch.register(ended, selectors.EVENT_READ)
                watch.register(connection, selectors.EVENT_READ, ended)
            elif key.data is None:             # a job has ended
                pid, connection = connections.pop(key.fileobj)
                watch.unregister(key.fileobj)
                if connection in watch.get_map():
                    watch.unregister(connection)
                os.close(key.fileobj)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                try:
                    connection.sendall(bytes([code if code >= 0 else 128 - code]))
                except OSError:
                    pass
                connection.close()
            else:                              # a signal to pass on, or who asked has gone
                if key.data not in connections:
                    continue
                pid, connection = connections[key.data]
                try:
                    signals = connection.recv(16)
                except OSError:
                    signals = b""
                try:
                    for number in signals:
                        os.kill(pid, number)
                    if not signals:
                        watch.unregister(connection)
                        os.killpg(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass


def run(path, arguments, began):
    """Asks for a job and waits for its end: its exit status."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except OSError as e:
        sys.exit(f"mix_job: no warm process listens at {path}: {e.strerror}")
    text = json.dumps({"arguments": arguments, "began": began, "environment": dict(os.environ), "folder": os.getcwd(),
                       "cpus": sorted(os.sched_getaffinity(0)), "groups": control_groups()}).encode()
    for number in _PASSED:
        signal.signal(number, lambda n, _: connection.send(bytes([n])))
    connection.sendmsg([struct.pack("<Q", len(text))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
    connection.sendall(text)
    status = connection.recv(1)
    return status[0] if status else 137


def preload(names):
    kinds = {name.partition(":")[0] for name in names}
    import workloads
    wanted = {"tv": "torchvision", "seg": "torchvision", "det": "torchvision", "timm": "timm", "hf": "transformers",
              "wav2vec2": "transformers", "llama": "transformers", "gpt2lm": "transformers", "bart": "transformers", "t5": "transformers"}
    for module in sorted({wanted[kind] for kind in kinds if kind in wanted}):
        try:
            __import__(module)
        except ImportError as e:
            print(f"warm: {e}", file=sys.stderr)
    for name in sorted(set(names)):            # models import parts of their libraries when they are made
        try:
            workloads.task(name, 1)
        except (Exception, SystemExit) as e:   # noqa: BLE001, the job itself says it better
            print(f"warm: {name}: {e!r}", file=sys.stderr)


if __name__ == "__main__":
    HERE = pathlib.Path(__file__).resolve().parent
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]
    import torch
    torch.set_num_threads(1)                   # no pool of threads before the fork
    preload(sys.argv[2:])
    serve(sys.argv[1])
