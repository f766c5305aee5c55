#!/usr/bin/env python3
"""`sharewell serve --engine kubernetes`: whole lives of pods, against the fake API server and the same against a real one. The tests of a class share
its API server; each has nodes and a server of its own."""

import os
import time
import unittest

from cluster import GPU_ENV
from serving import OURS, SMALL, ServeTest, claims_of, condition, gpus_of, placed

POD_GROUP = "scheduling.x-k8s.io/pod-group"
POD_GROUP_KIND = {
    "metadata": {"name": "podgroups.scheduling.x-k8s.io",
                 "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/52"}},
    "spec": {"group": "scheduling.x-k8s.io", "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup"}, "scope": "Namespaced",
             "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                 "type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}]}}
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
BUDGETS = "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets"

class Lives:
    """From a pod that was made to its end."""

    def test_placed_on_the_chosen_gpu_and_its_life_is_told(self):
        self.add_nodes("n1", "n2")
        made = self.cluster.add_pod("a", resources={"requests": {"cpu": "2", "memory": "1Gi"}})
        self.serve()
        pod = self.cluster.wait_pod("a", phase="Running")
        node, (gpu,) = pod["spec"]["nodeName"], placed(pod)
        self.assertIn(gpu, gpus_of(node, 2))
        self.assertEqual(self.claims()[made["metadata"]["uid"]][::2], (node, [gpu]))
        self.assertEqual(pod["metadata"]["annotations"][OURS + "sm-share"], "100")
        number = self.number("a")
        self.assertEqual(pod["metadata"]["annotations"][OURS + "job"], str(number))
        self.cluster.wait_until(lambda: self.server.job(number)["phase"] == "running", "the server does not know that it runs")
        self.assertEqual([one["uuid"] for one in self.server.job(number)["gpus"]], [gpu])
        self.cluster.wait_until(lambda: any(event["reason"] == "Scheduled" and gpu in event["message"] for event in self.events("a")), "no Event")
        self.cluster.playing.finish("a")
        self.cluster.wait_until(lambda: self.server.job(number)["phase"] == "finished", lambda: self.server.job(number))
        self.cluster.wait_until(lambda: not self.claims(), lambda: f"its claim stays: {self.claims()}")

    def test_a_pod_that_fails(self):
        self.add_nodes("n1")
        self.serve()
        self.cluster.add_pod("bad")
        self.cluster.wait_pod("bad", phase="Running")
        self.cluster.playing.finish("bad", code=3)
        number = self.number("bad")
        self.cluster.wait_until(lambda: self.server.job(number)["phase"] == "failed", lambda: self.server.job(number))
        self.assertEqual(self.server.job(number)["exit_code"], 3)

    def test_two_share_a_gpu_because_of_what_their_model_needs(self):
        self.add_nodes("n1", gpus=1)
        self.serve()
        for name in ("a", "b"):
            self.cluster.add_pod(name, annotations=SMALL)
        pods = [self.cluster.wait_pod(name, phase="Running") for name in ("a", "b")]
        self.assertEqual([placed(pod) for pod in pods], [["GPU-n1-0"]] * 2)
        self.assertLessEqual(sum(int(pod["metadata"]["annotations"][OURS + "sm-share"]) for pod in pods), 200)
        self.assertTrue(all(words.get("shares") for _, _, words in claims_of(self.cluster.get("/api/v1/nodes/n1")).values()))
        numbers = [self.number(name) for name in ("a", "b")]
        self.assertIn("it shares its GPU with job", self.server.why(max(numbers)))

    def test_each_gpu_is_given_once_to_pods_that_fill_it(self):
        self.add_nodes("n1", "n2")
        self.serve()
        names = [f"p{i}" for i in range(7)]
        for name in names:
            self.cluster.add_pod(name)

        def running():
            return [pod["metadata"]["name"] for pod in self.cluster.pods() if pod["status"]["phase"] == "Running"]
        self.cluster.wait_until(lambda: len(running()) == 4, lambda: f"{running()} run on four GPUs")
        waits = sorted(set(names) - set(running()))
        for name in waits:
            self.cluster.wait_pod(name, holds=lambda pod: condition(pod).get("status") == "False")
        alone, shared = self.check_places()
        self.assertEqual((len(alone), shared), (4, {}))
        # One ends, and one of those that wait has its GPU.
        self.cluster.playing.finish(running()[0])
        self.cluster.wait_until(lambda: set(running()) & set(waits), "nobody has the free GPU")
        self.check_places()

    def test_a_pod_of_two_gpus_gets_two_that_are_near_each_other(self):
        self.add_nodes("n1", gpus=4, near=["near:0,2|1,3"])
        self.serve()
        for name in ("a", "b"):
            self.cluster.add_pod(name, annotations={OURS + "gpus": "2"})
        pods = [self.cluster.wait_pod(name, phase="Running") for name in ("a", "b")]
        self.assertEqual(sorted(sorted(placed(pod)) for pod in pods), [["GPU-n1-0", "GPU-n1-2"], ["GPU-n1-1", "GPU-n1-3"]])

    def test_cores_and_memory_of_others_are_respected(self):
        self.add_nodes("n1", "n2", gpus=1)
        self.cluster.add_pod("other", scheduler="somebody", resources={"requests": {"cpu": "12"}}, nodeName="n1")
        self.serve()
        self.cluster.add_pod("a", resources={"requests": {"cpu": "8"}})
        self.cluster.wait_pod("a", node="n2")
        self.cluster.add_pod("b", resources={"requests": {"cpu": "8"}})
        self.cluster.wait_pod("b", holds=lambda pod: condition(pod).get("status") == "False")

    def test_a_gang_starts_as_a_whole_or_not_at_all(self):
        self.add_nodes("n1")
        self.serve()
        self.cluster.add_pod("filler")
        self.cluster.wait_pod("filler", phase="Running")
        gang = {OURS + "pod-group": "g", OURS + "pod-group-size": "2"}
        self.cluster.add_pod("g1", annotations=gang)
        self.wait_waits("g1", "1 of 2 pods are there")
        self.cluster.add_pod("g2", annotations=gang)
        # One GPU is free, and two are needed: nobody starts.
        self.cluster.wait_pod("g2", holds=lambda pod: condition(pod).get("status") == "False")
        self.assertTrue(all("nodeName" not in self.cluster.pod(name)["spec"] for name in ("g1", "g2")))
        self.assertEqual(len(self.claims()), 1)
        self.cluster.playing.finish("filler")
        pods = [self.cluster.wait_pod(name, phase="Running") for name in ("g1", "g2")]
        self.assertEqual(len({gpu for pod in pods for gpu in placed(pod)}), 2)
        self.assertEqual(len({self.claims()[pod["metadata"]["uid"]][1] for pod in pods}), 1, "they are one job")
        # More than there are in the whole cluster, until another node comes.
        large = {OURS + "pod-group": "l", OURS + "pod-group-size": "3"}
        for name in ("l1", "l2", "l3"):
            self.cluster.add_pod(name, annotations=large)
        self.wait_waits("l1", "it asks for 3 GPUs of one model")
        self.add_nodes("n2", gpus=3)
        for name in ("l1", "l2", "l3"):
            self.cluster.wait_pod(name, node="n2", phase="Running")

    def test_an_order_that_lets_pods_take_turns_leaves_alone_what_nothing_would_make_again(self):
        """As in the next test; but these pods have no owner."""
        nodes = [f"n{i}" for i in range(4)]
        self.add_nodes(*nodes, gpus=64)
        self.serve("--policy", "las+slot+asked")
        large = {OURS + "pod-group": "large", OURS + "pod-group-size": "4", OURS + "gpus": "64"}
        for i in range(4):
            self.cluster.add_pod(f"large{i}", annotations=large)
        for i in range(4):
            self.cluster.wait_pod(f"large{i}", phase="Running")
        self.cluster.add_pod("second")
        self.cluster.wait_pod("second", holds=lambda pod: condition(pod).get("status") == "False")
        time.sleep(18)  # an hour of GPU time is over after 14 s
        for i in range(4):
            self.assertNotIn("deletionTimestamp", self.cluster.pod(f"large{i}")["metadata"])

    def test_evicted_and_moved(self):
        """By an order that preempts: who had an hour of GPU time gives way, which 256 GPUs have within seconds. Its owner makes its pods again, and
        they are the same job."""
        nodes = [f"n{i}" for i in range(4)]
        self.add_nodes(*nodes, gpus=64)
        self.serve("--policy", "las+slot+asked")
        large = {OURS + "pod-group": "large", OURS + "pod-group-size": "4", OURS + "gpus": "64"}
        for i in range(4):
            self.cluster.add_pod(f"large-a{i}", annotations=large, owner=("Job", "large"))
        for i in range(4):
            self.cluster.wait_pod(f"large-a{i}", phase="Running")
        number = self.number("large")
        self.cluster.add_pod("second")
        self.cluster.wait_until(lambda: all(self.cluster.pod(f"large-a{i}") is None for i in range(4)),
                                lambda: f"it is not evicted: {self.server.why(number)}", 120)
        second = self.cluster.wait_pod("second", phase="Running")
        self.add_nodes("n4", gpus=64)
        for i in range(4):
            self.cluster.add_pod(f"large-b{i}", annotations=large, owner=("Job", "large"))
        pods = [self.cluster.wait_pod(f"large-b{i}", phase="Running") for i in range(4)]
        self.assertEqual(sorted(pod["spec"]["nodeName"] for pod in pods), sorted({*nodes, "n4"} - {second["spec"]["nodeName"]}))
        self.assertEqual({pod["metadata"]["annotations"][OURS + "job"] for pod in pods}, {str(number)})
        self.cluster.wait_until(lambda: self.server.job(number)["phase"] == "running", lambda: self.server.job(number))

    def add_classes(self, *names):
        values = {"low": (10, "PreemptLowerPriority"), "high": (1000, "PreemptLowerPriority"), "polite": (2000, "Never")}
        for name in names:
            self.cluster.create(CLASSES, {"metadata": {"name": name}, "value": values[name][0], "preemptionPolicy": values[name][1]})
            self.addCleanup(self.cluster.delete, f"{CLASSES}/{name}")

    def forbid_eviction(self, app):
        """By a PodDisruptionBudget of all pods with that label, which no controller keeps up to date here."""
        self.cluster.create(BUDGETS, {"metadata": {"name": app}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}})
        self.cluster.patch(f"{BUDGETS}/{app}/status", {"status": {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1,
                                                                 "desiredHealthy": 1, "expectedPods": 1}}, kind="merge-patch")

    def test_another_pod_is_preempted_where_a_budget_forbids_the_first(self):
        self.add_classes("low", "high")
        self.add_nodes("n1")
        self.serve()
        for name in ("older", "younger"):
            self.cluster.add_pod(name, priorityClassName="low", owner=("Job", name), labels={"app": name})
            self.cluster.wait_pod(name, phase="Running")
        # Of equals who has run shortest is to go, and its budget does not allow it.
        self.forbid_eviction("younger")
        self.addCleanup(self.cluster.delete, f"{BUDGETS}/younger")
        number = self.number("younger")
        self.cluster.add_pod("high", priorityClassName="high")
        self.cluster.wait_pod("high", phase="Running")
        self.assertIsNone(self.cluster.pod("older"))
        self.assertNotIn("deletionTimestamp", self.cluster.pod("younger")["metadata"])
        self.cluster.wait_until(lambda: self.server.job(number)["phase"] == "running", lambda: self.server.job(number))
        self.assertIn("PodDisruptionBudget", self.server.run("job", number).stdout)
        self.check_places()

    def test_a_higher_priority_preempts_and_budgets_are_kept(self):
        self.add_classes("low", "high", "polite")
        self.add_nodes("n1")
        self.serve()
        # Nothing would make this one again: it stays, whatever comes.
        self.cluster.add_pod("kept", priorityClassName="low")
        self.cluster.wait_pod("kept", phase="Running")
        self.cluster.add_pod("low-1", priorityClassName="low", owner=("Job", "low"), labels={"app": "low"})
        (gpu,) = placed(self.cluster.wait_pod("low-1", phase="Running"))
        number = self.number("low-1")
        self.cluster.add_pod("polite", priorityClassName="polite")
        self.cluster.wait_pod("polite", holds=lambda pod: condition(pod).get("status") == "False")
        time.sleep(1)
        self.assertNotIn("deletionTimestamp", self.cluster.pod("low-1")["metadata"], "its class says Never")
        self.cluster.delete("/api/v1/namespaces/default/pods/polite")
        self.forbid_eviction("low")
        self.cluster.add_pod("high", priorityClassName="high")
        self.cluster.wait_until(lambda: "PodDisruptionBudget" in self.server.run("job", number).stdout, lambda: self.server.run("job", number).stdout)
        # Who waits for it is told, too.
        self.wait_waits("high", "pod default/low-1, of lower priority, would give way, and cannot be stopped now: it is to leave its place, and a "
                                "PodDisruptionBudget does not allow it")
        self.assertNotIn("deletionTimestamp", self.cluster.pod("low-1")["metadata"], "its budget forbids it")
        self.assertEqual(self.server.job(number)["phase"], "running")
        self.cluster.delete(f"{BUDGETS}/low")
        self.cluster.wait_until(lambda: self.cluster.pod("low-1") is None, lambda: f"it is not evicted: {self.server.why(number)}", 90)
        self.assertEqual(placed(self.cluster.wait_pod("high", phase="Running")), [gpu])
        self.assertEqual(self.cluster.pod("kept")["status"]["phase"], "Running")
        self.cluster.add_pod("low-2", priorityClassName="low", owner=("Job", "low"))
        self.cluster.wait_pod("low-2", holds=lambda pod: condition(pod).get("status") == "False")
        self.cluster.playing.finish("high")
        pod = self.cluster.wait_pod("low-2", phase="Running")
        self.assertEqual(pod["metadata"]["annotations"][OURS + "job"], str(number), "it is another job")

    def test_deleted_by_its_user_while_it_waits_and_while_it_runs(self):
        self.add_nodes("n1", gpus=1)
        self.serve()
        self.cluster.add_pod("runs")
        self.cluster.wait_pod("runs", phase="Running")
        self.cluster.add_pod("waits")
        self.cluster.wait_pod("waits", holds=lambda pod: condition(pod).get("status") == "False")
        numbers = {name: self.number(name) for name in ("runs", "waits")}
        for name in ("waits", "runs"):
            self.cluster.delete(f"/api/v1/namespaces/default/pods/{name}")
            self.cluster.wait_until(lambda n=name: self.server.job(numbers[n])["phase"] == "cancelled", lambda n=name: self.server.job(numbers[n]))
        # Through us it is the same.
        self.cluster.add_pod("ours")
        self.cluster.wait_pod("ours", phase="Running")
        self.assertEqual(self.server.run("cancel", self.number("ours")).returncode, 0)
        self.cluster.wait_until(lambda: self.cluster.pod("ours") is None, "it is not deleted")

    def test_a_node_that_is_not_ready_takes_nobody_and_one_that_is_gone_loses_its_pods(self):
        self.add_nodes("n1", gpus=1)
        self.serve()
        self.cluster.add_pod("a-1", owner=("ReplicaSet", "a"))
        self.cluster.wait_pod("a-1", node="n1", phase="Running")
        number = self.number("a-1")
        self.add_nodes("n2", gpus=2)
        self.cluster.wait_until(lambda: "n2" in self.server.run("top", "--json").stdout, lambda: self.server.run("top", "--json").stdout)
        self.cluster.lose_node("n1")
        self.cluster.add_pod("b")
        self.cluster.wait_pod("b", node="n2", phase="Running")
        # Its controllers delete the node, and what ran there.
        self.cluster.delete("/api/v1/nodes/n1")
        self.cluster.delete("/api/v1/namespaces/default/pods/a-1", {"gracePeriodSeconds": 0})
        self.cluster.add_pod("a-2", owner=("ReplicaSet", "a"))
        pod = self.cluster.wait_pod("a-2", node="n2", phase="Running")
        self.assertEqual(pod["metadata"]["annotations"][OURS + "job"], str(number), "it is another job")
        self.check_places()

    def test_taints_and_node_selectors(self):
        self.add_nodes("n1", gpus=1, taints=[{"key": "team", "value": "red", "effect": "NoSchedule"}], labels={"zone": "a"})
        self.serve()
        self.cluster.add_pod("plain")
        said = self.wait_waits("plain", "it does not tolerate the taint 'team=red:NoSchedule'")
        self.check_same(said, "plain")
        self.cluster.add_pod("red", tolerations=[{"key": "team", "operator": "Exists"}])
        self.cluster.wait_pod("red", node="n1", phase="Running")
        self.cluster.add_pod("elsewhere", nodeSelector={"zone": "b"}, tolerations=[{"operator": "Exists"}])
        self.cluster.delete("/api/v1/namespaces/default/pods/plain")
        self.wait_waits("elsewhere", "its nodeSelector wants 'zone=b'")
        self.add_nodes("n2", gpus=1, labels={"zone": "b"})
        self.cluster.wait_pod("elsewhere", node="n2")

    def test_a_quota_is_the_api_servers_own_matter(self):
        space = "/api/v1/namespaces/limited"
        self.cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": "limited"}})
        quota = self.cluster.create(f"{space}/resourcequotas", {"metadata": {"generateName": "q-"}, "spec": {"hard": {"pods": "1"}}})
        path = f"{space}/resourcequotas/{quota['metadata']['name']}"
        self.addCleanup(self.cluster.delete, path)
        self.cluster.patch(path + "/status", {"status": {"hard": {"pods": "1"}, "used": {"pods": "0"}}})
        self.add_nodes("n1")
        self.serve("--namespace", "limited")

        def made():
            status, _ = self.cluster.request("POST", f"{space}/pods", {"metadata": {"generateName": "p-"}, "spec": {
                "schedulerName": "sharewell", "containers": [{"name": "main", "image": "example.org/image", "env": GPU_ENV}]}})
            return status
        # The real one notices a new quota after a while.
        self.cluster.wait_until(lambda: made() == (403 if self.REAL else 201), "the quota is not kept")
        self.cluster.wait_until(lambda: any(pod["status"]["phase"] == "Running" for pod in self.cluster.pods("limited")), "the pod is not bound")
        self.cluster.add_pod("outside")
        time.sleep(1)
        self.assertNotIn("nodeName", self.cluster.pod("outside")["spec"], "it keeps to its namespace")
        self.assertNotIn("conditions", self.cluster.pod("outside")["status"])

    def test_pods_of_others_are_left_alone(self):
        self.add_nodes("n1", capacity={"nvidia.com/gpu": "2"})
        self.cluster.add_pod("stranger", scheduler="default-scheduler")
        self.cluster.add_pod("stock", scheduler="default-scheduler", resources={"limits": {"nvidia.com/gpu": "1"}}, nodeName="n1")
        self.serve()
        self.cluster.add_pod("a")
        self.cluster.wait_pod("a", holds=lambda pod: "nvidia.com/gpu" in condition(pod).get("message", ""))
        self.assertNotIn("nodeName", self.cluster.pod("stranger")["spec"])
        self.cluster.playing.finish("stock")
        self.cluster.wait_pod("a", phase="Running")


class Words:
    """What is told of a pod that waits."""

    def test_a_field_that_cannot_be_judged_is_refused_by_its_name(self):
        self.add_nodes("n1")
        self.serve()
        selector = {"matchLabels": {"app": "x"}}
        wrong = {
            "ports": ("hostPort", {"containers": [{"name": "main", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]}),
            "spread": ("topologySpreadConstraints", {"topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}]}),
            "affine": ("podAffinity", {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": selector}]}}}),
            "stock": ("nvidia.com/gpu", {"resources": {"limits": {"nvidia.com/gpu": "1"}}}),
            "volume": ("spec.volumes.persistentVolumeClaim", {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}),
        }
        self.cluster.request("POST", "/api/v1/namespaces/default/persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
        self.addCleanup(self.cluster.request, "DELETE", "/api/v1/namespaces/default/persistentvolumeclaims/c")
        for name, (_, spec) in wrong.items():
            self.cluster.add_pod(name, **spec)
        self.cluster.add_pod("cheat", annotations={OURS + "gpu-ids": "GPU-n1-0"})
        said = {name: self.wait_waits(name, field) for name, (field, _) in wrong.items()}
        said["cheat"] = self.wait_waits("cheat", OURS + "gpu-ids")
        for name, words in said.items():
            self.check_same(words, name)
            self.cluster.wait_until(lambda n=name, w=words: [e for e in self.events(n) if e["message"] == w],
                                    lambda n=name: f"no Event: {self.events(n)}")
        # And none of it is written again while nothing changes.
        before = {pod["metadata"]["name"]: pod["metadata"]["resourceVersion"] for pod in self.cluster.pods()}
        count = {name: len(self.events(name)) for name in said}
        self.cluster.add_pod("good")
        self.cluster.wait_pod("good", phase="Running")
        time.sleep(2)
        after = {pod["metadata"]["name"]: pod["metadata"]["resourceVersion"] for pod in self.cluster.pods()}
        after.pop("good")
        self.assertEqual(after, before)
        self.assertEqual({name: len(self.events(name)) for name in said}, count)
        self.assertEqual(set(count.values()), {1}, count)

    def test_kubectl_describe_and_why_tell_the_same(self):
        self.add_nodes("n1", gpus=1)
        self.serve()
        self.cluster.add_pod("first")
        self.cluster.wait_pod("first", phase="Running")
        self.cluster.add_pod("second")
        pod = self.cluster.wait_pod("second", holds=lambda pod: condition(pod).get("status") == "False")
        # The same, but whoever looks by kubectl knows pods and uuids, and no numbers.
        self.assertIn("none is idle where it may run: GPU GPU-n1-0 of node n1 has pod default/first", condition(pod)["message"])
        self.assertIn("none is idle where it may run: GPU 0 has job 1 of default", self.server.why(self.number("second")))

    def test_annotations_of_users_are_input(self):
        self.add_nodes("n1")
        self.serve()
        self.cluster.add_pod("odd", annotations={OURS + "max-slowdown": "-4", OURS + "no-such": "x" * 5000, OURS + "batch": "9" * 400})
        self.cluster.wait_pod("odd", phase="Running")
        number = self.number("odd")
        self.cluster.wait_until(lambda: OURS + "batch" in self.server.run("job", number).stdout, lambda: self.server.run("job", number).stdout)
        # Its precision counts for what is predicted of it, and a word that is none is said.
        for precision in ("fp32", "bf16", "half"):
            self.cluster.add_pod(precision, annotations={**SMALL, OURS + "precision": precision})
        self.cluster.wait_until(lambda: "sharewell.io/precision is 'half'; write one of fp32, tf32, bf16, fp16"
                                in self.server.run("job", self.number("half")).stdout, lambda: self.server.run("job", self.number("half")).stdout)
        memory = {precision: self.server.job(self.number(precision))["needs"]["gpu_memory_bytes"] for precision in ("fp32", "bf16", "half")}
        self.assertNotEqual(memory["fp32"], memory["bf16"])
        self.assertEqual(memory["fp32"], memory["half"])
        self.cluster.add_pod("many", annotations={OURS + "gpus": "3"})
        self.cluster.wait_pod("many", holds=lambda pod: condition(pod).get("status") == "False")


class Changes:
    """Nodes, servers and pods that change while it runs."""

    def list_gpus(self, node, gpus):
        self.cluster.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {OURS + "gpus": gpus}}}, kind="merge-patch")

    def test_k3_gpus_that_are_listed_no_more_and_others(self):
        self.add_nodes("n1")
        self.serve()
        self.list_gpus("n1", "H200 - GPU-n1-1")
        time.sleep(1)
        self.cluster.add_pod("a")
        self.assertEqual(placed(self.cluster.wait_pod("a", phase="Running")), ["GPU-n1-1"])
        self.cluster.add_pod("b")
        self.cluster.wait_pod("b", holds=lambda pod: condition(pod).get("status") == "False")
        self.list_gpus("n1", "H200 GPU-n1-7 GPU-n1-1")
        self.assertEqual(placed(self.cluster.wait_pod("b", phase="Running")), ["GPU-n1-7"])

    def test_k4_it_begins_without_gpus_and_nodes_come(self):
        self.cluster.add_node("n1")
        self.serve()
        self.cluster.add_pod("a")
        self.wait_waits("a", "kubectl annotate node")
        self.cluster.wait_until(lambda: any(event["reason"] == "Waiting" for event in self.events("a")), "no Event")
        self.list_gpus("n1", "H200 GPU-n1-0")
        self.assertEqual(placed(self.cluster.wait_pod("a", phase="Running")), ["GPU-n1-0"])

    def test_k1_another_server_with_an_empty_store_goes_on_sharing(self):
        self.add_nodes("n1", gpus=1)
        self.serve()
        self.cluster.add_pod("a", annotations=SMALL)
        pod = self.cluster.wait_pod("a", phase="Running")
        self.assertIn('"predicted"', pod["metadata"]["annotations"][OURS + "known"])
        self.server.end()
        self.serve(name="two")
        self.cluster.add_pod("b", annotations=SMALL)
        self.assertEqual(placed(self.cluster.wait_pod("b", phase="Running")), ["GPU-n1-0"])
        self.cluster.wait_until(lambda: any(event["reason"] == "Shared" and "pod default/a" in event["message"] for event in self.events("b")), "no Event")
        job = self.server.job(self.number("a"))
        self.assertEqual(job["needs"]["source"], "predicted", job["needs"])

    def test_k2_a_model_whose_file_comes_later_is_predicted(self):
        self.add_nodes("n1", gpus=1)
        self.serve()
        self.cluster.add_pod("full")
        self.cluster.wait_pod("full", phase="Running")
        self.cluster.add_pod("a", annotations={**SMALL, OURS + "model": "late.onnx"})
        self.cluster.wait_until(lambda: "late.onnx" in self.server.run("job", self.number("a")).stdout, "nobody misses the file")
        models = self.server.folder / "models"
        (models / "small.onnx").rename(models / "late.onnx")
        self.cluster.wait_until(lambda: self.server.job(self.number("a"))["needs"]["source"] == "predicted", lambda: self.server.job(self.number("a")))

    def test_k6_a_pod_without_our_environment_is_not_bound(self):
        self.add_nodes("n1")
        self.serve()
        self.cluster.add_pod("plain", containers=[{"name": "main", "image": "example.org/image"}])
        self.wait_waits("plain", "sharewell kubernetes inject")

    def test_k5_a_replacement_joins_its_group(self):
        self.add_nodes("n1")
        self.serve()
        group = {OURS + "pod-group": "g", OURS + "pod-group-size": "2"}
        for name in ("g0", "g1"):
            self.cluster.add_pod(name, annotations=group, owner=("Job", "train"))
        before = [placed(self.cluster.wait_pod(name, phase="Running")) for name in ("g0", "g1")]
        self.cluster.playing.finish("g1", code=1)
        self.cluster.wait_pod("g1", phase="Failed")  # whoever makes the next one has seen it
        self.cluster.add_pod("g2", annotations=group, owner=("Job", "train"))
        self.assertEqual(placed(self.cluster.wait_pod("g2", phase="Running")), before[1])
        self.assertEqual(len(self.claims()), 2)

    def test_k5_restart_all_of_a_group_that_volcano_and_a_jobset_name(self):
        self.add_nodes("n1")
        self.serve()
        marks = {"scheduling.k8s.io/group-name": "ring", "scheduling.volcano.sh/group-min-member": "2", OURS + "restart": "all"}

        def make(name, job):
            self.cluster.add_pod(name, annotations=marks, labels={"jobset.sigs.k8s.io/jobset-name": "ring"}, owner=("Job", job))
        for index in range(2):
            make(f"ring-{index}-a", f"ring-{index}")
        for index in range(2):
            self.cluster.wait_pod(f"ring-{index}-a", phase="Running")
        number = self.number("ring")
        self.cluster.playing.finish("ring-1-a", code=1)
        self.cluster.wait_until(lambda: self.cluster.pod("ring-0-a") is None, "the other one is not evicted")
        for index in range(2):
            make(f"ring-{index}-b", f"ring-{index}-again")
        pods = [self.cluster.wait_pod(f"ring-{index}-b", phase="Running") for index in range(2)]
        self.assertEqual({pod["metadata"]["annotations"][OURS + "job"] for pod in pods}, {str(number)})

    def test_k5_the_size_of_a_group_is_read_from_its_pod_group(self):
        self.add_nodes("n1")
        self.serve()
        self.cluster.add_pod("c0", labels={POD_GROUP: "c"}, owner=("Job", "c"))
        self.wait_waits("c0", "nothing says how many pods its pod group 'c' has")
        if self.cluster.real:
            self.cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", POD_GROUP_KIND)
        group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "d"}, "spec": {"minMember": 2}}
        path = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
        self.cluster.wait_until(lambda: self.cluster.request("POST", path, group)[0] == 201, "the API server does not know a PodGroup")
        self.cluster.add_pod("d0", labels={POD_GROUP: "d"}, owner=("Job", "d"))
        self.wait_waits("d0", "1 of 2 pods are there")
        self.cluster.add_pod("d1", labels={POD_GROUP: "d"}, owner=("Job", "d"))
        pods = [self.cluster.wait_pod(name, phase="Running") for name in ("d0", "d1")]
        self.assertEqual(len({pod["metadata"]["annotations"][OURS + "job"] for pod in pods}), 1)


class OnFake(Lives, Words, Changes, ServeTest):
    pass


class OnReal(Lives, Words, Changes, ServeTest):
    REAL = True


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main(verbosity=2)
