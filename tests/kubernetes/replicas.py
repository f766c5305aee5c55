"""Replicas of `sharewell serve --engine kubernetes` with a Lease, started again when they end, as a Deployment does it; and clocks that disagree."""

import datetime
import os
import pathlib
import random
import signal
import struct
import subprocess
import threading
import time

from serving import Server

LEASE = "/apis/coordination.k8s.io/v1/namespaces/sharewell-system/leases/sharewell"
HOUR = 3600


class SkewedClock:
    """The time of day of those who are started with .env, wrong by so many seconds; set() while they run."""

    def __init__(self, folder, name, seconds):
        library, self.file = folder / "libskewed_clock.so", folder / f"skew.{name}"
        if not library.exists():
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, pathlib.Path(__file__).with_name("skewed_clock.c")], check=True)
        self.set(seconds)
        options = os.environ.get("ASAN_OPTIONS", "")
        self.env = {"LD_PRELOAD": str(library), "SKEWED_CLOCK": str(self.file), "ASAN_OPTIONS": f"{options}:verify_asan_link_order=0".lstrip(":")}

    def set(self, seconds):
        with open(self.file, "r+b" if self.file.exists() else "wb") as file:
            file.write(struct.pack("=q", seconds))


class Replicas:
    """`skews`: by name, of its clock in seconds."""

    def __init__(self, cluster, skews):
        self.cluster = cluster
        self.chance = random.Random(11)
        self.clocks, self.servers = {}, {}
        for name, seconds in skews.items():
            self.add(name, seconds)
        self.over = threading.Event()
        self.keeper = threading.Thread(target=self._keep, daemon=True)
        self.keeper.start()

    def add(self, name, seconds):
        self.clocks[name] = SkewedClock(self.cluster.folder, name, seconds)
        self.servers[name] = self._start(name)
        return self.servers[name]

    def _start(self, name):
        return Server(self.cluster, "--lease", "sharewell-system", name=name, ready=False, env=self.clocks[name].env)

    def _keep(self):
        while not self.over.wait(0.2):
            for name, server in list(self.servers.items()):
                if server.process.poll() is not None:
                    self.servers[name] = self._start(name)

    def stop(self):
        self.over.set()
        self.keeper.join(timeout=10)
        for server in self.servers.values():
            server.process.send_signal(signal.SIGCONT)
            server.end(signal.SIGKILL)

    def lease(self):
        status, lease = self.cluster.request("GET", LEASE)
        return lease["spec"] if status == 200 else {}

    def leader(self):
        """The name of the one that holds the Lease, by its process; None: nobody, or one that has ended."""
        parts = (self.lease().get("holderIdentity") or "").split("_")
        return next((name for name, server in self.servers.items() if str(server.process.pid) in parts and server.process.poll() is None), None)

    def wait_leader(self, but=None):
        return self.cluster.wait_until(lambda: (name := self.leader()) and name != but and name, lambda: f"nobody leads: {self.lease()}\n{self.said()}")

    def renewed_ahead(self):
        """Seconds by which the time of the last renewal is ahead of ours."""
        text = self.lease()["renewTime"].rstrip("Z")
        return (datetime.datetime.fromisoformat(text) - datetime.datetime.utcnow()).total_seconds()

    def said(self):
        return "".join(f"--- {name}\n{server.said()[-1500:]}\n" for name, server in self.servers.items())

    # ---- troubles

    def kill(self):
        self.servers[self.wait_leader()].end(signal.SIGKILL)

    def pause(self):
        """A leader that stands still while another takes over, and then goes on where it was: for a moment both believe to lead."""
        name = self.wait_leader()
        process = self.servers[name].process
        process.send_signal(signal.SIGSTOP)
        self.wait_leader(but=name)
        time.sleep(self.chance.random())
        process.send_signal(signal.SIGCONT)

    def set_clocks(self):
        """Each is set by up to an hour, forwards or back; never to before the API server's certificate."""
        for clock in self.clocks.values():
            clock.set(self.chance.randrange(HOUR))
