#!/usr/bin/env python3
"""Interactive jobs: `sharewell run` at a terminal, at a pipe, and when somebody else wants to sit there."""

import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import time
import unittest

from house import ALICE, BOB, ROOT, PATIENCE, PROGRAM, TrustTest, as_user


def environment(server):
    return {"PATH": os.environ["PATH"], "HOME": "/", "NO_COLOR": "1", "TERM": "xterm", "SHAREWELL_SERVER": str(server.socket)}


class Seat:
    """`sharewell run ARGS` as that user, at a terminal of its own."""

    def __init__(self, server, user, *args, rows=30, columns=100):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        os.chmod(os.ttyname(slave), 0o666)
        self.process = subprocess.Popen([PROGRAM, "run", "--name", "seat", *args], stdin=slave, stdout=slave, stderr=slave, cwd="/", env=environment(server),
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **as_user(user))
        self.seen = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def expect(self, words):
        """What was seen up to these words; it is taken away."""
        end = time.monotonic() + PATIENCE
        while words not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"{words!r} was never seen: {self.seen!r}")
            self.seen += os.read(self.master, 65536).decode(errors="replace")
        before, _, self.seen = self.seen.partition(words)
        return before

    def wait(self):
        """Its exit code; all it said until then is in `seen`."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            gone = self.process.poll() is not None  # asked first: what it said last is read after its end
            if select.select([self.master], [], [], 0 if gone else 0.02)[0]:
                self.seen += os.read(self.master, 65536).decode(errors="replace")
            elif gone:
                break
        return self.process.wait(timeout=1)

    def number(self):
        self.expect("job ")
        return int(self.expect(" "))

    def close(self):
        for file in (self.master, self.slave):
            os.close(file)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Run(TrustTest):
    def sit(self, server, user, *args, **options):
        seat = Seat(server, user, *args, **options)
        self.addCleanup(lambda: seat.process.poll() is None and seat.close())
        return seat

    def piped(self, server, user, *args, given=""):
        return subprocess.run([PROGRAM, "run", *args], input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
                              env=environment(server), timeout=60, check=False, encoding="utf-8", **as_user(user))

    def test_a_terminal_of_its_own(self):
        server = self.serve()
        seat = self.sit(server, ALICE, "--", "sh", "-c", 'tty; stty size; id -un; echo "term $TERM"; read x; stty size; echo "got $x"; exit 7')
        number = seat.number()
        seat.expect("/dev/pts/")
        seat.expect("30 100")
        seat.expect(ALICE)
        seat.expect("term xterm")
        self.assertEqual(termios.tcgetattr(seat.slave)[3] & termios.ECHO, 0, "every key goes to the job")
        seat.resize(40, 120)
        time.sleep(0.2)
        seat.type("hello\r")
        seat.expect("40 120")
        seat.expect("got hello")
        self.assertEqual(seat.wait(), 7)
        self.assertEqual(termios.tcgetattr(seat.slave), seat.before, "the terminal is as it was")
        job = server.wait_until(number, "failed")
        self.assertEqual(job["exit_code"], 7)
        self.assertTrue(job["terminal"])
        self.assertFalse(job["requeue"])
        self.assertIn("got hello", server.run(ALICE, "logs", str(number)).stdout)

    def test_ctrl_c_goes_to_the_command(self):
        server = self.serve()
        seat = self.sit(server, ALICE, "--", "sh", "-c", 'trap "echo caught; exit 3" INT; echo ready; while :; do sleep 0.1; done')
        seat.expect("ready")
        seat.type("\x03")
        seat.expect("caught")
        self.assertEqual(seat.wait(), 3)
        seat = self.sit(server, ALICE, "--", "sleep", "60")
        number = seat.number()
        server.wait_until(number, "running")
        seat.type("\x03")
        self.assertEqual(seat.wait(), 130)

    def test_it_ends_with_its_terminal(self):
        server = self.serve("--grace", "2s")
        seat = self.sit(server, ALICE, "--", "bash", "--norc", "-i")
        number = seat.number()
        server.wait_until(number, "running")
        seat.process.kill()
        job = server.wait_until(number, "failed")
        self.assertIn("its terminal was closed", job["note"])
        # And with one that is closed under the client, where the command does not listen to it.
        seat = self.sit(server, ALICE, "--", "sh", "-c", 'trap "" HUP TERM; echo deaf; while :; do sleep 0.1; done')
        number = seat.number()
        seat.expect("deaf")
        seat.close()
        job = server.wait_until(number, "failed")
        self.assertEqual(job["exit_code"], 137)
        self.assertIn("its terminal was closed", job["note"])

    def test_cancel_and_time_limit_are_told(self):
        server = self.serve()
        seat = self.sit(server, ALICE, "--", "bash", "--norc", "-i")
        number = seat.number()
        server.wait_until(number, "running")
        self.assertEqual(server.run(ROOT, "cancel", str(number)).returncode, 0)
        self.assertEqual(seat.wait(), 129)
        self.assertIn("cancelled by root", seat.seen)
        seat = self.sit(server, ALICE, "--time", "1s", "--", "sleep", "60")
        self.assertEqual(seat.wait(), 129)
        self.assertIn("its time limit (1 s) is over", seat.seen)
        self.assertEqual(termios.tcgetattr(seat.slave), seat.before)

    def test_nobody_else_sits_there(self):
        server = self.serve()
        number = server.submit(ALICE, "--", "true")  # its record tells what a terminal's differs in
        self.assertFalse(server.wait_until(number, "finished")["terminal"])
        body = '{"command":["sleep","60"],"gpus":0,"folder":"/","terminal":true}'
        asked = self.ask(server, ALICE, "POST", "/jobs", body)
        self.assertIn(b"201", asked)
        number = int(re.search(rb'"number":(\d+)', asked)[1])
        self.assertIn(b'"requeue":false', asked)
        path = self.folder / "jobs" / f"{number}.1" / "terminal"
        end = time.monotonic() + PATIENCE
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.assertIn(b"403", self.ask(server, BOB, "GET", f"/jobs/{number}/terminal"))
        self.assertIn(str(path).encode(), self.ask(server, ALICE, "GET", f"/jobs/{number}/terminal"))
        connect = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r}); s.send(b'b\\5\\0\\0\\0\\30\\0\\120\\0\\0'); print(s.recv(1))"
        tried = subprocess.run(["python3", "-c", connect], capture_output=True, check=False, timeout=60, encoding="utf-8", **as_user(BOB))
        self.assertIn("PermissionError", tried.stderr)
        # What is no client of ours ends the job, and nothing else.
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(str(path))
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
            self.assertEqual(stranger.recv(100), b"")
        self.assertIn("its terminal was closed", server.wait_until(number, "failed")["note"])

    def test_a_flood_of_window_sizes_costs_the_client_not_the_supervisor(self):
        server = self.serve()
        body = '{"command":["sh","-c","read x; read x; stty size; sleep 60"],"gpus":0,"folder":"/","terminal":true}'
        number = int(re.search(rb'"number":(\d+)', self.ask(server, ALICE, "POST", "/jobs", body))[1])
        folder = self.folder / "jobs" / f"{number}.1"
        end = time.monotonic() + PATIENCE
        while not (folder / "terminal").exists() and time.monotonic() < end:
            time.sleep(0.02)
        supervisor = next(pid for pid in os.listdir("/proc") if pid.isdigit() and self.words_of(pid)[-1:] == [str(folder)])

        def cpu_seconds():
            with open(f"/proc/{supervisor}/stat", encoding="utf-8") as text:
                used = text.read().rsplit(")", 1)[1].split()[11:13]
            return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(folder / "terminal"))
            client.sendall(b"b\5\0\0\0\30\0\120\0\1")
            flood = b"".join(b"w\4\0\0\0" + struct.pack("<HH", 20 + i % 2, 80) for i in range(1000))
            client.settimeout(0.1)
            before, began, sent = cpu_seconds(), time.monotonic(), b""
            while time.monotonic() < began + 1.5:
                try:
                    sent = (sent or flood)[client.send(sent or flood):]
                except socket.timeout:
                    pass
            used = cpu_seconds() - before
            self.assertLess(used, 0.3, "a second and a half of a flood")
            # Nothing was lost: what comes after it counts, once what is on its way was taken.
            client.settimeout(PATIENCE)
            client.sendall(sent + b"i\1\0\0\0\n" + b"w\4\0\0\0" + struct.pack("<HH", 40, 120))
            time.sleep(0.2)
            client.sendall(b"i\1\0\0\0\n")
            seen = b""
            while b"40 120" not in seen:
                part = client.recv(65536)
                self.assertTrue(part, seen)
                seen += part
        server.wait_until(number, "failed")

    @staticmethod
    def words_of(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words:
                return words.read().decode(errors="replace").split("\0")[:-1]
        except OSError:
            return []

    @staticmethod
    def ask(server, user, method, path, body=""):
        ask = ("import socket,sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
               "s.sendall(sys.argv[2].encode()); s.settimeout(30); d = b''\n"
               "while True:\n  p = s.recv(65536)\n  if not p: break\n  d += p\n"
               "sys.stdout.buffer.write(d)")
        text = (f"{method} /api/v1{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}")
        return subprocess.run(["python3", "-c", ask, str(server.socket), text], capture_output=True, check=True, timeout=60, **as_user(user)).stdout

    def test_waiting_and_then_starting(self):
        server = self.serve(gpus="1xH200")
        first = server.submit(ALICE, "--exclusive", "--cpus", "0.5", "--time", "1h", "--", "sleep", "60")
        server.wait_until(first, "running")
        seat = self.sit(server, BOB, "--exclusive", "--cpus", "0.5", "--", "sh", "-c", "echo here; exit 5")
        number = seat.number()
        seat.expect("waits: ")
        seat.expect("should start in about")
        server.run(ROOT, "cancel", str(first))
        seat.expect("starts on GPU 0")
        seat.expect("here")
        self.assertEqual(seat.wait(), 5)
        # Ctrl-C while it waits takes it out of the queue.
        first = server.submit(ALICE, "--exclusive", "--cpus", "0.5", "--", "sleep", "60")
        server.wait_until(first, "running")
        seat = self.sit(server, BOB, "--exclusive", "--cpus", "0.5", "--", "sh")
        number = seat.number()
        seat.expect("waits: ")
        seat.type("\x03")
        self.assertEqual(seat.wait(), 130)
        self.assertIn(f"job {number} is cancelled", seat.seen)
        self.assertEqual(server.job(number)["phase"], "cancelled")

    def test_a_pipe_is_passed_on(self):
        server = self.serve()
        done = self.piped(server, ALICE, "--gpus", "0", "--", "wc", "-l", given="".join(f"{i}\n" for i in range(20000)))
        self.assertEqual((done.returncode, done.stdout), (0, "20000\n"), done.stderr)
        done = self.piped(server, ALICE, "--gpus", "0", "--", "cat", given="no end")
        self.assertEqual((done.returncode, done.stdout), (0, "no end"), done.stderr)
        done = self.piped(server, ALICE, "--gpus", "0", "--", "sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; exit 9")
        self.assertEqual((done.returncode, done.stdout), (9, "x" * 1000000), done.stderr)
        done = self.piped(server, ALICE, "--gpus", "0", "--", "/nowhere/at/all")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("/nowhere/at/all", done.stderr)
        done = self.piped(server, ALICE, "--server", "http://elsewhere.example:10401", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("sharewell submit", done.stderr)

    def test_f12_the_umask_travels_with_the_submission(self):
        server = self.serve(gpus="none")
        for mask, want in ((0o077, "0077"), (0, "0000"), (0o022, "0022")):
            done = subprocess.run([PROGRAM, "run", "--gpus", "0", "--", "sh", "-c", "umask"], stdin=subprocess.DEVNULL, capture_output=True, cwd="/",
                                  env=environment(server), umask=mask, timeout=60, check=False, encoding="utf-8", **as_user(ALICE))
            self.assertIn(want, done.stdout, done.stderr)
        number = server.submit(BOB, "--gpus", "0", "--", "true")
        self.assertRegex(server.wait_until(number, "finished")["umask"], "^0[0-7]{3}$")

    def test_a_client_that_does_not_read_holds_the_job_back(self):
        server = self.serve("--grace", "1s")
        with subprocess.Popen([PROGRAM, "run", "--gpus", "0", "--", "yes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd="/", env=environment(server), **as_user(ALICE)) as client:
            number = int(client.stderr.readline().split()[1])
            server.wait_until(number, "running")
            time.sleep(0.5)
            written = sum(part.stat().st_size for part in (self.folder / "logs").rglob("out.*"))
            self.assertLess(written, 2 << 20)
            client.stdout.close()
            self.assertEqual(client.wait(timeout=PATIENCE), 141)
        server.wait_until(number, "failed")

    def test_a_restart_of_the_server_disturbs_nobody(self):
        server = self.serve()
        seat = self.sit(server, ALICE, "--", "sh", "-c", "echo before; read x; echo after $x; exit 4")
        number = seat.number()
        seat.expect("before")
        server.stop(signal.SIGKILL)
        seat.type("kill\r")
        seat.expect("after kill")
        self.assertEqual(seat.wait(), 4)
        server = self.serve()
        self.assertEqual(server.wait_until(number, "failed")["exit_code"], 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
