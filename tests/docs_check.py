#!/usr/bin/env python3
"""The documents keep what they promise: relative links resolve, and every command and flag that
README.md shows is one that the program has. The program is $SHAREWELL; without it, links only."""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^(```|~~~).*?^\1[^\S\n]*$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"!?\[[^\]\n]*\]\(\s*<?([^)>\s]+)>?(?:\s+\"[^\"\n]*\")?\s*\)|^\s*\[[^\]\n]+\]:\s*(\S+)",
                  re.MULTILINE)
FLAG = re.compile(r"--[a-z][a-z0-9-]*")
SUBCOMMAND = re.compile(r"[a-z][a-z0-9-]*")


def documents(root):
    for path in sorted(root.rglob("*.md")):
        parts = path.relative_to(root).parts
        if not any(part.startswith(".") or part in ("build", "node_modules") for part in parts[:-1]):
            yield path


def anchors(text):
    """The names a heading is linked by, as common renderers make them."""
    found = set()
    for title in re.findall(r"^#{1,6}\s+(.+?)\s*#*$", FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", lambda m: m[1] or "", title)
        found.add(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return found


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def without_code(text):
    """Code replaced by spaces, so that lines stay and nothing in it looks like a link."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    return INLINE.sub(blank, FENCE.sub(blank, text))


def check_links(root):
    for path in documents(root):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(root)
        for match in LINK.finditer(without_code(text)):
            target = match[1] or match[2]
            if re.match(r"[a-z][a-z0-9+.-]*:", target, re.IGNORECASE):
                continue
            place, _, anchor = target.partition("#")
            place = urllib.parse.unquote(place.split("?")[0])
            where = f"{name}:{line_of(text, match.start())}"
            file = (root / place.lstrip("/") if place.startswith("/") else path.parent / place) \
                if place else path
            if not file.exists():
                yield f"{where}: the link {target} leads nowhere: mend the path or add the file"
            elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
                yield f"{where}: {file.name} has no heading #{anchor}: mend the link"


def commands(text):
    """(offset, command line) for each shown call of sharewell, in code only."""
    for block in FENCE.finditer(text):
        offset = block.start()
        joined = re.sub(r"\\\n", "  ", block[0])
        for line in joined.splitlines(keepends=True):
            yield offset, line.strip()
            offset += len(line)
    for inline in INLINE.finditer(FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)):
        yield inline.start(), inline[1].strip()


def split_calls(line):
    """The words after `sharewell` of each call in a shell line, up to a pipe, `;`, `#` or ` -- `."""
    if line.startswith("$ "):
        line = line[2:]
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&<>")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        words = line.split()
    call = None
    for index, word in enumerate(words + [";"]):
        if call is not None:
            if word == "--" or not word.strip(";|&<>"):
                yield call
                call = None
            else:
                call.append(word)
        elif word.split("/")[-1] == "sharewell" and (
                index == 0 or not words[index - 1].strip(";|&") or "=" in words[index - 1]
                or words[index - 1] in ("sudo", "time")):
            call = []


def help_of(program, words, cache):
    key = tuple(words)
    if key not in cache:
        done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=False,
                              timeout=60, env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"})
        cache[key] = done.stdout + done.stderr if done.returncode == 0 else None
    return cache[key]


def has_flag(text, flag):
    return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text) is not None


def check_readme(root, program):
    readme = root / "README.md"
    if not readme.exists():
        print("docs: README.md is not there yet; its commands were not checked")
        return
    text = readme.read_text(encoding="utf-8")
    cache = {}
    top = help_of(program, [], cache)
    if top is None:
        yield f"{program} --help failed: build the program first"
        return
    for offset, line in commands(text):
        where = f"README.md:{line_of(text, offset)}"
        for words in split_calls(line):
            command = []
            if words and SUBCOMMAND.fullmatch(words[0]):
                command = [words[0]]
                # CLI11 answers --help of an unknown word with the program's own help.
                own = help_of(program, command, cache)
                if own is None or own == top:
                    yield f"{where}: there is no command `sharewell {words[0]}`: mend README.md"
                    continue
            shown = help_of(program, command, cache) + top
            for word in words:
                flag = FLAG.match(word)
                if flag and not has_flag(shown, flag[0]):
                    yield f"{where}: `{' '.join(['sharewell'] + command)}` has no flag {flag[0]}: mend README.md"


def main():
    found = list(check_links(ROOT))
    program = os.environ.get("SHAREWELL")
    if program:
        found += check_readme(ROOT, program)
    else:
        print("docs: $SHAREWELL is not set; the commands of README.md were not checked")
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print("docs: links and commands hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
