#!/usr/bin/env python3
"""Many short pods while things break: our server is killed (SIGKILL) again and again, and so are the API server and etcd; answers are lost, watches
cut, writes refused; two servers lead at once. None is lost, none is bound twice, no GPU is given to more than fits on it, and no claim stays.

What is checked is what a watch of the API server shows, in its order. faults_test.py does the same with fewer pods. Part of `make soak`:

    SHAREWELL=build/release/sharewell /usr/bin/python3 tests/kubernetes/faults.py --pods 2000 --kills 50
"""

import argparse
import collections
import os
import random
import shutil
import signal
import sys
import threading
import time

from cluster import Cluster
from replicas import HOUR, Replicas
from serving import OURS, SMALL, Server, claims_of, gpus_of, placed

STILL = 120  # seconds without any progress
MOST_ON_GPU = 8
SECONDS = "test.sharewell.io/seconds"
# (annotations, whether it has its GPU for itself)
KINDS = [({**SMALL, SECONDS: "0.6"}, False), ({SECONDS: "0.1"}, True), ({**SMALL, SECONDS: "1.2"}, False), ({OURS + "exclusive": "true", SECONDS: "0"}, True)]


class Recorder:
    """Follows the watch of the kubelets: who is on which GPU, and what is wrong about it."""

    def __init__(self):
        self.over, self.names, self.wrong = set(), {}, []
        self.bound = {}  # by uid: where
        self.there = collections.defaultdict(dict)  # by GPU: {uid: it is to be alone}
        self.most = 0

    def __call__(self, kind, pods):
        if kind == "LIST":  # what was missed cannot be judged; what is there now can
            self.there.clear()
        for pod in pods:
            self._take(kind, pod)

    def _take(self, kind, pod):
        uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName")
        self.names[uid] = pod["metadata"]["name"]
        if not node:
            return
        place = (node, tuple(placed(pod)))
        if self.bound.setdefault(uid, place) != place:
            self.wrong.append(f"{self.names[uid]} was bound to {self.bound[uid]} and then to {place}")
        over = kind == "DELETED" or pod["status"]["phase"] in ("Succeeded", "Failed")
        if pod["status"]["phase"] == "Succeeded":
            self.over.add(uid)
        alone = OURS + "model" not in pod["metadata"]["annotations"]
        for gpu in placed(pod):
            there = self.there[gpu]
            if over:
                there.pop(uid, None)
                continue
            there[uid] = alone
            self.most = max(self.most, len(there))
            if len(there) > MOST_ON_GPU or (any(there.values()) and len(there) > 1):
                self.wrong.append(f"{gpu} has {sorted(self.names[one] for one in there)}")


class Stream:
    """So many pods through a cluster, with one trouble after the other on the way. `troubles`: functions, called each when its part is over."""

    def __init__(self, cluster, pods, troubles, prefix="p", seed=17):
        self.cluster, self.pods, self.troubles, self.prefix = cluster, pods, troubles, prefix
        self.chance = random.Random(seed)
        self.recorder = Recorder()
        self.problem = None

    def _make(self):
        try:
            for i in range(self.pods):
                while True:  # the API server may be away, or may have done it without an answer
                    try:
                        if self.cluster.pod(f"{self.prefix}{i}") is None:
                            self.cluster.add_pod(f"{self.prefix}{i}", annotations=KINDS[i % len(KINDS)][0])
                        break
                    except Exception:  # noqa: BLE001
                        time.sleep(0.2)
        except BaseException as error:  # noqa: BLE001 (told where it is joined)
            self.problem = error

    def run(self):
        """Seconds until all are over."""
        self.cluster.playing.seen = self.recorder
        begin = moved = time.monotonic()
        maker = threading.Thread(target=self._make, daemon=True)
        maker.start()
        # One in each of so many equal parts, anywhere in it, by how many are over: how fast the machine is does not matter.
        parts = len(self.troubles) + 1
        due = [int((i + self.chance.random()) * self.pods / parts) for i in range(len(self.troubles))]
        done, last = 0, -1
        while len(self.recorder.over) < self.pods:
            if len(self.recorder.over) > last:
                last, moved = len(self.recorder.over), time.monotonic()
            if done < len(due) and last >= due[done]:
                time.sleep(self.chance.random() / 2)  # anywhere in what it does
                self.troubles[done]()
                done, moved = done + 1, time.monotonic()
            if self.problem:
                raise self.problem
            if time.monotonic() - moved > STILL:
                there = self.cluster.pods()
                left = [f"{pod['metadata']['name']}: {pod['status'].get('conditions')}" for pod in there if pod["status"]["phase"] != "Succeeded"]
                raise AssertionError(f"{len(self.recorder.over)} of {self.pods} are over and none ended for {STILL} s; {len(there)} are there, of which "
                                     f"{left[:3]} have not ended")
            time.sleep(0.05)
        while done < len(due):
            self.troubles[done]()
            done += 1
        maker.join(timeout=60)
        return time.monotonic() - begin

    def claims(self):
        return [claim for node in self.cluster.get("/api/v1/nodes")["items"] for claim in claims_of(node).items()]

    def wrong(self, server):
        """What must not be, once all are over: in words. `server`: None where two lead, as each knows of a part alone."""
        if self.cluster.front:
            self.cluster.front.clear()  # those that nobody met yet
        wrong, jobs = list(self.recorder.wrong), {}
        phases = collections.Counter(pod["status"]["phase"] for pod in self.cluster.pods())
        if phases != {"Succeeded": self.pods}:
            wrong.append(f"of {self.pods} pods there are {dict(phases)}")
        end = time.monotonic() + 90  # a claim of nobody rests for 30 s
        while self.claims() and time.monotonic() < end:
            time.sleep(0.2)
        if self.claims():
            wrong.append(f"claims stay: {self.claims()[:3]}")
        end = time.monotonic() + 30
        while server and time.monotonic() < end:
            jobs = collections.Counter(job["phase"] for job in server.jobs())
            if not {"running", "waiting", "starting", "queued"} & set(jobs) and jobs["finished"] >= self.pods * 0.9:
                break
            time.sleep(0.5)
        else:
            if server:
                wrong.append(f"the server knows of {dict(jobs)} jobs, not of {self.pods} finished ones")
        return wrong


class Troubles:
    """What may happen; `server`: the one that works now."""

    def __init__(self, cluster, *args):
        self.cluster, self.args = cluster, args
        self.chance = random.Random(7)
        self.server = Server(cluster, *args)

    def fault(self, **how):
        self.cluster.front.fault(user="scheduler-token", **how)

    def kill(self):
        self.server.end(signal.SIGKILL)
        time.sleep(self.chance.random() * 0.3)
        self.server = Server(self.cluster, *self.args)

    def kill_api_server(self):
        self.cluster.kill_server()
        time.sleep(self.chance.random())
        self.cluster.start_server()

    def kill_etcd(self):
        self.cluster.kill_etcd()
        time.sleep(self.chance.random())
        self.cluster.start_etcd()
        self.cluster.wait_ready()

    def cut_watches(self):
        for cut in (1, 50, 300, 900, 2500):
            self.fault(path="watch=1", cut=self.chance.randrange(cut, 2 * cut))
        self.cluster.front.cut()

    def lose_answers(self):
        """It happens, and we do not hear of it."""
        for method, path in (("POST", "/binding$"), ("PATCH", r"/nodes/[^/]+$"), ("PATCH", "/status$"), ("POST", "/events$")):
            self.fault(method=method, path=path, lose=True, times=5)

    def refuse_writes(self):
        for status in (409, 500, 503, 429, 504):
            for method, path in (("POST", "/binding$"), ("PATCH", r"/nodes/[^/]+$"), ("PATCH", "/status$")):
                self.fault(method=method, path=path, status=status, retry_after=1 if status == 429 else None, times=4)

    def refuse_everything(self):
        self.fault(status=500, times=40)

    def forget_the_past(self):
        self.cluster.forget()
        self.cut_watches()

    def hang(self):
        """Answers that come late, some after we gave up."""
        self.fault(method="POST", path="/binding$", delay=3, times=3)
        self.fault(method="PATCH", path=r"/nodes/[^/]+$", delay=2, times=3)

    def in_front(self):
        """What needs cluster.front."""
        return [self.cut_watches, self.lose_answers, self.refuse_writes, self.refuse_everything, self.forget_the_past, self.hang]


def add_nodes(cluster, count, gpus=2):
    for i in range(count):
        cluster.add_node(f"n{i}", annotations={OURS + "gpus": " ".join(["H200", *gpus_of(f"n{i}", gpus)])})


def replicas_scenario(name, pods, make_troubles, *, real, keep=None, nodes=3):
    """As scenario(), with two replicas that have a Lease and clocks an hour apart."""
    with Cluster(real, manifests=("deploy/kubernetes/base",)) as cluster:
        cluster.play()
        add_nodes(cluster, nodes)
        replicas = Replicas(cluster, {"one": HOUR, "two": 0})
        stream = Stream(cluster, pods, make_troubles(replicas))
        try:
            seconds = stream.run()
            wrong = stream.wrong(None)
        except AssertionError as error:
            seconds, wrong = float("nan"), [str(error), replicas.said()]
        finally:
            replicas.stop()
            if keep:
                shutil.copytree(cluster.folder, f"{keep}/{name}", dirs_exist_ok=True, ignore=shutil.ignore_patterns("etcd", "*.sock"))
    return report(name, stream, seconds, wrong)


def scenario(name, pods, make_troubles, *, real, faults, second=False, keep=None, nodes=3):
    """One stream on a cluster of its own; what was wrong."""
    with Cluster(real, faults=faults, manifests=("deploy/kubernetes/base",)) as cluster:
        cluster.play()
        add_nodes(cluster, nodes)
        troubles = Troubles(cluster)
        other = Server(cluster, name="two") if second else None  # without a lease both lead
        stream = Stream(cluster, pods, make_troubles(troubles))
        try:
            seconds = stream.run()
            wrong = stream.wrong(None if second else troubles.server)
        except AssertionError as error:
            seconds, wrong = float("nan"), [str(error), troubles.server.said()[-2000:]]
        finally:
            troubles.server.end(signal.SIGKILL)
            if other:
                other.end(signal.SIGKILL)
            if keep:
                shutil.copytree(cluster.folder, f"{keep}/{name}", dirs_exist_ok=True, ignore=shutil.ignore_patterns("etcd", "*.sock"))
    return report(name, stream, seconds, wrong)


def report(name, stream, seconds, wrong):
    print(f"{name}: {stream.pods} pods in {seconds:.1f} s ({stream.pods / seconds:.1f} a second), {len(stream.troubles)} troubles, at most "
          f"{stream.recorder.most} on a GPU, {len(wrong)} wrong", flush=True)
    for line in wrong[:10]:
        print("  " + line, file=sys.stderr, flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=400, help="of the stream with kills; the others have a quarter")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--fake", action="store_true", help="against the fake API server")
    parser.add_argument("--only", help="this scenario alone")
    parser.add_argument("--keep", metavar="FOLDER", help="where the logs go")
    options = parser.parse_args()
    real, some = not options.fake, max(options.pods // 4, 40)
    scenarios = {
        "kills": (options.pods, lambda t: [t.kill] * options.kills, {"faults": False}),
        # None is killed: without a lease and with a store each they give the same numbers away, and a restart takes them for its own.
        "two_lead": (some, lambda t: [], {"faults": False, "second": True}),
        "front": (some, lambda t: t.in_front() * 2, {"faults": True}),
        "front_and_two": (some, lambda t: t.in_front(), {"faults": True, "second": True}),
    }
    if real:
        scenarios["servers"] = (some, lambda t: [t.kill_api_server, t.kill_etcd, t.kill] * 2, {"faults": False})
    wrong = []
    for name, (pods, troubles, how) in scenarios.items():
        if not options.only or options.only == name:
            wrong += scenario(name, pods, troubles, real=real, keep=options.keep, **how)
    if not options.only or options.only == "replicas":
        wrong += replicas_scenario("replicas", some, lambda r: [r.pause, r.set_clocks, r.kill] * max(options.kills // 10, 1), real=real, keep=options.keep)
    if wrong:
        sys.exit(f"{len(wrong)} things are wrong")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    main()
