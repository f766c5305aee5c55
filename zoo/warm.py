#!/usr/bin/env python3
"""A process that has PyTorch imported, and forks a loop from itself when one is started, which then begins without importing it.

  python3 zoo/warm.py [WORKLOAD...] -- sharewell sweep zoo/cores.toml

While the command runs, every loop of the zoo that it starts finds $ZOO_WARM and is handed over to the warm process.
What importing PyTorch costs is the machine's disk and Python, not the GPU and not who shares it: many short runs in a row would be measured
mostly by it. No CUDA context is made before the fork. The forked process takes over what its starter was given: environment (so which
GPU, and its share of it), folder, output, CPUs and control groups; it dies with the process that asked for it, and gives it its exit status.
WORKLOAD, a name as in data/h200, is made once, so that the parts of libraries that it needs are imported too.
"""
import array
import ctypes
import json
import os
import pathlib
import runpy
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import warnings

from hand_over import VARIABLE, control_groups


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


def die_with_the_warm():
    """Whoever is forked from the warm process does not outlive it: on a GPU it would hold memory for good."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)     # PR_SET_PDEATHSIG


def become(request, files):
    """In the forked process: the job, from here on."""
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
    script = request["arguments"][0]
    sys.argv[:] = request["arguments"]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")


def serve(path):
    """Until it is ended, or its standard input is: who started it has gone then."""
    server = os.getpid()
    # PyTorch has threads, which do nothing before a loop runs.
    warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(64)
    watch = selectors.DefaultSelector()
    watch.register(listener, selectors.EVENT_READ)
    watch.register(0, selectors.EVENT_READ)
    connections = {}                           # pidfd -> (pid, connection)
    print("warm", flush=True)
    while True:
        for key, _ in watch.select():
            if key.fileobj == 0:
                if not os.read(0, 1):
                    sys.exit()
            elif key.fileobj is listener:
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
                    os.setsid()
                    die_with_the_warm()
                    signal.signal(signal.SIGTERM, signal.SIG_DFL)
                    if os.getppid() != server:
                        os._exit(1)
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
                        os.kill(pid, signal.SIGKILL)      # it may not lead its group yet
                        os.killpg(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass


def preload(names):
    import families
    for name in sorted(set(names)):            # models import parts of their libraries when they are made
        try:
            families.task(name, 1)
        except (Exception, SystemExit) as e:   # noqa: BLE001, the loop itself says it better
            print(f"warm: {name}: {e!r}", file=sys.stderr)


def become_warm(path, names):
    """Imports, then serves until it is ended."""
    os.environ.pop(VARIABLE, None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        import torch
    except ImportError:
        sys.exit("zoo: PyTorch is not installed: pip install torch torchvision; zoo/plain.py runs without it")
    torch.set_num_threads(1)                   # no pool of threads before the fork
    preload(names)
    if torch.cuda.is_initialized():
        sys.exit("warm: a model made a CUDA context; processes forked from here could not use the GPU")
    serve(path)


class Warm:
    """The warm process, for as long as the block lasts. `path`: its socket."""

    def __init__(self, names):
        self.folder = tempfile.TemporaryDirectory(prefix="warm-")
        self.path = os.path.join(self.folder.name, "s")
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve", self.path, *names], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, start_new_session=True)  # signals are for the command

    def __enter__(self):
        try:
            ready = self.process.stdout.readline() == "warm\n"
        except BaseException:
            self.__exit__()
            raise
        if not ready:
            self.__exit__()
            sys.exit(1)                        # it has said why
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def run_command(command, environment):
    """Its exit status, as a shell has it. Told to end, so is the command, and is waited for."""
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as e:
        sys.exit(f"zoo: {command[0]!r} cannot be run: {e.strerror}")
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    signal.signal(signal.SIGINT, signal.SIG_IGN)   # from a terminal the command has it too
    code = process.wait()
    return code if code >= 0 else 128 - code


def main():
    words = sys.argv[1:]
    if words[:1] == ["--serve"]:
        become_warm(words[1], words[2:])
    if words[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if "--" not in words or words[-1] == "--":
        print(__doc__, file=sys.stderr)
        return 2
    names, command = words[:words.index("--")], words[words.index("--") + 1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the warm process is ended
    try:
        with Warm(names) as warm:
            return run_command(command, {**os.environ, VARIABLE: warm.path})
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
