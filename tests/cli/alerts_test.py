#!/usr/bin/env python3
"""The Grafana dashboard and the alert rules of packaging/ ask only for what a live server, or the node agent, really has. With $PROMTOOL
(or promtool on the path) Prometheus itself reads the page, the rules and their tests."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
import urllib.request

from program import PATIENCE
from serve_test import Server

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
RULES = PACKAGING / "prometheus" / "sharewell.rules.yml"
PROMTOOL = os.environ.get("PROMTOOL") or shutil.which("promtool")
# Of the node agent's own page, which tests/cli/monitor_test.py reads.
OF_THE_AGENT = {"sharewell_collector_up", "sharewell_store_samples_dropped_total"}


def names_in(text):
    return set(re.findall(r"\bsharewell_\w+", text))


class Alerts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="sharewell-")
        cls.addClassCleanup(place.cleanup)
        server = Server(pathlib.Path(place.name))
        cls.addClassCleanup(server.kill, signal.SIGTERM)
        said = (server.folder / "server.log").read_text(encoding="utf-8")
        port = re.search(r"http://127\.0\.0\.1:(\d+)", said)[1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
            cls.page = answer.read().decode()

    def promtool(self, *args, stdin=""):
        done = subprocess.run([PROMTOOL, *args], input=stdin, cwd=RULES.parent, capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_rules_ask_for_what_is_there(self):
        expressions = re.findall(r"^ +expr: (.*)$", RULES.read_text(encoding="utf-8"), re.M)
        asked = set().union(*map(names_in, expressions))
        self.assertGreater(len(asked), 6)
        self.assertEqual(asked - OF_THE_AGENT - names_in(self.page), set())

    def test_dashboard_asks_for_what_is_there(self):
        dashboard = json.loads((PACKAGING / "grafana" / "sharewell-server.json").read_text(encoding="utf-8"))
        asked = {name for panel in dashboard["panels"] for target in panel["targets"] for name in names_in(target["expr"])}
        self.assertGreater(len(asked), 8)
        self.assertEqual(asked - names_in(self.page), set())

    @unittest.skipUnless(PROMTOOL, "needs promtool (Debian: prometheus)")
    def test_prometheus_takes_the_rules(self):
        self.assertIn("rules found", self.promtool("check", "rules", RULES.name))
        self.promtool("test", "rules", "sharewell.rules.test.yml")

    @unittest.skipUnless(PROMTOOL, "needs promtool (Debian: prometheus)")
    def test_prometheus_takes_the_page_and_the_dashboards_queries(self):
        self.promtool("check", "metrics", stdin=self.page)
        queries = []
        for name in ("sharewell-server.json", "sharewell-node.json"):
            dashboard = json.loads((PACKAGING / "grafana" / name).read_text(encoding="utf-8"))
            queries += [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        rules = [{"record": "a", "expr": query.replace("$__rate_interval", "1m")} for query in queries]
        with tempfile.NamedTemporaryFile("w", suffix=".yml", encoding="utf-8") as file:
            json.dump({"groups": [{"name": "dashboards", "rules": rules}]}, file)  # JSON is YAML
            file.flush()
            self.promtool("check", "rules", "--lint=none", file.name)


if __name__ == "__main__":
    unittest.main()
