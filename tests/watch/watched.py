"""Runs commands with the watcher and without it, alike in everything else."""
import collections
import os
import pathlib
import subprocess
import tempfile

import told

ROOT = pathlib.Path(__file__).resolve().parents[2]
WATCHER = ROOT / 'python' / 'watcher'
SCRIPTS = pathlib.Path(__file__).resolve().parent / 'scripts'
# Debian's, which has PyTorch 1.13; WATCH_PYTHON names another one, for example that of a machine with PyTorch 2.
PYTHON = os.environ.get('WATCH_PYTHON', '/usr/bin/python3')

Run = collections.namedtuple('Run', 'status out err heard')


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(('SHAREWELL', 'PYTHON'))}
    env.update(OMP_NUM_THREADS='1', MKL_NUM_THREADS='1', PYTHONHASHSEED='0', PYTHONDONTWRITEBYTECODE='1', LC_ALL='C.UTF-8')
    env.update({k: str(v) for k, v in more.items()})
    return env


def path(*places):
    return os.pathsep.join(map(str, places))


def run(command, watcher=WATCHER, places=(), seconds=250, folder=None, **more):
    """Runs a command, watched unless `watcher` is None. `places`: the job's own PYTHONPATH."""
    with tempfile.TemporaryDirectory(prefix='sharewell-watch-') as own:
        reader = None
        ahead = [watcher] if watcher else []
        if ahead or places:
            more['PYTHONPATH'] = path(*ahead, *places)
        if watcher and 'SHAREWELL_WATCH_PIPE' not in more:
            reader = told.Reader(os.path.join(own, 'pipe'))
            more['SHAREWELL_WATCH_PIPE'] = os.path.join(own, 'pipe')
        try:
            done = subprocess.run([str(x) for x in command], env=environment(**more), cwd=folder or own, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds)
        finally:
            data = reader.end() if reader else b''
        return Run(done.returncode, done.stdout, done.stderr, told.heard(data))


def script(name, *arguments, **more):
    return run([PYTHON, SCRIPTS / (name + '.py'), *arguments], **more)
