#!/usr/bin/env python3
"""make_man.py PROGRAM FOLDER: man pages of the program and of each of its commands, made from what --help says."""

import pathlib
import re
import subprocess
import sys


def said(*args):
    return subprocess.run(args, check=True, capture_output=True, encoding="utf-8", env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1"}).stdout


def plain(text):
    """Text that roff takes for nothing else."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    return "\n".join("\\&" + line if line.startswith(".") else line for line in text.split("\n"))


def as_it_stands(text):
    return f".nf\n{plain(text)}\n.fi\n"


def sections(text):
    """The help's parts: what stands before the first heading, and each heading with its lines."""
    parts = re.split(r"^(options|examples?|[a-z][a-z ]+):\n", text, flags=re.M)
    return parts[0].strip("\n"), list(zip(parts[1::2], (part.strip("\n") for part in parts[2::2])))


def page(name, version, usage, summary, begins, rest):
    lines = [f'.TH {name.upper()} 1 "" "sharewell {version}" "Sharewell"', ".SH NAME", plain(f"{name} - {summary}"), ".SH SYNOPSIS",
             f".B {plain(usage)}", ".SH DESCRIPTION"]
    lines += [as_it_stands(begins).rstrip("\n")]
    for heading, text in rest:
        lines += [f".SH {plain(heading.upper())}", as_it_stands(text).rstrip("\n")]
    return "\n".join(lines) + "\n"


def main(program, folder):
    folder, own = pathlib.Path(folder), pathlib.Path(program).name
    folder.mkdir(parents=True, exist_ok=True)
    version = said(program, "--version").split()[1]
    begins, rest = sections(said(program, "help", "--all"))
    commands = [line.split()[0] for heading, text in rest if heading not in ("options", "example", "examples")
                for line in text.split("\n") if re.match(r"  \S", line)]
    names = ", ".join(f"{own}-{command}(1)" for command in commands)
    summary = begins.split("\n")[0].rstrip(".").removeprefix("Sharewell ").removeprefix("Sharewell's ")
    text = page(own, version, f"{own} COMMAND [options]", summary, begins.split("\n")[0], rest)
    (folder / f"{own}.1").write_text(text + f".SH SEE ALSO\n{plain(names)}\n", encoding="utf-8")
    for command in commands:
        begins, rest = sections(said(program, command, "--help"))
        usage, words = begins.split("\n\n", 1)
        first = words.split("\n")[0].rstrip(".")
        text = page(f"{own}-{command}", version, usage.removeprefix("usage: "), first[0].lower() + first[1:], words, rest)
        (folder / f"{own}-{command}.1").write_text(text + f".SH SEE ALSO\n{plain(own)}(1)\n", encoding="utf-8")
    print(len(commands) + 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
