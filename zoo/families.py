"""All families of the zoo: a workload by its name."""
import generate
import graphs
import language
import mlp
import recommend
import recurrent
import reinforce
import speech
import vision

FAMILIES = (vision, language, speech, recommend, recurrent, generate, graphs, reinforce, mlp)


def task(name, batch):
    kind, _, rest = name.partition(':')
    for family in FAMILIES:
        if kind in family.KINDS:
            return family.task(kind, rest, batch)
    raise SystemExit(f'unknown workload {name}')
