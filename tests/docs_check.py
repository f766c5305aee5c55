#!/usr/bin/env python3
"""The documents keep what they promise: relative links resolve, every page of docs/ can be reached from
docs/README.md, README.md and docs/ wrap at 120 characters, README.md is short, and every command and flag
that they show is one that the program has. The programs are $SHAREWELL and sharewell-lab beside it; without them commands
are not checked."""

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
PROGRAMS = ("sharewell", "sharewell-lab")
FLAG = re.compile(r"--[a-z][a-z0-9-]*")
SUBCOMMAND = re.compile(r"[a-z][a-z0-9-]*")
WIDEST = 120
README_LINES = 110


def documents(root):
    for path in sorted(root.rglob("*.md")):
        parts = path.relative_to(root).parts
        if not any(part.startswith(".") or part in ("build", "node_modules") for part in parts[:-1]):
            yield path


def manual(root):
    """What users read: README.md and docs/."""
    pages = (root / "README.md", *sorted((root / "docs").rglob("*.md")))
    return [page for page in pages if page.exists()]


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


def links(root, path, text):
    """(offset, target, file, anchor) of each link of a document that stays in the repository."""
    for match in LINK.finditer(without_code(text)):
        target = match[1] or match[2]
        if re.match(r"[a-z][a-z0-9+.-]*:", target, re.IGNORECASE):
            continue
        place, _, anchor = target.partition("#")
        place = urllib.parse.unquote(place.split("?")[0])
        file = (root / place.lstrip("/") if place.startswith("/") else path.parent / place) \
            if place else path
        yield match.start(), target, file, anchor


def check_links(root):
    for path in documents(root):
        text = path.read_text(encoding="utf-8")
        for offset, target, file, anchor in links(root, path, text):
            where = f"{path.relative_to(root)}:{line_of(text, offset)}"
            if not file.exists():
                yield f"{where}: the link {target} leads nowhere: mend the path or add the file"
            elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
                yield f"{where}: {file.name} has no heading #{anchor}: mend the link"


def check_index(root):
    """Each page below docs/ is linked from docs/README.md, or from a page of docs/ that is."""
    pages = {path.resolve() for path in (root / "docs").rglob("*.md")}
    reached, ahead = set(), [(root / "docs" / "README.md").resolve()]
    while ahead:
        page = ahead.pop()
        if page in reached or page not in pages:
            continue
        reached.add(page)
        text = page.read_text(encoding="utf-8")
        ahead += [file.resolve() for _, _, file, _ in links(root, page, text)]
    for page in sorted(pages - reached):
        yield f"{page.relative_to(root.resolve())}: no page of docs/ leads here: link it from docs/README.md"


def check_width(root):
    """Prose wraps; tables, code and pictures cannot."""
    for page in manual(root):
        lines = page.read_text(encoding="utf-8").splitlines()
        if page == root / "README.md" and len(lines) > README_LINES:
            yield f"README.md has {len(lines)} lines, {README_LINES} are allowed: move details to docs/"
        in_code = False
        for number, line in enumerate(lines, start=1):
            in_code ^= line.lstrip().startswith(("```", "~~~"))
            if len(line) > WIDEST and not in_code and not line.lstrip().startswith(("|", "<", "![")):
                yield (f"{page.relative_to(root)}:{number}: {len(line)} characters, {WIDEST} are allowed: "
                       "wrap the line")


def commands(text):
    """(offset, command line) for each shown call of a program of ours, in code only."""
    for block in FENCE.finditer(text):
        offset = block.start()
        joined = re.sub(r"\\\n", "  ", block[0])
        for line in joined.splitlines(keepends=True):
            yield offset, line.strip()
            offset += len(line)
    for inline in INLINE.finditer(FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)):
        yield inline.start(), inline[1].strip()


def split_calls(line):
    """The program and the words after it of each call in a shell line, up to a pipe, `;`, `#` or ` -- `."""
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
                yield call[0], call[1:]
                call = None
            else:
                call.append(word)
        elif word.split("/")[-1] in PROGRAMS and "=" not in word and (
                index == 0 or not words[index - 1].strip(";|&") or "=" in words[index - 1]
                or words[index - 1] in ("sudo", "time")):
            call = [word.split("/")[-1]]


def help_of(program, words, cache):
    key = (program, *words)
    if key not in cache:
        done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=False,
                              timeout=60, env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"})
        cache[key] = done.stdout + done.stderr if done.returncode == 0 else None
    return cache[key]


def has_flag(text, flag):
    return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text) is not None


def flags_of(program, words, cache):
    """The help of a command, and of its own subcommand where the second word is one."""
    shown = help_of(program, words[:1], cache)
    if len(words) > 1 and SUBCOMMAND.fullmatch(words[1]):
        shown += help_of(program, words[:2], cache) or ""
    return shown


def check_commands(root, program):
    cache = {}
    paths = {name: program.removesuffix("sharewell") + name for name in PROGRAMS}
    for path in paths.values():
        if not os.path.exists(path) or help_of(path, [], cache) is None:
            yield f"{path} --help failed: build the programs first"
            return
    for page in manual(root):
        text = page.read_text(encoding="utf-8")
        name = page.relative_to(root)
        for offset, line in commands(text):
            where = f"{name}:{line_of(text, offset)}"
            for command, words in split_calls(line):
                program = paths[command]
                shown = top = help_of(program, [], cache)
                if words and SUBCOMMAND.fullmatch(words[0]):
                    # CLI11 answers --help of an unknown word with the program's own help.
                    own = help_of(program, words[:1], cache)
                    if own is None or own == top:
                        yield f"{where}: there is no command `{command} {words[0]}`: mend {page.name}"
                        continue
                    shown += flags_of(program, words, cache)
                    command += f" {words[0]}"
                for word in words:
                    flag = FLAG.match(word)
                    if flag and not has_flag(shown, flag[0]):
                        yield f"{where}: `{command}` has no flag {flag[0]}: mend {page.name}"


def main():
    found = [*check_links(ROOT), *check_index(ROOT), *check_width(ROOT)]
    program = os.environ.get("SHAREWELL")
    if program:
        found += check_commands(ROOT, program)
    else:
        print("docs: $SHAREWELL is not set; commands were not checked")
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print("docs: links, index, width and commands hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
