#!/usr/bin/env python3
"""The node agent from the outside: its page for Prometheus, its samples, its end, and what it refuses."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.request

import exposition
from program import PATIENCE, PROGRAM, ProgramTest, Speaker

UNIT = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "systemd" / "sharewell-monitor.service"
DASHBOARD = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "grafana" / "sharewell-node.json"


class Agent(Speaker):
    """`sharewell monitor` on a port that was free, until it is stopped."""

    def __init__(self, folder, *args, listen="127.0.0.1:0", env=None):
        self.errors = open(folder / "stderr", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [PROGRAM, "monitor", "--listen", listen, *args], cwd=folder, stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL, stderr=self.errors, env={**os.environ, **(env or {})})
        self.said_in = folder / "stderr"
        self.port = None
        if listen != "none":
            self.port = int(self.wait_for(r"http://[^ ]*:(\d+)/metrics")[1])

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE) as answer:
            return answer.headers, answer.read().decode("utf-8")

    def families(self):
        return exposition.parse(self.get("/metrics")[1])

    def stop(self, with_signal=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        out, _ = self.process.communicate(timeout=PATIENCE)
        self.errors.close()
        return self.process.returncode, out


class MonitorTest(ProgramTest):
    def agent(self, *args, **options):
        agent = Agent(self.folder, *args, **options)
        self.addCleanup(agent.stop)
        return agent

    def wait_until(self, condition):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            time.sleep(0.05)
        self.fail("it never came to be")


class Page(MonitorTest):
    def test_metrics_are_what_prometheus_reads(self):
        agent = self.agent("--store", "none", "--interval", "0.2")
        self.wait_until(lambda: "node_load1" in agent.families())
        headers, text = agent.get("/metrics")
        self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        families = exposition.parse(text)
        self.assertNotIn("nan", text.lower().split())
        for name in ("node_cpu_seconds_total", "node_memory_MemTotal_bytes", "sharewell_build_info",
                     "sharewell_collector_up", "sharewell_collector_duration_seconds",
                     "sharewell_collector_errors_total", "sharewell_agent_cpu_seconds_total",
                     "sharewell_agent_resident_bytes"):
            self.assertIn(name, families)
        self.assertEqual(families["node_cpu_seconds_total"]["type"], "counter")
        labels = families["node_cpu_seconds_total"]["samples"][0][0]
        self.assertEqual(sorted(labels), ["cpu", "mode"])
        self.assertGreater(families["sharewell_agent_resident_bytes"]["samples"][0][1], 1e6)
        up = {labels["collector"]: value for labels, value in families["sharewell_collector_up"]["samples"]}
        self.assertEqual(up["cpu"], 1)
        self.assertLessEqual(set(up.values()), {0, 1})
        for family in families.values():
            self.assertTrue(family["help"].strip())

    def test_counters_do_not_fall_from_one_scrape_to_the_next(self):
        agent = self.agent("--store", "none", "--interval", "0.2")
        self.wait_until(lambda: "node_cpu_seconds_total" in agent.families())

        def counters():
            return {(name, tuple(sorted(labels.items()))): value
                    for name, family in agent.families().items() if family["type"] == "counter"
                    for labels, value in family["samples"] if "job" not in labels}
        before = counters()
        time.sleep(1)
        after = counters()
        self.assertEqual({key for key in before if key in after and after[key] < before[key]}, set())

    def test_paths(self):
        agent = self.agent("--store", "none")
        self.assertEqual(agent.get("/healthz")[1], "ok\n")
        with self.assertRaises(urllib.error.HTTPError) as caught:
            agent.get("/elsewhere")
        self.assertEqual(caught.exception.code, 404)
        caught.exception.close()

    def test_a_client_that_never_ends_its_request_stops_nobody(self):
        agent = self.agent("--store", "none")
        with socket.create_connection(("127.0.0.1", agent.port)) as slow:
            slow.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
            self.assertEqual(agent.get("/healthz")[1], "ok\n")
        connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=PATIENCE)
        for _ in range(5):
            connection.request("GET", "/metrics")
            exposition.parse(connection.getresponse().read().decode())
        connection.close()


class Gpus(MonitorTest):
    """With a library that replays what an H200's driver said."""

    def setUp(self):
        super().setUp()
        root = UNIT.parents[2]
        library = pathlib.Path(PROGRAM).resolve().parent / "libfake_nvml.so"
        if not library.exists():
            self.skipTest(f"{library.name} was not built beside the program")
        self.env = {"SHAREWELL_NVML_LIBRARY": str(library),
                    "SHAREWELL_FAKE_NVML": str(root / "tests" / "fixtures" / "nvml" / "h200-idle.json")}

    def test_names_units_and_labels_are_those_of_dcgm_exporter(self):
        agent = self.agent("--store", "none", "--interval", "0.2", "--node", "here", env=self.env)
        families = self.wait_until(
            lambda: (lambda f: f if "DCGM_FI_PROF_SM_ACTIVE" in f else None)(agent.families()))
        for name, least, most in (("DCGM_FI_DEV_GPU_UTIL", 0, 100), ("DCGM_FI_PROF_SM_ACTIVE", 0, 1),
                                  ("DCGM_FI_DEV_FB_TOTAL", 143771, 143771), ("DCGM_FI_DEV_POWER_USAGE", 50, 700),
                                  ("DCGM_FI_DEV_SM_CLOCK", 100, 2000), ("DCGM_FI_DEV_GPU_TEMP", 15, 90)):
            (labels, value), = families[name]["samples"]
            self.assertEqual(list(labels), ["gpu", "UUID", "pci_bus_id", "device", "modelName", "hostname"])
            self.assertEqual((labels["gpu"], labels["device"], labels["modelName"], labels["hostname"]),
                             ("0", "nvidia0", "NVIDIA H200", "here"))
            self.assertRegex(labels["pci_bus_id"], r"^[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.0$")
            self.assertTrue(least <= value <= most, (name, value))

    def test_gpm_can_be_left_to_others(self):
        agent = self.agent("--store", "none", "--interval", "0.2", "--gpm", "off", env=self.env)
        self.wait_until(lambda: "DCGM_FI_DEV_GPU_UTIL" in agent.families())
        time.sleep(0.5)
        self.assertEqual([name for name in agent.families() if name.startswith("DCGM_FI_PROF")], [])


class Parser(unittest.TestCase):
    """The reader must refuse what it is there to find."""

    def test_refuses(self):
        head = "# HELP a b\n# TYPE a gauge\n"
        exposition.parse(head + 'a{x="\\"\\\\\\n"} 1e+21\n')
        for text in ("a 1\n", head, head + "a 1", head + "a NaN\n", head + "a +Inf\n", head + "b 1\n",
                     head + "a 1\na 2\n", head + 'a{x="1",x="2"} 1\n', head + 'a{x="\\q"} 1\n',
                     head + 'a{x="1} 1\n', head + "a  1\n", head + 'a{x="1"}1\n', head + "a 1\n" + head + "a 2\n",
                     "# HELP a b\n# TYPE a what\na 1\n", "# HELP a b\n# TYPE a counter\na -1\n",
                     "# TYPE a gauge\na 1\n", head + "\na 1\n", head + 'a{x-y="1"} 1\n'):
            with self.subTest(text=text), self.assertRaises((exposition.NotExposition, ValueError)):
                exposition.parse(text)


class Samples(MonitorTest):
    def test_samples_are_in_the_store_when_it_ends(self):
        agent = self.agent("--store", "s.db", "--interval", "0.2", "--node", "here")
        self.wait_until(lambda: "node_load1" in agent.families())
        self.assertEqual(agent.stop(), (0, b""))
        found = json.loads(self.succeed("samples", "list", "--store", "s.db", "--json"))
        self.assertEqual(found["schema"], 1)
        by_metric = {series["metric"]: series for series in found["series"]}
        self.assertGreaterEqual(by_metric["load1"]["samples"], 1)
        self.assertEqual(by_metric["load1"]["node"], "here")

    def test_it_ends_by_itself_and_says_what_it_does(self):
        done = self.run_program("monitor", "--listen", "127.0.0.1:0", "--store", "x.db", "--for", "0.5s")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertRegex(done.stderr, r"sharewell: watching .* every 1s; http://127\.0\.0\.1:\d+/metrics; "
                         r"samples go to x\.db\n")
        self.assertRegex(done.stderr, r"sharewell: cpu: works\n")
        states = [line.split(": ")[1] for line in done.stderr.splitlines() if ": works" in line or ": down" in line]
        self.assertEqual(len(states), len(set(states)), done.stderr)

    def test_each_signal_is_an_end_in_order(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            agent = self.agent("--store", "x.db")
            self.assertEqual(agent.stop(number), (0, b""), number)

    def test_it_samples_on_when_the_store_cannot_be_written(self):
        """A server that is not there: nobody listens on a port that was just given back."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        address = f"postgresql://nobody:secret@127.0.0.1:{port}/none?connect_timeout=2"
        agent = self.agent("--interval", "0.2", env={"SHAREWELL_STORE": address})
        agent.wait_for(r"store: .*what is read waits in memory")
        families = self.wait_until(lambda: (lambda f: f if "node_load1" in f else None)(agent.families()))
        self.assertEqual(families["sharewell_store_up"]["samples"], [({}, 0.0)])
        self.assertNotIn("secret", agent.said())
        code, _ = agent.stop()
        self.assertEqual(code, 1)
        self.assertIn("the last samples could not be stored", agent.said())


class Refused(MonitorTest):
    def test_flags(self):
        for flags, words in ((["--listen", ":10400"], "--listen: ':10400' is not allowed; give ADDRESS:PORT"),
                             (["--listen", "example.org:80"], "--listen: 'example.org:80'"),
                             (["--interval", "0.05"], "give 0.1s to 3600s"), (["--interval", "fast"], "--interval: "),
                             (["--gpm", "maybe"], "give on or off"), (["--for", "-1"], "--for: '-1'"),
                             (["--listen", "none", "--store", "none"], "leave nothing to do"),
                             (["--lisen", "x"], "did you mean '--listen'?")):
            with self.subTest(flags=flags):
                self.assertIn(words, self.fail_with(2, "monitor", *flags))

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            message = self.fail_with(1, "monitor", "--store", "none", "--listen", f"127.0.0.1:{port}")
        self.assertIn(f"cannot listen on 127.0.0.1:{port}: Address already in use", message)

    def test_every_address_is_warned_of(self):
        done = self.run_program("monitor", "--store", "none", "--listen", "0.0.0.0:0", "--for", "0.1s")
        self.assertEqual(done.returncode, 0)
        self.assertIn("can be reached from other machines", done.stderr)


class Packaged(unittest.TestCase):
    def test_the_unit_starts_a_command_that_there_is(self):
        text = UNIT.read_text(encoding="utf-8")
        self.assertIn("ExecStart=/usr/bin/sharewell monitor ", text)
        for hardening in ("ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet="):
            self.assertIn(hardening, text)

    def test_the_dashboard_asks_for_names_that_there_are(self):
        """Each metric of a panel is one of docs/metrics.md or the agent's own."""
        root = UNIT.parents[2]
        known = "".join((root / name).read_text(encoding="utf-8") for name in ("docs/metrics.md", "docs/monitoring.md")
                        if (root / name).exists())
        dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
        asked = set()
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                asked |= set(re.findall(r"\b(?:DCGM_FI|node|sharewell)_\w+", target["expr"]))
        self.assertGreater(len(asked), 10)
        for name in asked:
            plain = name.removeprefix("sharewell_").removesuffix("_total")
            self.assertTrue(name in known or plain in known, name)


if __name__ == "__main__":
    unittest.main()
