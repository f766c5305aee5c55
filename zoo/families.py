"""All families of the zoo: a workload by its name."""
import detect
import generate
import graphs
import hub
import language
import mlp
import points
import recommend
import recurrent
import reinforce
import series
import speech
import states
import video
import vision

FAMILIES = (vision, language, speech, recommend, recurrent, generate, graphs, reinforce, mlp, states, points, video, detect, series, hub)


def task(name, batch):
    kind, _, rest = name.partition(':')
    for family in FAMILIES:
        if kind in family.KINDS:
            return family.task(kind, rest, batch)
    raise SystemExit(f'unknown workload {name}')
