#!/usr/bin/env python3
"""The loops of a mix, each once and for a few seconds: mix_alone.py MIX.toml SLOT.json SECONDS > alone.toml

SLOT.json, a record of the mix under `slot` on any machine, says how many steps that is. `run_mix.py alone.toml --policy slot` before and after a run
of the whole mix gives the rates alone of the same sitting, measured as the run itself is, and how far they are apart.
"""
import json
import math
import sys
import tomllib

if len(sys.argv) != 4:
    sys.exit(__doc__)
with open(sys.argv[1], 'rb') as file:
    jobs = tomllib.load(file)['jobs']
with open(sys.argv[2], encoding='utf-8') as file:
    record = json.load(file)['jobs']
KEYS = ('workload', 'batch', 'precision', 'workers')
rates = {tuple(job[key] for key in KEYS): job['steps_per_second'] for job in record}
for loop in dict.fromkeys(tuple(job[key] for key in KEYS) for job in jobs):
    print('[[jobs]]\narrival_seconds = 0.0')
    for key, value in zip(KEYS, loop):
        print(key, '=', json.dumps(value))
    print('steps =', math.ceil(rates[loop] * float(sys.argv[3])), end='\n\n')
