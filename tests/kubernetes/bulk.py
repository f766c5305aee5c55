"""Many requests to the API server of a cluster at once, over connections that stay, and a watch of its pods: for scale.py and gain.py."""

import concurrent.futures
import http.client
import json
import threading
import time


class Bulk:
    def __init__(self, cluster, threads=8):
        self.cluster = cluster
        self.pool = concurrent.futures.ThreadPoolExecutor(threads)
        self.local = threading.local()

    def _ask(self, method, path, body=None, kind="application/json"):
        for _ in range(5):
            try:
                if getattr(self.local, "connection", None) is None:
                    self.local.connection = http.client.HTTPSConnection("127.0.0.1", self.cluster.port, context=self.cluster.context, timeout=60)
                self.local.connection.request(method, path, None if body is None else json.dumps(body),
                                              {"Authorization": "Bearer admin-token", **({"Content-Type": kind} if body is not None else {})})
                answer = self.local.connection.getresponse()
                text = answer.read()
            except (OSError, http.client.HTTPException):
                self.local.connection.close()
                self.local.connection = None
                continue
            if answer.status == 429:
                time.sleep(1)
                continue
            if answer.status >= 300 and answer.status not in (404, 409):
                raise AssertionError(f"{method} {path}: {answer.status} {text[:300]}")
            return text
        raise AssertionError(f"{method} {path}: no answer")

    def all(self, requests):
        """Each is (method, path, body, kind), the last two may be missing."""
        return list(self.pool.map(lambda one: self._ask(*one), requests))

    def add_nodes(self, nodes):
        """{name: (annotations, capacity)}, ready and without the taint of new ones."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.all([("POST", "/api/v1/nodes", {"metadata": {"name": name, "annotations": annotations}, "status": {
            "capacity": capacity, "allocatable": capacity, "conditions": [
                {"type": "Ready", "status": "True", "reason": "Played", "lastHeartbeatTime": moment, "lastTransitionTime": moment}]}})
            for name, (annotations, capacity) in nodes.items()])
        self.all([("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}}, "application/merge-patch+json") for name in nodes])


class Watcher(threading.Thread):
    """When pods were seen bound: {uid: time.time()}; `names`: {uid: (namespace, name)} of those that are there."""

    def __init__(self, cluster, selector=""):
        super().__init__(daemon=True)
        self.cluster, self.selector = cluster, selector
        self.bound, self.names, self.nodes = {}, {}, {}
        self.over = threading.Event()

    def run(self):
        version = self.cluster.get("/api/v1/pods?limit=1")["metadata"]["resourceVersion"]
        while not self.over.is_set():
            connection = http.client.HTTPSConnection("127.0.0.1", self.cluster.port, context=self.cluster.context, timeout=600)
            try:
                connection.request("GET", f"/api/v1/pods?watch=1&resourceVersion={version}&timeoutSeconds=500",
                                   headers={"Authorization": "Bearer admin-token"})
                answer = connection.getresponse()
                while not self.over.is_set() and (line := answer.readline()):
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise AssertionError(f"the watch of the test broke: {event}")
                    version = event["object"]["metadata"]["resourceVersion"]
                    self._take(event["type"], event["object"])
            finally:
                connection.close()

    def _take(self, kind, pod):
        uid = pod["metadata"]["uid"]
        if kind == "DELETED":
            self.names.pop(uid, None)
            return
        self.names[uid] = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        if pod["spec"].get("nodeName") and uid not in self.bound:
            self.bound[uid] = time.time()
            self.nodes[uid] = pod["spec"]["nodeName"]


def requests_of(cluster):
    """{(verb, resource): requests so far}, by the API server's own count."""
    counts = {}
    for line in cluster.get("/metrics").splitlines():
        if not line.startswith("apiserver_request_total{"):
            continue
        labels = dict(part.split("=", 1) for part in line[line.index("{") + 1:line.index("}")].split('",') if "=" in part)
        key = (labels.get("verb", "").strip('"'), "/".join(filter(None, (labels.get("resource", "").strip('"'), labels.get("subresource", "").strip('"')))))
        counts[key] = counts.get(key, 0) + int(float(line.rsplit(" ", 1)[1]))
    return counts
