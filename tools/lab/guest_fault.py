#!/usr/bin/env python3
"""What becomes of the neighbours of a guest that breaks the GPU under all of them, on a real one.

  guest_fault.py OUT.json [--server-binary FILE]

A known loop trains. A script with a bug (scripts/crash.py) comes as a guest and writes to an address that nobody has, which ends every client of
the MPS server. Then the same script comes once more, and a harmless one. The record has all four jobs as the server has them, and its events.
"""
import argparse
import json
import pathlib
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import run_mix  # noqa: E402

SCRIPTS = HERE / 'scripts'
FIELDS = ('number', 'phase', 'attempt', 'ooms', 'exit_code', 'guest_memory_bytes', 'sm_share', 'beside', 'reason', 'note', 'started_ms', 'ended_ms')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('out', type=pathlib.Path)
    parser.add_argument('--server-binary', default=str(HERE.parents[1] / 'build/release/sharewell'))
    parser.add_argument('--gpus')
    a = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='fault-', ignore_cleanup_errors=True) as folder:
        server = run_mix.Server(a, 'sharewell', folder)
        client, events = server.client, []
        threading.Thread(target=run_mix.collect_events, args=(client, events), daemon=True).start()

        def submit(*words):
            return client.submit([sys.executable, *words], folder=str(SCRIPTS), cores=3)
        try:
            resident = submit('lstm.py', '--hidden', '256', '--layers', '2', '--batch', '32', '--workers', '0', '--steps', '1500')
            until = time.monotonic() + 60
            while resident.refresh().record.get('told') is None and time.monotonic() < until:
                time.sleep(0.5)
            jobs = [resident, submit('crash.py', '--after', '3')]
            wait(jobs[1], 60)
            jobs += [submit('crash.py', '--after', '3'), submit('tabular.py', '--workers', '0', '--steps', '500')]
            for job in jobs:
                wait(job, 90)
            record = {'jobs': [{key: job.refresh().record.get(key) for key in FIELDS} for job in jobs],
                      'events': [[e.kind, e.job, e.text] for e in events]}
            a.out.write_text(json.dumps(record, indent=1) + '\n', encoding='utf-8')
            for job in record['jobs']:
                print(job, flush=True)
        finally:
            for job in client.jobs(live=True):
                job.cancel()
            server.end()


def wait(job, patience):
    try:
        job.wait(patience)
    except TimeoutError:
        print('job', job.number, 'is', job.refresh().phase, flush=True)


if __name__ == '__main__':
    main()
