"""Stub jobs of a real Slurm that go as fast as the simulator's truth says (slurm_world.cc).

A stub tells where it was started, and waits. One driver, here, hands starts and ends to the world and wakes each stub when its work is done, so
that twenty stubs cost no CPU time to speak of. Stubs that Slurm stops keep their work, and pay the world's 30 s when they start again.
"""
import errno
import os
import pathlib
import select
import subprocess
import time

WORLD = pathlib.Path(os.environ.get("SHAREWELL", "build/release/sharewell")).resolve().parent / "slurm_world"
# $1: the folder of pipes. One line of less than 4 KiB is written at once, whoever else writes.
SCRIPT = """echo "$SLURM_JOB_NAME $SLURMD_NODENAME ${{CUDA_VISIBLE_DEVICES:-none}} ${{CUDA_MPS_ACTIVE_THREAD_PERCENTAGE:-100}} $SLURM_CPUS_ON_NODE" \
> {folder}/told
read -r word < {folder}/$SLURM_JOB_NAME
[ "$word" = done ]
"""


class Stubs:
    """`jobs`: their names, in the trace's order. `gpus`: "n1/0" -> the number of that GPU in the cluster file."""

    def __init__(self, folder, trace, cluster_file, jobs, gpus, seed=1):
        self.folder, self.gpus = pathlib.Path(folder), gpus
        self.number = {name: i for i, name in enumerate(jobs)}
        self.folder.mkdir()
        self.folder.chmod(0o755)
        for name in ("told", *jobs):
            os.mkfifo(self.folder / name)
            (self.folder / name).chmod(0o666)
        self.script = SCRIPT.format(folder=self.folder)
        self.told = os.open(self.folder / "told", os.O_RDWR | os.O_NONBLOCK)
        self.text = b""
        self.world = subprocess.Popen([WORLD, trace, cluster_file, str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.began = time.monotonic()
        self.next = None  # when the world has something to tell
        self.waiting = {}  # stubs that told of themselves, and whose pipe is not open yet: name -> place
        self.running = {}  # name -> the pipe's descriptor
        self.done = set()  # those of the running that were told to end
        self.starts = {}  # name -> [(time, place, share)]
        self.ends = {}  # name -> time
        self.broken = []

    def now(self):
        return time.monotonic() - self.began

    def _ask(self, *words):
        self.world.stdin.write(" ".join(map(str, (f"{self.now():.6f}", *words))) + "\n")
        self.world.stdin.flush()
        while True:
            answer = self.world.stdout.readline().split()
            if not answer:
                raise RuntimeError("slurm_world has ended")
            if answer[0] == "next":
                self.next = None if answer[1] == "never" else float(answer[1])
                return
            name = next(n for n, i in self.number.items() if i == int(answer[1]))
            if answer[0] == "broken":
                self.broken.append(name)
            self.done.add(name)
            if name in self.running:
                os.write(self.running[name], b"done\n" if answer[0] == "finished" else b"broken\n")

    def _open(self):
        """The stub opens its pipe a moment after it told of itself."""
        for name, place in list(self.waiting.items()):
            try:
                self.running[name] = os.open(self.folder / name, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                continue
            del self.waiting[name]
            node, gpu, share, cores = place
            self.starts.setdefault(name, []).append((self.now(), f"{node}/{gpu}", int(share)))
            self._ask("start", self.number[name], self.gpus[f"{node}/{gpu}"], int(share) / 100, cores)

    def step(self, until):
        """All that happens until then (a time of now()); returns earlier, after anything that did."""
        wake = min(t for t in (until, self.next, self.now() + 0.01 if self.waiting else None) if t is not None)
        poll = select.poll()
        poll.register(self.told, select.POLLIN)
        names = {pipe: name for name, pipe in self.running.items()}
        for pipe in names:
            poll.register(pipe, 0)  # only that its reader is gone
        for pipe, _ in poll.poll(max(0, wake - self.now()) * 1000):
            if pipe == self.told:
                *lines, self.text = (self.text + os.read(self.told, 65536)).split(b"\n")
                for line in lines:
                    name, *place = line.decode().split()
                    self.waiting[name] = place
            else:
                self._gone(names[pipe])
        self._open()
        if self.next is not None and self.next <= self.now():
            self._ask()

    def _gone(self, name):
        os.close(self.running.pop(name))
        if name in self.done:
            self.done.discard(name)
            self.ends[name] = self.now()
        else:
            self._ask("stop", self.number[name])

    def close(self):
        for pipe in (self.told, *self.running.values()):
            os.close(pipe)
        self.world.stdin.close()
        self.world.wait(timeout=10)
        self.world.stdout.close()
