"""For tests that start servers of others on this machine: ports for them, and an end with the test."""

import ctypes
import random
import signal
import socket


def die_with_parent():
    """As preexec_fn: the child is killed when whoever started it ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def free_ports(count):
    """Ports next to each other that nobody listens on, below those that the kernel gives to clients."""
    for _ in range(200):
        first = random.randrange(12000, 31000)
        sockets = []
        try:
            for port in range(first, first + count):
                sockets.append(socket.socket())
                sockets[-1].bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise AssertionError("no free ports")
