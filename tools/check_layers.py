#!/usr/bin/env python3
"""Checks that src/ keeps to the layers of ARCHITECTURE.md and to what CONTRIBUTING.md says of sizes and of words, and says file:line, what, and
what to do.

- each #include against the table below;
- the pure modules for clocks, files, threads and chance;
- that a library that one module stands for is included there alone;
- each module's DEPS in its CMakeLists.txt against the same table;
- that every source, benchmark and fuzzer stands in a CMakeLists.txt, so that no test exists that nobody runs;
- that nothing is decided by the words of a reason, note or message of ours;
- that a folder has at most 25 units (a source with its header and its test);
- that a source has at most 450 lines, and a class at most 25 methods and 20 fields by a simple count (tests and testing/ excepted);
- that a tool with a #! line can be run, and one that can be run has it.

tools/check_layers_exceptions.txt lists what is larger, with its size, and who else's words are read. That list only shrinks: what has
become smaller than its entry must have the entry lowered.
"""

import argparse
import collections
import os
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import count_members  # noqa: E402

PURE = ("core", "json", "graph", "interference", "estimate", "predict", "policy", "sim")

_BELOW_ACTS = ("core", "graph", "interference", "estimate", "predict", "policy", "sim", "platform", "json", "catalogue",
                "collect", "stress", "import", "store", "trace", "engine", "control")

_ACTS = ("measure", "advice", "simulation")
_SHELL = ("cli/args/*", "cli/simulate/*", "cli/app.*", "cli/terminal.*")

# What a module may include. "engine/engine.h" allows that header alone (a face of its module), and a
# trailing * any header whose name begins so.
ALLOWED = {
    "core": (),
    "json": ("core",),
    "graph": ("core", "json"),
    "interference": ("core",),
    "estimate": ("core", "interference"),
    "policy": ("core", "interference"),
    "sim": ("core", "interference"),
    "predict": ("core", "json", "graph", "interference"),
    "platform": ("core",),
    "catalogue": ("core", "platform", "json"),
    "collect": ("core", "platform"),
    "stress": ("core", "platform"),
    "import": ("core", "platform", "json", "collect/metrics/*"),
    "store": ("core", "platform", "json"),
    # Traces name workloads as our own files do, and Gavel's two files are read by one reader.
    "trace": ("core", "platform", "json", "catalogue"),
    "engine": ("core", "platform", "json"),
    "engine/simulated/*": ("core", "platform", "json", "engine", "sim"),
    "control": ("core", "platform/clock/wall_clock.h", "platform/mutex.h", "policy/policy.h",
                "estimate/seen_needs.h", "collect/collector.h",
                "store/store.h", "store/job_store.h", "engine/engine.h", "engine/check_plan.h", "engine/step_source.h",
                "engine/runner.h", "engine/foreign_queue.h", "engine/pauser.h", "engine/runner_node.h", "engine/live/live_engine.h"),
    # Whole acts, one function each.
    "measure": _BELOW_ACTS,
    "advice": _BELOW_ACTS + ("measure",),
    "simulation": _BELOW_ACTS + ("advice",),
    # Their results are plain data.
    "report": ("core", "json", "store", "measure/doctor/health.h",
               "measure/imports/imported_metrics.h", "measure/grid/colocate_result.h",
               "measure/grid/sweep_result.h", "measure/sensitivity/sensitivity_result.h",
               "advice/inspection.h", "advice/prediction.h", "advice/watched_step.h", "advice/recommend/recommendation.h",
               "simulation/results.h", "simulation/replay/forecast.h",
               "simulation/scenario.h", "simulation/simulate.h",
               "simulation/group_times.h", "simulation/spread.h", "simulation/summary.h",
               "simulation/replay/switch_over.h", "simulation/replay/whatif.h",
               "simulation/replay/gains.h", "simulation/usage/gpu_time.h", "simulation/usage/savings.h"),
    # A program of its own that has nothing but libc.
    "supervise": ("engine/local/run/job_files.h", "engine/local/run/log_rows.h",
                  "platform/files/metric_lines.h", "platform/files/step_lines.h", "platform/files/watch_counter.h",
                  "platform/process/process_handle.h", "engine/local/run/terminal_frames.h"),
    # A program of its own that can be killed while the driver holds it up.
    "pause": ("engine/local/run/job_files.h", "engine/local/run/pause_file.h", "platform/process/cuda_checkpoint.h",
              "platform/process/process_tree.h"),
    "http": ("core", "platform"),
    "api": ("core", "platform/clock/wall_clock.h", "platform/mutex.h", "platform/process/user_account.h",
            "platform/process/work_stop.h", "store", "control", "http", "json", "platform/files/test_folder.h"),
    "server": _BELOW_ACTS + _ACTS + ("report", "http", "api"),
    "cli": _BELOW_ACTS + _ACTS + ("report", "http", "api", "server"),
    # What both programs have at the shell: sharewell of cli/, and sharewell-lab of research/.
    **{room: _BELOW_ACTS + _ACTS + ("report",) + _SHELL for room in _SHELL},
    "research": _BELOW_ACTS + _ACTS + ("report",) + _SHELL,
    # The fixtures of the tests; nothing but tests may include it.
    "testing": tuple(m for m in _BELOW_ACTS if m != "control") +
               ("control/loop/event_readings.h", "control/loop/loop.h"),
}

# In pure modules: the same input gives the same bytes, so nothing that reads a clock, a file, the
# environment or chance, and nothing that prints or runs beside.
IMPURE_HEADERS = frozenset("""
    chrono ctime time.h iostream istream fstream cstdio stdio.h print filesystem thread mutex
    shared_mutex condition_variable atomic future semaphore latch barrier stop_token random csignal
    signal.h unistd.h fcntl.h pthread.h dlfcn.h poll.h syslog.h fmt/chrono.h fmt/os.h fmt/color.h
    """.split())
# Whoever wants what the library does asks the module, so that it is done in one way.
ONE_MODULES_LIBRARY = {
    "simdjson.h": ("json", "json/value.h parses, json/reader.h says what is wrong, json/walk.h walks what is too large"),
    "nlohmann/json.hpp": ("json", "json/writer.h writes, json/value.h parses")}
# What tests hold ours against, and stand-ins for others' programs are made with.
TESTS_MAY_INCLUDE = ("nlohmann/json.hpp",)
IMPURE_PREFIXES = ("sys/", "spdlog/", "linux/", "netinet/", "arpa/", "curl/", "boost/asio")
IMPURE_CALLS = re.compile(
    r"\b(?:std::(?:getenv|rand|srand|system|time|clock|printf|puts|fopen|random_device|chrono|cout|cerr"
    r"|cin|this_thread)|fmt::print|thread_local)\b"
    r"|(?<![\w.>:])(?:getenv|rand|srand|popen|fopen|gettimeofday|clock_gettime|usleep)\s*\(")
# The C library's last bit of these differs between x86_64 and aarch64 (Debian 12: of hypot in an eighth of all cases).
UNEQUAL_CALLS = re.compile(r"\bstd::(?:hypot|exp2)\b")
# CHECK must say what failed before it ends the program.
MAY_PRINT = {"core/result.h"}

# Reasons, notes and messages are made for people, at the edge; what is decided is a value. A character, as in find('\\n'), is layout and not words.
WORDS_READ = re.compile(r"\b(?:reason|note|message|words|why|problem|missing)_?(?:\(\))?\s*(?:\.|->)\s*(?:starts_with|ends_with|find|rfind|contains)\s*\((?!\s*')")

MOST_LINES = 450
# A source, its header and its test are one unit.
MOST_UNITS = 25
MOST_METHODS = 25
MOST_FIELDS = 20
# A struct with few methods is a record: it has as many fields as what it describes.
RECORD_METHODS = 8

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def blank(text, strings):
    """Comments, and strings if asked, replaced by spaces: lines and columns stay."""
    def replace(match):
        if match[0].startswith('"') and not strings:
            return match[0]
        return re.sub(r"[^\n]", " ", match[0])
    return COMMENT_OR_STRING.sub(replace, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def rules_for(module, inner):
    """The table's entry, and whether it is a room's own, such as that of engine/simulated."""
    path = f"{module}/{inner.as_posix()}"
    for room, rules in ALLOWED.items():
        if "/" in room and path.startswith(room.rstrip("*")):
            return rules, True
    return ALLOWED[module], False


def permits(rules, target):
    module = target.split("/")[0]
    return any(rule in (module, target) or (rule.endswith("*") and target.startswith(rule[:-1]))
               for rule in rules)


def describe(module, rules):
    return ", ".join((module,) + tuple(rules))


def check_file(path, module, inner):
    text = path.read_text(encoding="utf-8", errors="replace")
    rules, of_a_room = rules_for(module, inner)
    of_tests = path.name.endswith("_test.cc")
    pure = module in PURE and not of_tests
    for match in INCLUDE.finditer(blank(text, strings=False)):
        line = line_of(text, match.start())
        quoted, target = match[1] == '"', match[2]
        first = target.split("/")[0]
        ours = "/" in target and first in ALLOWED
        if ours:
            if first == module and not of_a_room:
                continue
            if first == "testing":
                if not of_tests:
                    yield line, f'includes "{target}" outside a test', \
                        "testing/ is for *_test.cc files; move what is needed into a module below"
            elif not permits(rules, target):
                yield line, f'{module} includes "{target}", which its layer does not allow', \
                    f"it may include {describe(module, rules)}; pass the thing in as data, or move it down"
        elif quoted:
            yield line, f'includes "{target}", which is no path from src/', \
                "write ours as \"module/file.h\" and libraries as <library/file.h>"
        elif target in ONE_MODULES_LIBRARY and module != ONE_MODULES_LIBRARY[target][0]:
            if target in TESTS_MAY_INCLUDE and (of_tests or module == "testing"):
                continue
            yield line, f"{module} includes <{target}>", \
                f"only {ONE_MODULES_LIBRARY[target][0]} does: {ONE_MODULES_LIBRARY[target][1]}"
        elif pure and (target in IMPURE_HEADERS or target.startswith(IMPURE_PREFIXES)):
            if f"{module}/{inner.as_posix()}" not in MAY_PRINT or target not in ("cstdio", "stdio.h"):
                yield line, f"{module} is pure and includes <{target}>", \
                    "take time, seed and bytes as arguments; do the I/O in platform or above"
        elif module == "core" and not of_tests and "/" in target and first not in ("fmt", "tl"):
            yield line, f"core includes <{target}>", \
                "core has the standard library, fmt and tl::expected only; move this to an adapter"
    if pure:
        for match in IMPURE_CALLS.finditer(blank(text, strings=True)):
            yield line_of(text, match.start()), f"{module} is pure and uses {match[0].rstrip('( ')}", \
                "take time, seed and settings as arguments"
        for match in UNEQUAL_CALLS.finditer(blank(text, strings=True)):
            yield line_of(text, match.start()), f"{module} is pure and uses {match[0]}, which differs between x86_64 and aarch64", \
                "write std::sqrt(a * a + b * b), or std::pow(2, x)"


def is_test(path):
    """Tests, and the headers that only they include."""
    return path.name.endswith("_test.cc") or path.name.startswith("test_") or "testing" in path.parts


class Exceptions:
    """What tools/check_layers_exceptions.txt allows. Every entry must still be needed, and no larger than it must be."""

    FILE = "tools/check_layers_exceptions.txt"

    def __init__(self, root):
        self.entries = {}  # (kind, file, name) to (line, sizes)
        path = root / self.FILE
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        for number, line in enumerate(lines, 1):
            fields = line.split("#")[0].split()
            if fields:
                kind, file, *rest = fields
                name = rest.pop(0) if kind == "class" else ""
                self.entries[kind, file, name] = (number, tuple(int(size) for size in rest))
        self.seen = set()

    def judge(self, kind, file, name, sizes, limits):
        """None where it is as allowed; else what is wrong with it. The sizes are above the limits, or there may be an entry."""
        key = (kind, file, name)
        over = any(size > limit for size, limit in zip(sizes, limits))
        if key not in self.entries:
            return "above" if over else None
        self.seen.add(key)
        _, allowed = self.entries[key]
        if any(size > most for size, most in zip(sizes, allowed)):
            return "grown"
        return None if over and sizes == allowed else "lower"

    def place(self, kind, file, name=""):
        return self.entries[kind, file, name][0]

    def unused(self):
        return [(number, kind, file, name) for (kind, file, name), (number, _) in self.entries.items() if (kind, file, name) not in self.seen]


def check_words_and_sizes(path, file, text, exceptions):
    """(where, line, what, what to do) for words that are read and for what is too large; where is None for the file itself."""
    blanked = blank(text, strings=True)
    read = [line_of(text, found.start()) for found in WORDS_READ.finditer(blanked)]
    if ("foreign", file, "") in exceptions.entries:
        if read:
            exceptions.seen.add(("foreign", file, ""))
    else:
        verdict = exceptions.judge("words", file, "", (len(read),), (0,))
        if verdict == "lower":
            yield exceptions.FILE, exceptions.place("words", file), f"{file} reads words in {len(read)} places now", \
                f"write {len(read)}" if read else "take the line away"
        elif verdict:
            for line in read:
                yield None, line, "decides by the words of a reason, note or message", \
                    "make it a value of core, and words of it in report and api; what another program says: list the file as foreign in " + exceptions.FILE
    lines = text.count("\n")
    verdict = exceptions.judge("lines", file, "", (lines,), (MOST_LINES,))
    if verdict == "lower":
        yield exceptions.FILE, exceptions.place("lines", file), f"{file} has {lines} lines now", \
            f"write {lines}" if lines > MOST_LINES else "take the line away"
    elif verdict:
        yield None, lines, f"has {lines} lines", f"a source has at most {MOST_LINES}: move one of its ideas into a file of its own"
    for offset, name, methods, fields in count_members.classes(blanked):
        limits = (MOST_METHODS, MOST_FIELDS if methods > RECORD_METHODS else fields)
        verdict = exceptions.judge("class", file, name, (methods, fields), limits)
        if verdict == "lower":
            still = methods > limits[0] or fields > limits[1]
            yield exceptions.FILE, exceptions.place("class", file, name), f"{name} has {methods} methods and {fields} fields now", \
                f"write {methods} {fields}" if still else "take the line away"
        elif verdict:
            yield None, line_of(text, offset), f"{name} has {methods} methods and {fields} fields", \
                f"a class has one noun, and at most {MOST_METHODS} methods and {MOST_FIELDS} fields: split it"


def check_run_bits(root):
    """Tools that are programs can be run as such."""
    for path in sorted((root / "tools").rglob("*")) if (root / "tools").is_dir() else []:
        if not path.is_file() or "__pycache__" in path.parts:
            continue
        with path.open("rb") as file:
            program = file.read(2) == b"#!"
        if program and not os.access(path, os.X_OK):
            yield path, 1, "has a #! line and cannot be run", "chmod +x, or take the line away"
        elif not program and os.access(path, os.X_OK):
            yield path, 1, "can be run and has no #! line", "chmod -x, or say who runs it"


def check_cmake(root, module):
    """DEPS keep to the table; every source in the folder is listed."""
    path = root / "src" / module / "CMakeLists.txt"
    folder = path.parent
    if not path.exists():
        yield folder, 1, "has no CMakeLists.txt", "add one that calls sharewell_module"
        return
    text = re.sub(r"#[^\n]*", "", path.read_text(encoding="utf-8"))
    words = re.findall(r"[^\s()]+", text)
    for match in re.finditer(r"\bDEPS\s+((?:[a-z_]+\s*)*)", text):
        # A room that others link is a target of its own.
        allowed = {"cli_base" if rule in _SHELL else rule.split("/")[0] for key, rules in ALLOWED.items()
                   if key.split("/")[0] == module for rule in rules}
        for dep in match[1].split():
            if dep not in allowed:
                yield path, line_of(text, match.start()), f"{module} links {dep}", \
                    f"its layer may link {', '.join(sorted(allowed)) or 'no module'}"
    for source in sorted(folder.rglob("*.cc")):
        name = source.relative_to(folder).as_posix()
        if name not in words:
            yield source, 1, "is not built", f"add {name} to src/{module}/CMakeLists.txt"


def check_programs(root, folder, suffix, call):
    path = root / folder / "CMakeLists.txt"
    if not path.exists():
        return
    text = path.read_text(encoding="utf-8")
    for source in sorted((root / folder).glob("*" + suffix)):
        name = source.name[:-len(suffix)]
        if not re.search(rf"^\s*{call}\(\s*{re.escape(name)}\b", text, re.MULTILINE):
            yield source, 1, "is not built", f"add {call}({name} DEPS ...) to {folder}/CMakeLists.txt"


def check_rooms(root):
    """A folder holds as much as a reader takes in at a glance."""
    units = collections.defaultdict(set)
    for path in (root / "src").rglob("*"):
        if path.suffix in (".h", ".cc"):
            units[path.parent].add(re.sub(r"_(?:test|bench)$", "", path.stem))
    for folder, names in sorted(units.items()):
        own = {name for name in names if (folder / f"{name}.h").exists() or (folder / f"{name}.cc").exists()}
        if len(own) > MOST_UNITS:
            yield folder, 1, f"holds {len(own)} units", f"a folder has at most {MOST_UNITS}: give those that belong together a room of their own"


def check_tree(root):
    """All breaches under root, each "file:line: what: what to do"."""
    found = []

    def add(path, line, what, remedy):
        found.append(f"{path.relative_to(root).as_posix()}:{line}: {what}: {remedy}")

    files = 0
    exceptions = Exceptions(root)
    for folder in sorted(p for p in (root / "src").iterdir() if p.is_dir()):
        module = folder.name
        if module not in ALLOWED:
            add(folder, 1, "is no module of ARCHITECTURE.md",
                "put the code into one, or add the module to the table here and there")
            continue
        for path in sorted(folder.rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            files += 1
            for breach in check_file(path, module, path.relative_to(folder)):
                add(path, *breach)
            if is_test(path.relative_to(root)):
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            for where, *breach in check_words_and_sizes(path, path.relative_to(root).as_posix(), text, exceptions):
                add(root / where if where else path, *breach)
        for breach in check_cmake(root, module):
            add(*breach)
    for line, kind, file, name in exceptions.unused():
        add(root / exceptions.FILE, line, f"{kind} {file}{' ' + name if name else ''} is not there any more", "take the line away")
    for breach in check_rooms(root):
        add(*breach)
    for breach in check_run_bits(root):
        add(*breach)
    for breach in check_programs(root, "bench", "_bench.cc", "sharewell_bench"):
        add(*breach)
    for breach in check_programs(root, "fuzz", "_fuzzer.cc", "sharewell_fuzzer"):
        add(*breach)
    return files, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    files, found = check_tree(root)
    for line in found:
        print(line, file=sys.stderr)
    if found:
        print(f"layers: {len(found)} breaches in {files} files", file=sys.stderr)
        return 1
    print(f"layers: {files} files keep to them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
