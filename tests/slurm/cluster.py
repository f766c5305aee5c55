"""A real Slurm on loopback, for the tests in this folder: slurmctld and four slurmd below a folder of their own.

    with Cluster() as cluster:
        job = cluster.sbatch("--gres=gpu:1", script="sleep 5")
        cluster.scontrol("update", f"JobId={job}", "ReqNodeList=n2", "Gres=shard:g1:60")
        cluster.scontrol("release", str(job))
        cluster.wait_job(job, "RUNNING")

Nodes n1 and n2 have two V100 each, n3 two P100, n4 four P100 (NODES), as fake character devices with 100 shards a GPU. As root it has munge and
any user may submit; else auth/none and oneself. Ports are looked for, so that several clusters may run at once. Everything that is started dies
with the test, whatever happens to the test.
"""

import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tests" / "cli"))
from loopback import die_with_parent, free_ports  # noqa: E402

SITE = REPOSITORY / "packaging" / "slurm"
PATIENCE = 60
# node: (GPU model, how many GPUs)
NODES = {"n1": ("V100", 2), "n2": ("V100", 2), "n3": ("P100", 2), "n4": ("P100", 4)}
COMMANDS = ("slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo")
OVER = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "PREEMPTED")


def missing():
    """What is not installed, in words for skipUnless; empty: all is there."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    absent = [c for c in (*COMMANDS, *(["munged"] if os.geteuid() == 0 else [])) if not shutil.which(c, path=path)]
    return f"not installed: {' '.join(absent)}; run tools/setup" if absent else ""


def as_user(name):
    """Arguments for subprocess that make a command run as that user."""
    if name is None or pwd.getpwnam(name).pw_uid == os.geteuid():
        return {}
    account = pwd.getpwnam(name)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


class Cluster:
    """`partition`: its one partition. `lua`: job_submit.lua as it is shipped, or None for none. `site`: lines that are added to slurm.conf, or
    replace those of the same name. `scripts`: Prolog, Epilog and TaskProlog as they are shipped. `schedulers`: user ids that may place jobs beside
    root and whoever runs this. `slots`: False: GPUs as a site has them before Sharewell, by model and without shards. `cores`, `memory_mb`: what
    each node is said to have; an even number. `opt_in`: the setting of that name in job_submit.lua."""

    def __init__(self, *, partition="gpu", lua=SITE / "job_submit.lua", hold_cpu_jobs=False, schedulers=(), scripts=False, site="",
                 nodes=None, slurmd_timeout=30, auth=None, slots=True, cores=16, memory_mb=64000, opt_in="{}"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sharewell-slurm-"))
        self.folder.chmod(0o755)
        self.partition = partition
        self.nodes = nodes or NODES
        self.slots = slots
        self.cores, self.memory_mb = cores, memory_mb
        self.conf = self.folder / "etc" / "slurm.conf"
        self.auth = auth or ("munge" if os.geteuid() == 0 else "none")
        self.processes = {}  # name -> Popen; names: munged, slurmctld, and the nodes
        self.env = {**os.environ, "SLURM_CONF": str(self.conf), "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}
        for inherited in [name for name in self.env if name.startswith(("SLURM_", "SBATCH_")) and name != "SLURM_CONF"]:
            del self.env[inherited]
        for name in ("etc", "state", "log", "run", "dev", "out", "mps"):
            (self.folder / name).mkdir()
        (self.folder / "out").chmod(0o1777)
        self.ports = free_ports(1 + len(self.nodes))
        self.opt_in = opt_in
        self._write_lua(lua, hold_cpu_jobs, {0, os.geteuid(), *schedulers})
        self._write_conf(site, slurmd_timeout, scripts, lua)
        self._write_gres()

    # ---- configuration

    def _devices(self):
        """Where GPU files lie: character devices whose name ends in the index, or CUDA_VISIBLE_DEVICES stays unset."""
        try:
            for i in range(max(count for _, count in self.nodes.values())):
                place = self.folder / "dev" / f"nvidia{i}"
                if not place.exists():
                    os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(241, i))
                    place.chmod(0o666)
            return self.folder / "dev" / "nvidia"
        except PermissionError:
            return pathlib.Path("/dev/tty")

    def _write_lua(self, lua, hold_cpu_jobs, schedulers):
        if lua is None:
            return
        text = pathlib.Path(lua).read_text(encoding="utf-8")
        values = {"PARTITIONS": f'{{ ["{self.partition}"] = true }}', "HOLD_CPU_JOBS": "true" if hold_cpu_jobs else "false", "OPT_IN": self.opt_in,
                  "SCHEDULERS": "{ " + ", ".join(f"[{uid}] = true" for uid in sorted(schedulers)) + " }"}
        for name, value in values.items():
            text, found = re.subn(rf"local {name} = .* -- @{name}@", lambda _, n=name, v=value: f"local {n} = {v}", text)
            assert found == 1, f"{lua} has no line for {name}"
        (self.folder / "etc" / "job_submit.lua").write_text(text, encoding="utf-8")

    def _write_conf(self, site, slurmd_timeout, scripts, lua):
        folder, host, me = self.folder, socket.gethostname().split(".")[0], pwd.getpwuid(os.geteuid()).pw_name
        settings = {
            "ClusterName": "lab", "SlurmctldHost": f"{host}(127.0.0.1)", "SlurmctldPort": self.ports,
            # Else it listens on every address of the machine.
            "CommunicationParameters": "NoCtldInAddrAny,NoInAddrAny",
            "SlurmUser": me, "SlurmdUser": me, "StateSaveLocation": folder / "state", "SlurmdSpoolDir": folder / "run/spool.%n",
            "SlurmctldPidFile": folder / "run/slurmctld.pid", "SlurmdPidFile": folder / "run/slurmd.%n.pid",
            "SlurmctldLogFile": folder / "log/slurmctld.log", "SlurmdLogFile": folder / "log/slurmd.%n.log", "MailProg": "/bin/true",
            "ProctrackType": "proctrack/linuxproc", "TaskPlugin": "task/none", "JobAcctGatherType": "jobacct_gather/none",
            "SlurmdParameters": "config_overrides", "MpiDefault": "none", "ReturnToService": 2, "KillWait": 2, "MinJobAge": 300,
            "SlurmdTimeout": slurmd_timeout, "SelectType": "select/cons_tres", "SelectTypeParameters": "CR_Core_Memory",
            "SchedulerType": "sched/backfill", "SchedulerParameters": "sched_interval=1,batch_sched_delay=0,bf_interval=1,sched_min_interval=0",
            "PriorityType": "priority/basic", "AccountingStorageType": "accounting_storage/none", "GresTypes": "gpu,shard" if self.slots else "gpu", "DefMemPerCPU": 500}
        if self.auth == "munge":
            settings |= {"AuthType": "auth/munge", "CredType": "cred/munge",
                         "AuthInfo": f"socket={folder}/run/munge.sock,cred_expire=30"}
        else:
            settings |= {"AuthType": "auth/none", "CredType": "cred/none"}
        if lua is not None:
            settings["JobSubmitPlugins"] = "lua"
        version = subprocess.run(["slurmctld", "-V"], env=self.env, capture_output=True, text=True, timeout=10, check=True).stdout
        if not re.search(r" 2[12]\.", version):
            (folder / "etc/cgroup.conf").write_text("CgroupPlugin=disabled\n", encoding="utf-8")
            del settings["TaskPlugin"]
        if scripts:
            (folder / "etc/sharewell-slurm.conf").write_text(f"MPS_FOLDER={folder}/mps\nSTEPS_FOLDER={folder}/steps\n", encoding="utf-8")
            for setting, name in (("Prolog", "prolog"), ("Epilog", "epilog"), ("TaskProlog", "task_prolog")):
                shutil.copy(SITE / f"{name}.sh", folder / "etc")
                (folder / "etc" / f"{name}.sh").chmod(0o755)
                settings[setting] = folder / "etc" / f"{name}.sh"
        for line in site.splitlines():
            name, _, value = line.partition("=")
            if value:
                settings[name] = value
        machine = (f"NodeHostname={host} NodeAddr=127.0.0.1 Sockets=2 CoresPerSocket={self.cores // 2} ThreadsPerCore=1 "
                   f"RealMemory={self.memory_mb}")
        lines = [f"{name}={value}" for name, value in settings.items()]
        for i, (name, (model, count)) in enumerate(self.nodes.items(), 1):
            gres = [f"{kind}:g{k}:{n}" for kind, n in (("gpu", 1), ("shard", 100)) for k in range(count)]
            with_gres = f" Gres={','.join(gres)} Feature={model}" if count else ""
            if not self.slots:
                with_gres = f" Gres=gpu:{model}:{count}"
            lines.append(f"NodeName={name} Port={self.ports + i} {machine}{with_gres}")
        lines.append(f"PartitionName={self.partition} Nodes={','.join(self.nodes)} Default=YES MaxTime=INFINITE State=UP")
        self.conf.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _write_gres(self):
        device, lines = self._devices(), ["AutoDetect=off"]
        for name, (model, count) in self.nodes.items():
            if not self.slots:
                lines.append(f"NodeName={name} Name=gpu Type={model} File={device}[0-{count - 1}]")
                continue
            lines += [f"NodeName={name} Name=gpu Type=g{i} File={device}{i}" for i in range(count)]
            lines += [f"NodeName={name} Name=shard Type=g{i} Count=100 File={device}{i}" for i in range(count)]
        (self.folder / "etc/gres.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")

    # ---- life

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()

    def _spawn(self, name, *words):
        with open(self.folder / "log" / f"{name}.said", "ab") as said:
            self.processes[name] = subprocess.Popen(words, env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                                    start_new_session=True, preexec_fn=die_with_parent)

    def start(self):
        if self.auth == "munge":
            place = self.folder / "munge"
            place.mkdir(mode=0o700)
            (place / "key").touch(mode=0o600)
            (place / "key").write_bytes(os.urandom(128))
            self._spawn("munged", "munged", "--force", "--foreground", f"--key-file={place}/key", f"--socket={self.folder}/run/munge.sock",
                        f"--pid-file={self.folder}/run/munged.pid", f"--log-file={self.folder}/log/munged.log", f"--seed-file={place}/seed")
            self.wait_until(lambda: (self.folder / "run/munge.sock").exists(), "munged has no socket")
        self.start_controller()
        for name in self.nodes:
            self.start_node(name)
        self.wait_nodes("idle")
        return self

    def start_controller(self, *args):
        """`-c`: without anything that it knew."""
        self._spawn("slurmctld", "slurmctld", "-D", "-f", str(self.conf), *args)
        self.wait_until(lambda: self.run("scontrol", "ping", timeout=3).returncode == 0, "slurmctld does not answer")

    def kill_controller(self, how=signal.SIGKILL):
        self._end("slurmctld", how)

    def start_node(self, name):
        (self.folder / "run" / f"spool.{name}").mkdir(exist_ok=True)
        self._spawn(name, "slurmd", "-D", "-f", str(self.conf), "-N", name)

    def kill_node(self, name, *, jobs_too=True):
        """The machine is gone: its slurmd, and with `jobs_too` the jobs that run there."""
        self._end(name, signal.SIGKILL)
        if jobs_too:
            self._kill_below(f"SLURMD_NODENAME={name}")

    def restart(self):
        """All daemons, as after a change of GRES."""
        for name in ("slurmctld", *self.nodes):
            self._end(name)
        self.start_controller()
        for name in self.nodes:
            self.start_node(name)
        self.wait_nodes("idle")

    def drain(self, name, reason="a test"):
        return self.scontrol("update", f"NodeName={name}", "State=DRAIN", f"Reason={reason}")

    def resume(self, name):
        """Also where it was never drained."""
        return self.scontrol("update", f"NodeName={name}", "State=RESUME", check=False)

    def _end(self, name, how=signal.SIGTERM):
        process = self.processes.pop(name, None)
        if process is None:
            return
        for sign, patience in ((how, 3), (signal.SIGKILL, 10)):  # a slurmd that never registered does not hear SIGTERM
            if process.poll() is None:
                process.send_signal(sign)
            try:
                process.wait(timeout=patience)
                return
            except subprocess.TimeoutExpired:
                continue

    def stop(self):
        """Cancels all jobs and waits first: else slurmstepd processes would stay."""
        if self.processes.get("slurmctld") and self.processes["slurmctld"].poll() is None:
            self.run("scancel", "-p", self.partition, timeout=10)
            try:
                self.wait_until(lambda: not self.run("squeue", "-h", "-o", "%i", timeout=5).stdout.strip(), "", patience=8)
            except AssertionError:
                pass  # a node that was killed never tells that its jobs ended
        for name in [n for n in self.processes if n != "munged"]:
            self._end(name)
        self._kill_below()
        self._end("munged")
        shutil.rmtree(self.folder, ignore_errors=True)

    def leftovers(self):
        """Processes that belong to this cluster, by what their environment says: pid -> command."""
        found, sign = {}, f"SLURM_CONF={self.conf}".encode()
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
                if sign in variables and int(entry.name) != os.getpid():
                    found[int(entry.name)] = ((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"), variables)
            except OSError:
                continue
        return found

    def _kill_below(self, variable=None):
        for _ in range(5):
            pids = [pid for pid, (_, variables) in self.leftovers().items() if variable is None or variable.encode() in variables]
            if variable:  # a slurmstepd has its node as an argument of its own
                pids += [pid for pid, (words, _) in self.leftovers().items() if words.startswith("slurmstepd") and pid in self._steps_of(variable)]
            if not pids:
                return
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.05)

    def _steps_of(self, variable):
        """The slurmstepd that are parents of what has this variable."""
        parents = set()
        for pid, (_, variables) in self.leftovers().items():
            if variable.encode() in variables:
                try:
                    parents.add(int(pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1]))
                except OSError:
                    continue
        return parents

    # ---- commands

    def run(self, *words, user=None, timeout=20, stdin="", check=False, cwd=None, env=None):
        """A command with this cluster's SLURM_CONF. One that hangs ends as exit code 124."""
        try:
            done = subprocess.run([str(w) for w in words], input=stdin, capture_output=True, text=True, timeout=timeout, check=False,
                                  env={**self.env, **(env or {})}, cwd=cwd or self.folder / "out", **as_user(user))
        except subprocess.TimeoutExpired:
            done = subprocess.CompletedProcess(words, 124, "", f"{words[0]} did not end within {timeout} s")
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
        return done

    def scontrol(self, *words, user=None, timeout=20, check=True):
        return self.run("scontrol", *words, user=user, timeout=timeout, check=check).stdout

    def scontrol_lines(self, *lines, timeout=60):
        """Commands on one scontrol's input, as the engine does it."""
        return self.run("scontrol", stdin="\n".join(lines) + "\nquit\n", timeout=timeout)

    def sbatch(self, *args, script="sleep 30", user=None, check=True):
        """The job's number, or where check is off the finished command. The job's output goes to output(number)."""
        done = self.run("sbatch", "--parsable", "--open-mode=append", "-o", f"{self.folder}/out/%A.%a.out" if any(a.startswith("--array") for a in args)
                        else f"{self.folder}/out/%j.out", *args, user=user, stdin="#!/bin/bash\n" + script + "\n", check=check)
        return int(done.stdout.strip().split(";")[0]) if check else done

    def output(self, job):
        place = self.folder / "out" / f"{job}.out"
        return place.read_text(encoding="utf-8") if place.exists() else ""

    def squeue(self, *args, form="%i %T %r %N", check=True):
        """What is in the queue, a list of words for each line."""
        return [line.split(" ") for line in self.run("squeue", "-h", "-a", "-o", form, *args, check=check).stdout.splitlines()]

    def queue_is_empty(self):
        """Slurm says so; where it does not answer, nothing is known."""
        done = self.run("squeue", "-h", "-a")
        return done.returncode == 0 and not done.stdout.strip()

    def job(self, number, check=True):
        """`scontrol show job -o`: name -> value; empty: Slurm does not know it."""
        done = self.run("scontrol", "show", "job", "-o", str(number), timeout=10)
        if done.returncode != 0 and "Invalid job id" not in done.stderr and check:
            raise AssertionError(f"scontrol show job {number}: {done.stderr}")
        found = fields(done.stdout)
        # Which script it is no test needs to know.
        return found | ({"AdminComment": re.sub(",script:[0-9a-f]{16}", "", found["AdminComment"])} if "AdminComment" in found else {})

    def node(self, name):
        return fields(self.scontrol("show", "node", "-o", name))

    def wait_until(self, holds, what, patience=PATIENCE):
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if holds():
                return
            time.sleep(0.05)
        raise AssertionError(f"{what}\n{self.said()}")

    def wait_job(self, number, *states, patience=PATIENCE):
        """Until it is in one of the states (RUNNING, PENDING, ...; OVER: any end); gives its fields."""
        wanted = [s for state in states for s in (OVER if state == "OVER" else (state,))]
        end = time.monotonic() + patience
        while time.monotonic() < end:
            now = self.job(number, check=False)
            if now.get("JobState") in wanted:
                return now
            time.sleep(0.05)
        raise AssertionError(f"job {number} never was {wanted}: {now}\n{self.said()}")

    def wait_nodes(self, state, names=None):
        wanted = sorted(names or self.nodes)

        def there():
            listed = self.run("sinfo", "-h", "-N", "-t", state, "-o", "%N", timeout=5).stdout.split()
            return set(wanted) <= set(listed)
        self.wait_until(there, f"nodes {wanted} are not {state}")

    def said(self, lines=15):
        """The end of each log, for a message of a failed test, and which daemons are dead that nobody ended."""
        text = "".join(f"--- {name} is dead: {one.returncode}\n" for name, one in self.processes.items() if one.poll() is not None)
        if "slurmctld" in self.processes and not text:
            nodes = self.run("sinfo", "-N", "-h", "-o", "%N %T %E", timeout=5)
            text += f"--- nodes\n{nodes.stdout}{nodes.stderr}\n"
        for place in sorted((self.folder / "log").glob("*.log")):
            whole = place.read_text(encoding="utf-8", errors="replace").splitlines()
            end = [line for line in whole if "pmi" not in line and "MPI" not in line and "hardware" not in line][-lines:]
            text += f"--- {place.name}\n" + "\n".join(end) + "\n"
        return text


def fields(line):
    """`Name=value Name=value`, values with blanks in them kept whole: a name begins after a blank with a capital letter."""
    found = {}
    for part in re.split(r" (?=[A-Z][A-Za-z:/]*=)", line.strip()):
        name, _, value = part.partition("=")
        found.setdefault(name, value)
    return found if line.strip() else {}


@unittest.skipIf(missing(), missing())
class SlurmTest(unittest.TestCase):
    """Tests of a class share one cluster, made with OPTIONS; each begins and ends with an empty queue."""

    OPTIONS = {}
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(**cls.OPTIONS)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def tearDown(self):
        self.cluster.run("scancel", "-p", self.cluster.partition)
        self.cluster.wait_until(lambda: not self.cluster.squeue(), "jobs do not end")
