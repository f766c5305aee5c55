"""A strict reader of Prometheus' text format 0.0.4: what a server would refuse, it refuses."""

import math
import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
TYPES = ("counter", "gauge", "histogram", "summary", "untyped")
ESCAPES = {"\\": "\\", '"': '"', "n": "\n"}


class NotExposition(ValueError):
    """Says which line, and what is wrong with it."""


def read_labels(text, at):
    """From the '{' at `at`: the labels, and where they end."""
    labels = {}
    at += 1
    while text[at] != "}":
        name = LABEL.match(text, at)
        if not name or text[name.end():name.end() + 2] != '="':
            raise NotExposition(f"no label at column {at}: {text}")
        at = name.end() + 2
        value = ""
        while text[at] != '"':
            if text[at] == "\\":
                at += 1
                if text[at] not in ESCAPES:
                    raise NotExposition(f"no escape at column {at}: {text}")
                value += ESCAPES[text[at]]
            else:
                value += text[at]
            at += 1
        if name[0] in labels:
            raise NotExposition(f"label {name[0]} twice: {text}")
        labels[name[0]] = value
        at += 1
        if text[at] == ",":
            at += 1
        elif text[at] != "}":
            raise NotExposition(f"neither , nor }} at column {at}: {text}")
    return labels, at + 1


def parse(text):
    """{name: {"type", "help", "samples": [(labels, value)]}}; or NotExposition."""
    if not text.endswith("\n"):
        raise NotExposition("the last line has no end")
    families = {}
    seen = set()
    current = None
    for line in text[:-1].split("\n"):
        try:
            if line.startswith("# "):
                _, word, name, rest = line.split(" ", 3)
                if not NAME.fullmatch(name):
                    raise NotExposition(f"no name: {line}")
                if word == "HELP":
                    if name in families:
                        raise NotExposition(f"{name} begins twice: {line}")
                    families[name] = {"help": rest, "type": None, "samples": []}
                    current = name
                elif word == "TYPE":
                    if name != current or families[name]["type"] or families[name]["samples"]:
                        raise NotExposition(f"a type out of place: {line}")
                    if rest not in TYPES:
                        raise NotExposition(f"no type: {line}")
                    families[name]["type"] = rest
                else:
                    raise NotExposition(f"neither HELP nor TYPE: {line}")
                continue
            name = NAME.match(line)
            if not name or name[0] != current:
                raise NotExposition(f"a sample outside of its family {current}: {line}")
            at = name.end()
            labels = {}
            if line[at] == "{":
                labels, at = read_labels(line, at)
            if line[at] != " " or not NUMBER.fullmatch(line[at + 1:]):
                raise NotExposition(f"no finite number: {line}")
            value = float(line[at + 1:])
            if not math.isfinite(value):
                raise NotExposition(f"no finite number: {line}")
            key = (name[0], tuple(sorted(labels.items())))
            if key in seen:
                raise NotExposition(f"the same series twice: {line}")
            seen.add(key)
            families[current]["samples"].append((labels, value))
        except IndexError as error:
            raise NotExposition(f"it ends too early: {line}") from error
    for name, family in families.items():
        if not family["type"] or not family["samples"]:
            raise NotExposition(f"{name} has no type or no sample")
        if family["type"] == "counter" and any(value < 0 for _, value in family["samples"]):
            raise NotExposition(f"the counter {name} is negative")
    return families
