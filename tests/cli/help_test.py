#!/usr/bin/env python3
"""Help, version, completion, and the lists: what a newcomer tries first."""

import json
import os
import re
import shutil
import subprocess
import unittest

from program import ProgramTest


class Help(ProgramTest):
    def commands(self):
        listed = self.succeed("help", "--all").split("[options]\n\n")[1].split("options:\n")[0]
        return re.findall(r"^  (\S+)", listed, re.M)

    def test_program(self):
        self.assert_golden("help.txt", self.succeed("--help"))
        self.assert_golden("help-all.txt", self.succeed("help", "--all"))
        for same in ("-h", "help"):
            self.assertEqual(self.succeed(same), self.succeed("--help"))

    def test_help_of_a_command(self):
        self.assertEqual(self.succeed("help", "submit"), self.succeed("submit", "--help"))
        self.assertIn("did you mean 'submit'?", self.fail_with(2, "help", "submti"))

    def test_commands_of_other_programs_get_a_hint(self):
        for word, hint in (("ps", "sharewell jobs"), ("queue", "sharewell jobs"), ("status", "sharewell top"),
                           ("kill", "sharewell cancel"), ("reproduce", "sharewell-lab reproduce")):
            self.assertIn(f"`{hint}`", self.fail_with(2, word))

    def test_jobs_come_first(self):
        text = self.succeed("--help")
        self.assertEqual(self.commands()[:4], ["submit", "run", "jobs", "job"])
        self.assertIn("  jobs      list running and waiting jobs\n", text)
        everyday = re.findall(r"^  ([a-z]\S+)  ", text, re.M)
        self.assertEqual(len(everyday), 12)
        self.assertLessEqual(set(everyday), set(self.commands()))
        self.assertIn(f"`sharewell help --all` lists {len(self.commands()) - 12} more commands.", text)

    def test_each_command_has_usage_and_an_example(self):
        self.assertEqual(len(self.commands()), 46)
        for command in self.commands():
            text = self.succeed(command, "--help")
            self.assertIn(f"usage: sharewell {command}", text)
            self.assertRegex(text, rf"examples?:\n  sharewell {command}")
            self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_simulate(self):
        self.assert_golden("simulate-help.txt", self.succeed("simulate", "--help"))

    def test_version(self):
        self.assertRegex(self.succeed("--version"), r"^sharewell \d+\.\d+\.\d+\n$")

    def test_nothing_asked_shows_help_as_an_error(self):
        done = self.run_program()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, self.succeed("--help"))


class Lists(ProgramTest):
    def test_policies(self):
        entries = json.loads(self.succeed("policies", "--json"))
        self.assertEqual(entries["schema"], 1)
        for entry in entries["policies"]:
            self.assertEqual(list(entry), ["kind", "name", "help", "paper"])
        names = [entry["name"] for entry in entries["policies"] if entry["kind"] == "policy"]
        self.assertLessEqual({"slot", "pack", "sharewell"}, set(names))
        table = self.succeed("policies")
        for name in names:
            self.assertRegex(table, rf"(?m)^policy +{name} ")

    def test_gpus(self):
        entries = json.loads(self.succeed("gpus", "--json"))
        self.assertEqual(entries["schema"], 1)
        by_name = {gpu["name"]: gpu for gpu in entries["gpus"]}
        self.assertAlmostEqual(by_name["H200"]["memory_bytes"] / 2**30, 140.4, places=1)
        self.assertIsNone(by_name["P100"]["bf16_tflops"])
        self.assertIn("H200", self.succeed("gpus"))

    def test_gpus_of_the_users_own(self):
        mine = self.write("mine.csv", "name,memory_gb,bandwidth_gbs,fp32_tflops,sms\nMine,8,100,1,10\n")
        self.assertIn("Mine", self.succeed("gpus", "--gpu-catalogue", mine))


class Completion(ProgramTest):
    def complete(self, *words):
        """What bash would offer for the last word."""
        script = self.write("completion.bash", self.succeed("completion", "bash"))
        ask = (f"source {script}; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($#-1)); _sharewell; "
               "printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "-c", ask, "bash", "sharewell", *words], cwd=self.folder,
                              capture_output=True, encoding="utf-8", check=True)
        return set(done.stdout.split())

    def test_bash_completes_commands_flags_and_values(self):
        self.assertEqual(self.complete("sim"), {"simulate"})
        self.assertEqual(self.complete("simulate", "--trac"), {"--trace"})
        self.assertEqual(self.complete("simulate", "--policy", "slot,sharew"), {"slot,sharewell"})
        self.assertEqual(self.complete("simulate", "--format", "p"), {"philly"})
        self.assertEqual(self.complete("simulate", "--belief", "n"), {"noisy:"})
        self.assertEqual(self.complete("completion", ""), {"bash", "zsh", "fish"})
        self.write("jobs.csv", "")
        self.assertEqual(self.complete("simulate", "--trace", "jo"), {"jobs.csv"})
        self.assertEqual(self.complete("simulate", "--seed", ""), set())

    def test_every_flag_of_the_help_is_completed(self):
        flags = set(re.findall(r"^ +(?:-h, )?(--[a-z-]+)", self.succeed("simulate", "--help"), re.M))
        self.assertEqual(self.complete("simulate", "--"), flags)
        fish = self.succeed("completion", "fish")
        zsh = self.succeed("completion", "zsh")
        for flag in flags:
            self.assertIn(f"-l {flag[2:]} ", fish)
            self.assertIn(f"'{flag}[", zsh)

    def test_scripts_are_valid(self):
        for shell in ("bash", "zsh", "fish"):
            if shutil.which(shell):
                script = self.write("script", self.succeed("completion", shell))
                subprocess.run([shell, "-n", script], cwd=self.folder, check=True,
                               env={**os.environ, "HOME": str(self.folder)})

    def test_unknown_shell(self):
        self.assertIn("did you mean 'bash'?", self.fail_with(2, "completion", "bahs"))


if __name__ == "__main__":
    unittest.main()
