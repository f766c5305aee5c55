#!/usr/bin/env python3
"""`sharewell doctor --security`: an installation below a folder as root has it, one of an ordinary user, and each thing that is wrong."""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import time
import unittest

from house import ALICE, BOB, PROGRAM, ROOT, TrustTest, as_user

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
DAY = 86400


def token(name, uid, days=1, rights="user", id_="0123abcd"):
    """A line of the file of tokens."""
    return f"{id_} {'ab' * 32} {uid} {uid} {rights} {int((time.time() - days * DAY) * 1000)} {name} label\n"


class Security(TrustTest):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.write("etc/default/sharewell", "SHAREWELL_SERVE_FLAGS=--admin-group wheel\n")
        self.write("etc/sharewell/sharewell.toml", "[limits]\nrunning_jobs = 8\n")
        for unit in ("sharewell.service", "sharewell-monitor.service"):
            self.write(f"usr/lib/systemd/system/{unit}", (REPOSITORY / "packaging/systemd" / unit).read_text(encoding="utf-8"))
        for name in ("store.db", "store.db-wal", "store.db-server", "key"):
            self.write(f"var/lib/sharewell/{name}", "", 0o600)
        self.write("var/lib/sharewell/tokens", token("root", 0), 0o600)
        (self.root / "var/lib/sharewell/logs").mkdir(mode=0o700)
        (self.root / "var/lib/sharewell-steps").mkdir(mode=0o755)
        self.write("etc/slurm/sharewell-prolog", "", 0o755)

    def write(self, path, text, mode=0o644):
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        place.chmod(mode)
        return place

    def doctor(self, *args, user=ROOT, env=None):
        return subprocess.run([PROGRAM, "doctor", "--security", *args], capture_output=True, encoding="utf-8", timeout=60, check=False, cwd="/",
                              env={**{k: v for k, v in os.environ.items() if not k.startswith(("SHAREWELL_", "XDG_"))}, **(env or {})}, **as_user(user))

    def checks(self, *args, code, **options):
        done = self.doctor("--json", *(args or ("--root", str(self.root))), **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["schema"], 1)
        for check in found["checks"]:
            self.assertEqual(list(check), ["section", "name", "state", "what", "mend"])
            self.assertIn(check["state"], ("good", "note", "wrong"))
            self.assertTrue(check["mend"] or check["state"] != "wrong", check)
        return found["checks"]

    def wrong(self, **options):
        """What is wrong: name -> check."""
        return {check["name"]: check for check in self.checks(code=1, **options) if check["state"] == "wrong"}

    def test_an_installation_as_it_should_be(self):
        checks = self.checks(code=0)
        self.assertEqual({check["section"] for check in checks}, {"files", "units", "limits", "tokens", "network", "agents"})
        self.assertEqual([check for check in checks if check["state"] == "wrong"], [])
        done = self.doctor("--root", str(self.root))
        self.assertIn("nothing is wrong.", done.stdout)
        for line in done.stdout.splitlines():
            self.assertTrue(len(line) <= 100 or "mend: " in line or str(self.root) in line, line)

    def test_each_file_that_others_may_read_or_change_and_its_cure(self):
        cases = {"store": ("var/lib/sharewell/store.db", 0o644), "store-wal": ("var/lib/sharewell/store.db-wal", 0o640),
                 "key": ("var/lib/sharewell/key", 0o604), "tokens": ("var/lib/sharewell/tokens", 0o660),
                 "state folder": ("var/lib/sharewell", 0o775), "logs": ("var/lib/sharewell/logs", 0o755),
                 "settings": ("etc/sharewell/sharewell.toml", 0o666), "steps": ("var/lib/sharewell-steps", 0o1777),
                 "sharewell-prolog": ("etc/slurm/sharewell-prolog", 0o775), "sharewell.service": ("usr/lib/systemd/system/sharewell.service", 0o666)}
        for path, mode in cases.values():
            (self.root / path).chmod(mode)
        os.chown(self.root / "var/lib/sharewell/key", 1, 1)
        found = self.wrong()
        self.assertLessEqual(set(cases), set(found))
        self.assertIn("belongs to daemon, not to root", found["key"]["what"])
        self.assertIn("every user may read it (mode 0644)", found["store"]["what"])
        # The cures put it right, and nothing is wrong afterwards.
        for check in found.values():
            if check["mend"].startswith(("chmod ", "chown ")):
                subprocess.run(["sh", "-ec", check["mend"]], check=True)
        self.checks(code=0)

    def test_units_that_may_too_much(self):
        unit = self.root / "usr/lib/systemd/system/sharewell-monitor.service"
        text = unit.read_text(encoding="utf-8")
        unit.write_text(text.replace("NoNewPrivileges=yes\n", "").replace("CAP_PERFMON CAP", "CAP_PERFMON CAP_SYS_ADMIN CAP"), encoding="utf-8")
        found = self.wrong()
        self.assertEqual(set(found), {"sharewell-monitor NoNewPrivileges", "agent's rights"})
        self.assertIn("CAP_SYS_ADMIN", found["agent's rights"]["what"])
        for check in found.values():
            subprocess.run(["sh", "-ec", check["mend"].split(" && systemctl")[0]], check=True)
        self.checks(code=0)
        # An account of its own, as the package has it.
        self.write("usr/lib/systemd/system/sharewell-monitor.service.d/user.conf",
                   (REPOSITORY / "packaging/systemd/sharewell-monitor.service.d/user.conf").read_text(encoding="utf-8"))
        self.assertIn("runs as sharewell", next(check["what"] for check in self.checks(code=0) if check["name"] == "agent's rights"))

    def test_tokens_limits_and_addresses(self):
        self.write("var/lib/sharewell/tokens", token("root", 0, 400, "admin", "aaaaaaaa") + token("daemon", 1, 3, id_="bbbbbbbb")
                   + token("gone", 1, 3, id_="cccccccc") + token("nobody-here", 4_000_000_000, 3, id_="dddddddd"), 0o600)
        self.write("etc/sharewell/sharewell.toml", "")
        self.write("etc/default/sharewell", "SHAREWELL_STORE=postgresql://u:secret@db/x\nSHAREWELL_SERVE_FLAGS=--listen 0.0.0.0:10401\n"
                   "SHAREWELL_MONITOR_FLAGS='--listen=[::]:10400'\n")
        found = self.wrong()
        self.assertEqual(set(found), {"token aaaaaaaa", "token cccccccc", "token dddddddd", "server", "agent", "units' settings"})
        self.assertEqual(found["token aaaaaaaa"]["mend"], "sharewell token revoke aaaaaaaa")
        self.assertNotIn("secret", json.dumps(self.checks(code=1)))
        notes = {check["name"]: check["what"] for check in self.checks(code=1) if check["state"] == "note"}
        self.assertIn("4 in all, 1 of admins", notes["tokens"])
        self.assertIn("nothing is set", notes["by user"])

    @unittest.skipUnless(shutil.which("openssl"), "needs the program openssl")
    def test_a_certificate_that_ends_and_a_key_that_others_read(self):
        for name, days in (("short", 3), ("long", 90)):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", str(days), "-subj", "/CN=x", "-keyout",
                            self.root / f"etc/{name}.key", "-out", self.root / f"etc/{name}.pem"], check=True, capture_output=True)
        (self.root / "etc/short.key").chmod(0o644)
        (self.root / "etc/long.key").chmod(0o600)
        flags = "SHAREWELL_SERVE_FLAGS=--listen 0.0.0.0:10401 --tls-cert /etc/{0}.pem --tls-key /etc/{0}.key\n"
        self.write("etc/default/sharewell", flags.format("short"))
        found = self.wrong()
        self.assertEqual(set(found), {"certificate", "TLS key"})
        self.assertRegex(found["certificate"]["what"], r"valid for [23] days")
        self.write("etc/default/sharewell", flags.format("long"))
        self.checks(code=0)
        self.write("etc/long.pem", "no certificate")
        self.assertEqual(set(self.wrong()), {"certificate"})

    def test_a_folder_on_the_way_that_another_may_change(self):
        os.chown(self.root / "var", 1, 1)
        self.assertIn("folders above", self.wrong())

    def test_as_an_ordinary_user(self):
        """His own server's files; what is root's is a note where he may not look."""
        home = self.folder / "home"
        state = home / "state" / "sharewell"
        state.mkdir(parents=True)
        (state / "store.db").touch(mode=0o600)
        (state / "store.db").chmod(0o600)
        for place in (home, home / "state", state, state / "store.db"):
            os.chown(place, as_user(ALICE)["user"], as_user(ALICE)["group"])
        env = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_CONFIG_HOME": str(home / "config")}
        checks = self.checks("--store", str(state / "store.db"), code=0, user=ALICE, env=env)
        self.assertEqual({check["section"] for check in checks}, {"files", "limits", "tokens", "network"})
        (state / "store.db").chmod(0o644)
        found = [check for check in self.checks(code=1, user=ALICE, env=env, *("--store", str(state / "store.db"))) if check["state"] == "wrong"]
        self.assertEqual([check["mend"] for check in found], [f"chmod 600 {state}/store.db"])
        # Another's files are not his.
        found = [check["what"] for check in self.checks("--store", str(state / "store.db"), code=1, user=BOB, env=env) if check["state"] == "wrong"]
        self.assertTrue(any("belongs to daemon" in what for what in found), found)
        # Root's server: what he may not see is told as such.
        (self.root / "var/lib/sharewell").chmod(0o711)
        checks = self.checks("--store", str(self.root / "var/lib/sharewell/store.db"), code=0, user=ALICE, env=env)
        self.assertIn("files", {check["section"] for check in checks})

    def test_what_is_no_file_keeps_nobody_waiting(self):
        for path in ("etc/default/sharewell", "etc/sharewell/sharewell.toml", "var/lib/sharewell/tokens", "usr/lib/systemd/system/sharewell.service.d/x.conf"):
            place = self.root / path
            place.parent.mkdir(exist_ok=True)
            place.unlink(missing_ok=True)
            os.mkfifo(place, 0o600)
        self.assertEqual(set(self.wrong()), {"tokens"})

    def test_wrong_words(self):
        self.assertEqual(self.doctor("--root", "/nowhere").returncode, 2)
        self.assertEqual(self.doctor("--calibrate").returncode, 2)
        done = subprocess.run([PROGRAM, "doctor", "--root", "/"], capture_output=True, encoding="utf-8", timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        # A name that a shell would take apart is one word in a cure.
        odd = self.folder / "o'dd $(id) folder"
        odd.mkdir()
        (odd / "store.db").touch()
        (odd / "store.db").chmod(0o666)
        found = [check for check in self.checks("--store", str(odd / "store.db"), code=1) if check["name"] == "store"]
        self.assertEqual(shlex.split(found[0]["mend"]), ["chmod", "600", str(odd / "store.db")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
