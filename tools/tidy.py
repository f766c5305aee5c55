#!/usr/bin/env python3
"""Runs clang-tidy over the sources of src/ (not the tests), and remembers by content what was clean.

    tools/tidy.py              every source
    tools/tidy.py --changed    those that changed since what landed last

A file is checked again when it, a header of ours that it reaches, its compile command, .clang-tidy or
clang-tidy itself has changed: what was clean is kept in $XDG_CACHE_HOME/sharewell (~/.cache/sharewell). With --changed,
sources that are compiled alike are first checked several at a time, since most of the time goes into the headers they
share; where that finds something, each is checked by itself.

What landed last is $TIDY_BASE (a commit; hosted CI sets it), else where this branch left origin's main. A clone
of main itself knows neither: there it is the newest commit that is six hours older than HEAD, which is more than
one landing rather than less. A changed header is checked through its own source, or through one that
includes it. A file that was only moved, or where only includes, comments, names or words in quotes differ, is
left to the check of every source; the last line says how many those are.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "lint"  # configured with clang, without precompiled headers
# Apart from build/, which is new in every checkout: one machine checks the same text once.
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "sharewell" / "tidy"
CACHE_SECONDS = 60 * 24 * 3600
BATCH = 10
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
LANDING_SECONDS = 6 * 3600
TOKEN = re.compile(r"""
    (?P<gone> //[^\n]* | /\*.*?\*/ | \#\s*(?:include|pragma)[^\n]* | \s+ )
  | (?P<words> R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" )
  | (?P<name> [A-Za-z_]\w*(?:\s*::\s*~?[A-Za-z_]\w*)* )
  | (?P<other> '(?:\\.|[^'\\\n])+' | . )""", re.VERBOSE | re.DOTALL)
KEYWORDS = frozenset("""alignas auto bool break case catch char class const constexpr consteval const_cast continue
    decltype default delete do double dynamic_cast else enum explicit extern false final float for friend goto if inline
    int long mutable namespace new noexcept nullptr operator override private protected public reinterpret_cast
    requires return short signed sizeof static static_assert static_cast struct switch template this thread_local throw
    true try typedef typename union unsigned using virtual void volatile while""".split())


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, encoding="utf-8", errors="replace", check=False)
    return done.stdout if done.returncode == 0 else None


def shape(text):
    """The tokens of a source, with every name alike and the words in quotes left out."""
    found = []
    for token in TOKEN.finditer(text):
        kind = token.lastgroup if token.lastgroup != "mark" else "words"
        if kind == "gone":
            continue
        if kind == "words" and found and found[-1] == '"':
            continue  # a string over several lines
        if kind == "name":
            found.append(token[0] if token[0] in KEYWORDS or token[0].startswith("std::") else "name")
        else:
            found.append('"' if kind == "words" else token[0])
    return found


def landed():
    """The commit to compare with and why that one; none where history does not tell."""
    given = os.environ.get("TIDY_BASE", "")
    if given.strip("0"):  # a hosted service writes zeros where there was no commit before
        return given, "$TIDY_BASE"
    head = (git("rev-parse", "HEAD") or "").strip()
    left = (git("merge-base", "HEAD", "origin/main") or "").strip()
    if left and left != head:
        return left, "where this branch left origin/main"
    when = git("log", "-1", "--format=%ct", "HEAD")
    if when is None:
        return None, "no history"
    before = git("rev-list", "--first-parent", "-1", f"--before={int(when) - LANDING_SECONDS}", "HEAD")
    return ((before or "").strip() or None), "six hours before HEAD"


def changed_since(base):
    """Paths of C++ files in src/ whose shape changed since `base`, and how many others differ there."""
    listed = git("diff", "--name-status", "--find-renames=40%", "-z", base, "--", "src")
    if listed is None:
        sys.exit(f"tidy: git knows no commit {base}: fetch the history, or run `make lint`, which checks every source")
    fields = listed.split("\0")
    changed, renamed = set(), 0
    while len(fields) > 1:
        state = fields.pop(0)
        old = fields.pop(0)
        new = fields.pop(0) if state[0] in "RC" else old
        if state == "D" or not new.endswith((".cc", ".h")) or new.endswith("_test.cc"):
            continue
        before = git("show", f"{base}:{old}") if state[0] != "A" else None
        now = ROOT / new
        if not now.exists():
            continue
        if before is not None and shape(before) == shape(now.read_text(encoding="utf-8", errors="replace")):
            renamed += 1
        else:
            changed.add(now)
    for path in (git("ls-files", "--others", "--exclude-standard", "-z", "src") or "").split("\0"):
        if path.endswith((".cc", ".h")) and not path.endswith("_test.cc"):
            changed.add(ROOT / path)
    return changed, renamed


def reached(path, seen):
    """The file and every header of ours it includes, directly or not."""
    if path in seen or not path.is_file():
        return seen
    seen.add(path)
    for name in INCLUDE.findall(path.read_bytes()):
        reached(ROOT / "src" / name.decode(), seen)
    return seen


def sources_for(changed, sources):
    """The sources through which all of `changed` is checked, and the headers that none of them reaches."""
    chosen = changed & sources
    seen = set()
    for path in chosen:
        reached(path, seen)
    users = {}
    for path in sorted(sources):
        for name in INCLUDE.findall(path.read_bytes()):
            users.setdefault(ROOT / "src" / name.decode(), []).append(path)
    unread = []
    for header in sorted(path for path in changed if path.suffix == ".h"):
        own = header.with_suffix(".cc")
        if header in seen:
            continue
        user = own if own in sources else next(iter(users.get(header, [])), None)
        if user is None:
            unread.append(header)
            continue
        chosen.add(user)
        reached(user, seen)
    return chosen, unread


def alike(entry):
    """A compile command without what differs from source to source."""
    return entry["directory"], re.sub(r" -o \S+ -c \S+$", "", entry["command"])


def batches(work, commands):
    """The work, in lists of sources that are compiled alike."""
    groups = {}
    for item in work:
        groups.setdefault(alike(commands[item[0]]), []).append(item)
    return [group[i:i + BATCH] for group in groups.values() for i in range(0, len(group), BATCH)]


def together(batch, commands):
    """A source that includes those of the batch, and the folder that says how to compile it."""
    paths = [path for path, _ in batch]
    folder = BUILD / "together" / hashlib.sha256("".join(map(str, paths)).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "together.cc"
    source.write_text("".join(f'#include "{path}"  // NOLINT\n' for path in paths), encoding="utf-8")
    directory, command = alike(commands[paths[0]])
    (folder / "compile_commands.json").write_text(json.dumps(
        [{"directory": directory, "file": str(source), "command": f"{command} -o together.o -c {source}"}]), encoding="utf-8")
    return folder, source


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changed", action="store_true", help="only what changed since what landed last")
    only_changed = parser.parse_args().changed
    tidy = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if not tidy or not shutil.which("clang++-14"):
        print("tidy: clang-tidy-14 or clang++-14 is missing: run tools/setup", file=sys.stderr)
        return 1
    configured = subprocess.run(["cmake", "--preset", "lint"], cwd=ROOT, capture_output=True, text=True, check=False)
    if configured.returncode != 0:
        print(configured.stdout + configured.stderr, file=sys.stderr)
        return 1
    commands = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(entry["file"])
        if ROOT / "src" in path.parents and not path.name.endswith("_test.cc"):
            commands[path] = entry

    chosen = set(commands)
    notes = ""
    if only_changed:
        base, why = landed()
        if base is None:
            print(f"tidy: {why}, so every source counts as changed")
        else:
            changed, renamed = changed_since(base)
            chosen, unread = sources_for(changed, chosen)
            notes = f" ({len(changed)} changed since {base[:10]}, {why})"
            if renamed or unread:
                notes += (f"; left to `make lint`: {renamed} where only names, words, includes or comments differ, "
                          f"{len(unread)} headers that no source includes")
            if git("diff", "--quiet", base, "--", ".clang-tidy") is None:
                notes += "; .clang-tidy has changed: `make lint` holds every source to it"

    version = subprocess.run([tidy, "--version"], capture_output=True, check=True).stdout
    version += (ROOT / ".clang-tidy").read_bytes()
    work = []
    for path in sorted(chosen):
        command = commands[path]["command"].replace(str(ROOT) + "/", "")
        digest = hashlib.sha256(version + command.encode() + (b"together" if only_changed else b""))
        for part in sorted(reached(path, set())):
            digest.update(part.relative_to(ROOT).as_posix().encode() + b"\0" + part.read_bytes())
        mark = CACHE / digest.hexdigest()
        if mark.exists():
            mark.touch()
        else:
            work.append((path, mark))

    def run(build, path):
        done = subprocess.run([tidy, "--quiet", "-p", str(build), str(path)], cwd=ROOT, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else (done.stdout + done.stderr).replace(str(ROOT) + "/", "")

    def check(batch):
        """What is found in these sources, as text."""
        if len(batch) > 1 and not run(*together(batch, commands)):
            found = []
        else:
            found = [text for text in (run(BUILD, path) for path, _ in batch) if text]
        if not found:
            for _, mark in batch:
                mark.touch()
        return found

    CACHE.mkdir(parents=True, exist_ok=True)
    for mark in CACHE.iterdir():
        if mark.stat().st_mtime < time.time() - CACHE_SECONDS:
            mark.unlink(missing_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = [text for found in pool.map(check, batches(work, commands) if only_changed else [[item] for item in work]) for text in found]
    for text in bad:
        print(text, file=sys.stderr)
    print(f"tidy: {len(work)} of {len(commands)} sources checked, {len(chosen) - len(work)} known to be clean, {len(bad)} with findings"
          + notes)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
