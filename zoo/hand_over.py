"""A training loop's side of warm.py: before it imports PyTorch, it is handed over to the process that has done so."""
import array
import json
import os
import signal
import socket
import struct
import sys

_PASSED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)
VARIABLE = "ZOO_WARM"                          # the socket of the warm process


def control_groups():
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        return file.read()


def run(path, arguments):
    """Asks for the script `arguments[0]` to be run with the rest, and waits for its end: its exit status."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except OSError as e:
        sys.exit(f"zoo: no warm process listens at {path}: {e.strerror}")
    text = json.dumps({"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd(),
                       "cpus": sorted(os.sched_getaffinity(0)), "groups": control_groups()}).encode()
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED)   # none of them into the middle of the request
    for number in _PASSED:
        signal.signal(number, lambda n, _: connection.send(bytes([n])))
    connection.sendmsg([struct.pack("<Q", len(text))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
    connection.sendall(text)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED)
    try:
        status = connection.recv(1)
    except OSError:                                # the warm process was killed
        status = b""
    return status[0] if status else 137


def hand_over():
    """For a loop, before it imports PyTorch: where a warm process is named, it runs this script, and this process ends with it."""
    path = os.environ.pop(VARIABLE, None)
    if path:
        sys.exit(run(path, sys.argv))
