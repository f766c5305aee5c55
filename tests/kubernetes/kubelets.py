"""Plays the kubelets of a cluster (cluster.py): a pod that is bound to a node runs, one that was deleted ends, nodes send heartbeats. The
annotation test.sharewell.io/seconds of a pod says how long it runs; without one it runs until finish(name), or for ever."""

import http.client
import json
import threading
import time


class Kubelets:
    """`heartbeat`: seconds between a node's signs of life; None: it sends none. `end`: seconds that a deleted pod takes to end."""

    def __init__(self, cluster, heartbeat=None, end=0.1):
        self.cluster, self.heartbeat, self.end = cluster, heartbeat, end
        self.seen = lambda kind, pods: None  # is told all that the watch tells: "LIST" and all pods, or the event's type and one
        self.silent = set()  # nodes whose kubelet says nothing
        self.finished = {}  # (namespace, name) -> exit code
        self.pods, self.since, self.ending = {}, {}, {}  # by uid: the object, when it ran, when its end began
        self.over = threading.Event()
        self.threads = []

    def start(self):
        for work in (self._follow, self._act):
            self.threads.append(threading.Thread(target=work, daemon=True))
            self.threads[-1].start()
        return self

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join(timeout=5)

    def finish(self, name, space="default", code=0):
        self.finished[(space, name)] = code

    # ---- what there is

    def _follow(self):
        """List and watch, with nothing kept when it breaks."""
        while not self.over.is_set():
            try:
                listed = self.cluster.get("/api/v1/pods")
                self.pods = {pod["metadata"]["uid"]: pod for pod in listed["items"]}
                self.seen("LIST", listed["items"])
                self._watch(listed["metadata"]["resourceVersion"])
            except Exception:  # noqa: BLE001 (whatever a server does that is killed)
                self.over.wait(0.1)

    def _watch(self, version):
        port = self.cluster.port if self.cluster.real else self.cluster.front.port
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=self.cluster.context, timeout=30)
        try:
            connection.request("GET", f"/api/v1/pods?watch=1&resourceVersion={version}&timeoutSeconds=20", headers={"Authorization": "Bearer admin-token"})
            answer = connection.getresponse()
            while not self.over.is_set() and (line := answer.readline()):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                uid = event["object"]["metadata"]["uid"]
                self.seen(event["type"], [event["object"]])
                if event["type"] == "DELETED":
                    self.pods.pop(uid, None)
                else:
                    self.pods[uid] = event["object"]
        finally:
            connection.close()

    # ---- what they do

    def _act(self):
        next_beat = time.monotonic()
        while not self.over.wait(0.05):
            for pod in list(self.pods.values()):
                try:
                    self._tend(pod)
                except Exception:  # noqa: BLE001 (tried again)
                    continue
            if self.heartbeat and time.monotonic() >= next_beat:
                next_beat = time.monotonic() + self.heartbeat
                try:
                    for node in self.cluster.get("/api/v1/nodes")["items"]:
                        if node["metadata"]["name"] not in self.silent:
                            self.cluster.set_ready(node["metadata"]["name"], "True")
                except Exception:  # noqa: BLE001
                    continue

    def _tend(self, pod):
        metadata, node = pod["metadata"], pod["spec"].get("nodeName")
        uid, space, name, phase = metadata["uid"], metadata["namespace"], metadata["name"], pod["status"].get("phase")
        if not node or node in self.silent:
            return
        path = f"/api/v1/namespaces/{space}/pods/{name}"
        if metadata.get("deletionTimestamp"):
            if time.monotonic() - self.ending.setdefault(uid, time.monotonic()) >= self.end:
                self.cluster.request("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}})
                self.pods.pop(uid, None)
            return
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        if phase == "Pending":
            self._status(path, uid, "Running", moment, {"running": {"startedAt": moment}}, startTime=moment)
            self.since[uid] = time.monotonic()
        elif phase == "Running":
            seconds = metadata.get("annotations", {}).get("test.sharewell.io/seconds")
            code = self.finished.get((space, name))
            if code is None and seconds and time.monotonic() - self.since.setdefault(uid, time.monotonic()) >= float(seconds):
                code = 0
            if code is not None:
                self.finished.pop((space, name), None)
                self._status(path, uid, "Failed" if code else "Succeeded", moment,
                             {"terminated": {"exitCode": code, "startedAt": pod["status"].get("startTime", moment), "finishedAt": moment, "reason": "Error" if code else "Completed"}})

    def _status(self, path, uid, phase, moment, state, **more):
        done = self.cluster.patch(path + "/status", {"metadata": {"uid": uid}, "status": {"phase": phase, **more, "containerStatuses": [
            {"name": "main", "image": "example.org/image", "imageID": "", "ready": phase == "Running", "restartCount": 0, "state": state}],
            "conditions": [{"type": "Ready", "status": "True" if phase == "Running" else "False", "lastTransitionTime": moment}]}})
        self.pods[uid] = done
