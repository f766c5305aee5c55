"""A PostgreSQL server of a test's own; shared by the tests in these folders."""

import os
import pathlib
import pwd
import signal
import subprocess
import tempfile
import time

from program import PATIENCE

# Where its programs are; None: it is not installed.
POSTGRES = next((str(path.parent) for path in sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)), None)


def start_postgres(test):
    """Runs until the test is over; gives its address. Needs root: PostgreSQL does not run as that, and is started as its own user."""
    place = tempfile.mkdtemp(prefix="sharewell-pg-")
    test.addCleanup(subprocess.run, ["rm", "-rf", place], check=False)
    account = pwd.getpwnam("postgres")
    os.chown(place, account.pw_uid, account.pw_gid)
    quiet = {"cwd": place, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL,
             "user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    subprocess.run([f"{POSTGRES}/initdb", "-D", f"{place}/data", "-A", "trust", "-U", "me", "-E", "UTF8", "--no-locale", "--no-sync"], check=True,
                   timeout=PATIENCE, **quiet)
    process = subprocess.Popen([f"{POSTGRES}/postgres", "-D", f"{place}/data", "-k", place, "-c", "listen_addresses=", "-c", "fsync=off"], **quiet)
    test.addCleanup(process.wait)
    test.addCleanup(process.send_signal, signal.SIGINT)
    address = f"postgresql://me@/postgres?host={place}"
    end = time.monotonic() + PATIENCE
    while subprocess.run([f"{POSTGRES}/psql", "-qc", "SELECT 1", address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        test.assertLess(time.monotonic(), end, "no database")
        time.sleep(0.05)
    return address
