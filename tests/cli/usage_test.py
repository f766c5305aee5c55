#!/usr/bin/env python3
"""usage: GPU hours and cost of a server's jobs, as text, JSON and CSV; prices in its settings."""

import csv
import io
import json
import unittest

from api_server import Server
from program import ProgramTest

PRICES = '[prices]\ncurrency = "EUR"\n"h200" = 7200\n'  # two a second


class Usage(ProgramTest):
    def serve(self, settings=None):
        more = ("--config", str(self.folder / self.write("sharewell.toml", settings))) if settings else ()
        server = Server(self.folder, *more)
        self.addCleanup(server.stop)
        return server, ("--server", str(server.socket))

    def run_job(self, server):
        done = self.run_program("submit", "--wait", "--gpu-memory", "1GB", "--server", str(server.socket), "--", "sleep", "1")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_hours_and_cost(self):
        server, asked = self.serve(PRICES)
        self.assertIn("EUR", self.succeed("usage", *asked).splitlines()[2], "before there was any job")
        self.run_job(server)
        told = json.loads(self.succeed("usage", "--json", *asked))
        row = told["rows"][0]
        self.assertEqual((told["by"], told["currency"], row["jobs"], told["unpriced"]), ("user", "EUR", 1, []))
        self.assertAlmostEqual(row["cost"], row["held_gpu_hours"] * 7200)
        self.assertGreater(row["cost"], 1.5)
        self.assertIsNone(row["busy_gpu_hours"], "nobody sees how busy a simulated GPU is")
        text = self.succeed("usage", "--by", "gpu", *asked)
        self.assertRegex(text, r"(?m)^gpu +jobs +GPU hours +busy +of known +wait, mean +99 % +cost, EUR$")
        self.assertRegex(text, r"(?m)^H200 +1 +0\.00 +- +0\.00 +.*[0-9]\.[0-9]{2}$")
        rows = list(csv.DictReader(io.StringIO(self.succeed("usage", "--csv", *asked))))
        self.assertEqual([(one["user"], one["jobs"], one["currency"], one["busy_gpu_hours"]) for one in rows],
                         [(row["name"], "1", "EUR", "")])
        self.assertAlmostEqual(float(rows[0]["cost"]), row["cost"])
        self.assertEqual(self.succeed("usage", "--csv", *asked), server.ask("GET", "/api/v1/usage?format=csv").bytes.decode())
        long_ago = json.loads(self.succeed("usage", "--json", "--from", "2020-01-01", "--to", "2020-02-01", *asked))
        self.assertEqual((long_ago["rows"], long_ago["all"]["cost"], long_ago["all"]["jobs"]), ([], None, 0))
        self.succeed("report", "week", *asked, "--out", "week.html")
        week = (self.folder / "week.html").read_text(encoding="utf-8")
        self.assertIn("<dt>cost, EUR</dt>", week)

    def test_without_a_price_the_cost_is_unknown(self):
        server, asked = self.serve('[prices]\nA100 = 2\n"GTX 9" = 1\n')
        self.assertIn("[prices] names 'GTX 9'", server.said())
        self.run_job(server)
        text = self.succeed("usage", *asked)
        self.assertIn("No cost: [prices] in the server's sharewell.toml has no price", text)
        told = server.ask("GET", "/api/v1/usage?by=user").json()
        self.assertEqual((told["all"]["cost"], told["all"]["priced_gpu_hours"], told["unpriced"]), (None, 0, ["H200"]))

    def test_what_is_wrong_is_said(self):
        _, asked = self.serve()
        for args, words in ((["--by", "usr"], "by: 'usr' is not allowed; give user or project or gpu; did you mean 'user'?"),
                            (["--from", "yesterday"], "--from: 'yesterday' is not a time"),
                            (["--from", "2026-02-02", "--to", "2026-02-01"], "is not before --to"),
                            (["--csv", "--json"], "--csv or --json, not both")):
            with self.subTest(args=args):
                self.assertIn(words, self.fail_with(2, "usage", *args, *asked))
        self.assertIn("sharewell serve", self.fail_with(3, "usage", "--server", str(self.folder / "no.sock")))

    def test_prices_that_are_wrong_stop_the_server_from_starting(self):
        for text, words in (("[prices]\nH200 = -1\n", "line 2: 'H200' must be what an hour"),
                            ("[prices]\nH200 = 1\nh200 = 2\n", "priced twice"),
                            ("[prices]\ncurrency = 5\n", "currency")):
            with self.subTest(text=text):
                self.write("sharewell.toml", text)
                self.assertIn(words, self.fail_with(2, "serve", "--gpus", "1xH200", "--config", "sharewell.toml",
                                                    "--store", "s.db", "--socket", "s.sock"))


if __name__ == "__main__":
    unittest.main()
