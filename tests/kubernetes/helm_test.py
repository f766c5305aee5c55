#!/usr/bin/env python3
"""The Helm chart: with its own values it makes the objects of the kustomize base, and each value does what it says. Helm itself is not in Debian: the
templates are rendered by helm_render.go, over Go's text/template and the library of functions that Helm uses."""

import copy
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml
from cluster import REPOSITORY, kube_programs

CHART = REPOSITORY / "deploy/helm/sharewell"
GO = "/usr/lib/go-1.19/bin/go"
SPACE = "sharewell-system"


def kustomized(folder):
    """What kubectl would apply."""
    said = subprocess.run([kube_programs() / "kubectl", "kustomize", REPOSITORY / "deploy/kubernetes" / folder], capture_output=True, text=True, check=True)
    return by_name(said.stdout)


def by_name(text):
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text) if one}


class Chart(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="sharewell-helm-")
        cls.addClassCleanup(place.cleanup)
        cls.program = pathlib.Path(place.name) / "render"
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "sharewell/go"
        made = subprocess.run([GO, "build", "-o", cls.program, REPOSITORY / "tests/kubernetes/helm_render.go"], capture_output=True, text=True, check=False,
                              env={**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(cache), "CGO_ENABLED": "0"})
        assert made.returncode == 0, f"{made.stderr}\nIf a package is missing: run tools/setup."
        cls.values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
        cls.chart = {"AppVersion": chart["appVersion"], "Name": chart["name"], "Version": chart["version"]}

    def render(self, fails=False, space=SPACE, **given):
        """By (kind, name); values as scheduler__replicas=1."""
        values = copy.deepcopy(self.values)
        for path, value in given.items():
            *parents, last = path.split("__")
            inside = values
            for parent in parents:
                inside = inside[parent]
            self.assertIn(last, inside, "values.yaml has no such value")
            inside[last] = value
        done = subprocess.run([self.program, CHART], input=json.dumps({"Values": values, "Chart": self.chart, "Release": {"Name": "sharewell", "Namespace": space}}),
                              capture_output=True, text=True, check=False)
        if fails:
            self.assertEqual(done.returncode, 1)
            return done.stderr
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("<no value>", done.stdout)
        return by_name(done.stdout)

    @staticmethod
    def spec(objects, kind, name):
        return objects[kind, name]["spec"]["template"]["spec"]

    def test_its_version_is_the_programs(self):
        version = re.search(r"project\(sharewell VERSION (\S+)", (REPOSITORY / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
        self.assertEqual((self.chart["Version"], self.chart["AppVersion"]), (version, version))

    def test_with_its_own_values_it_is_the_base(self):
        base = kustomized("base")
        del base["Namespace", SPACE]  # a release has to have one before
        self.assertEqual(self.render(), base)

    def test_with_the_dashboard_it_is_that_overlay(self):
        overlay = kustomized("dashboard")
        del overlay["Namespace", SPACE]
        made = self.render(dashboard__enabled=True, scheduler__replicas=1)
        # Two lists of arguments in another order.
        for objects in (made, overlay):
            self.spec(objects, "Deployment", "sharewell")["containers"][0]["args"].sort()
        self.assertEqual(made, overlay)
        self.assertIn("set scheduler.replicas to 1", self.render(fails=True, dashboard__enabled=True))

    def test_a_runtime_class_and_a_service_monitor_are_those_of_the_overlays(self):
        made = self.render(nodes__runtimeClassName="nvidia", serviceMonitor__enabled=True)
        overlay = {**kustomized("runtime-class"), **kustomized("monitoring")}
        del overlay["Namespace", SPACE]
        self.assertEqual(made, overlay)
        service, monitor = overlay["Service", "sharewell-agent"], overlay["ServiceMonitor", "sharewell-agent"]
        pods = overlay["DaemonSet", "sharewell-agent"]["spec"]["template"]
        self.assertEqual(monitor["spec"]["selector"]["matchLabels"], service["metadata"]["labels"])
        self.assertEqual(service["spec"]["selector"], pods["metadata"]["labels"])
        self.assertEqual(monitor["spec"]["endpoints"], [{"port": service["spec"]["ports"][0]["name"]}])
        self.assertIn(service["spec"]["ports"][0]["targetPort"], [port["name"] for port in pods["spec"]["containers"][0]["ports"]])

    def test_each_value_does_what_it_says(self):
        made = self.render(image__repository="example.org/sharewell", image__tag="7", image__pullPolicy="Always", imagePullSecrets=[{"name": "registry"}],
                           schedulerName="gpus", scheduler__extraArgs=["--max-slowdown=1.5"], scheduler__priorityClassName="high",
                           settings="[sharing]\nunknown = \"alone\"\n", storeSecret="db", mps__multiuserServer=False, nodes__selector={"gpu": "yes"},
                           nodes__tolerations=[])
        for kind, name in (("Deployment", "sharewell"), ("DaemonSet", "sharewell-agent"), ("DaemonSet", "sharewell-mps")):
            spec = self.spec(made, kind, name)
            self.assertEqual(spec["imagePullSecrets"], [{"name": "registry"}])
            for container in spec["containers"] + spec.get("initContainers", []):
                self.assertEqual((container["image"], container["imagePullPolicy"]), ("example.org/sharewell:7", "Always"))
            if kind == "DaemonSet":
                self.assertEqual((spec["nodeSelector"], spec["tolerations"]), ({"gpu": "yes"}, []))
        spec = self.spec(made, "Deployment", "sharewell")
        self.assertEqual(spec["priorityClassName"], "high")
        self.assertEqual(spec["containers"][0]["args"][-2:], ["--scheduler-name=gpus", "--max-slowdown=1.5"])
        self.assertEqual(made["Role", "sharewell-leader"]["rules"][1]["resourceNames"], ["gpus"])  # the Lease is named so too
        self.assertEqual(made["ConfigMap", "sharewell-settings"]["data"], {"sharewell.toml": "[sharing]\nunknown = \"alone\"\n"})
        self.assertIn("sharewell.io/settings", made["Deployment", "sharewell"]["spec"]["template"]["metadata"]["annotations"])
        for name, kind in (("sharewell", "Deployment"), ("sharewell-agent", "DaemonSet")):
            secrets = [entry["valueFrom"]["secretKeyRef"]["name"] for entry in self.spec(made, kind, name)["containers"][0]["env"]
                       if "secretKeyRef" in entry.get("valueFrom", {})]
            self.assertEqual(secrets, ["db"])
        self.assertEqual(self.spec(made, "DaemonSet", "sharewell-mps")["containers"][0]["command"], ["nvidia-cuda-mps-control", "-f"])

    def test_without_agent_and_mps_it_has_no_rights_for_them(self):
        made = self.render(agent__publishGpus=False)
        self.assertNotIn(("ClusterRole", "sharewell-agent"), made)
        spec = self.spec(made, "DaemonSet", "sharewell-agent")
        self.assertNotIn("initContainers", spec)
        self.assertEqual([volume["name"] for volume in spec["volumes"]], ["pods", "logs", "state"])
        made = self.render(agent__enabled=False, mps__enabled=False)
        self.assertEqual([name for name in made if name[0] == "DaemonSet"], [])
        self.assertNotIn(("ClusterRole", "sharewell-agent"), made)

    def test_all_is_in_the_namespace_of_the_release(self):
        for (kind, name), one in self.render(space="elsewhere", dashboard__enabled=True, scheduler__replicas=1, serviceMonitor__enabled=True,
                                             settings="[sharing]\n").items():
            self.assertNotIn(SPACE, json.dumps(one), (kind, name))
            self.assertEqual(one["metadata"].get("namespace"), None if kind.startswith("Cluster") else "elsewhere", (kind, name))


if __name__ == "__main__":
    unittest.main(verbosity=2)
