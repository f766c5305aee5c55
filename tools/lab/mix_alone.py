#!/usr/bin/env python3
"""The loops of a mix, each alone, as a plan of measure.py: mix_alone.py MIX.toml PASS > plan.json

Measured before (PASS 1) and after (PASS 2) a run, they are what `run_mix.py --alone rows.jsonl` compares the run with: the rates alone of the
same sitting, and how far they are apart.
"""
import json
import sys
import tomllib

if len(sys.argv) != 3 or sys.argv[2] not in ('1', '2'):
    sys.exit(__doc__)
with open(sys.argv[1], 'rb') as file:
    jobs = tomllib.load(file)['jobs']
loops = list(dict.fromkeys((job['workload'], job['batch'], job['precision'], job['workers'], 'sgd') for job in jobs))
print(json.dumps([{'jobs': [loop], 'mps': 0, 'pass': int(sys.argv[2])} for loop in loops]))
