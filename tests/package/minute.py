#!/usr/bin/env python3
"""The README's section "A minute with it", pasted into one shell: no command waits for another but as it is written. Each must
succeed and print what stands below it. minute.py REPOSITORY, with `sharewell` on the PATH and a home without a store."""
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

MARK = "--- minute: the command above ended with"
root = pathlib.Path(sys.argv[1])
spec = importlib.util.spec_from_file_location("guides", root / "tests" / "guides_test.py")
guides = importlib.util.module_from_spec(spec)
spec.loader.exec_module(guides)

readme = (root / "README.md").read_text(encoding="utf-8")
section = re.search(r"^## A minute with it\n(.*?)^## ", readme, re.M | re.S).group(1)
commands = [(words, printed) for kind, words, printed in guides.parts(section) if kind == "command"]
assert len(commands) >= 4, "the README's minute has hardly a command"
script = "".join(f"{words}\necho '{MARK}' $?\n" for words, _ in commands)
# Files, not pipes: the server that the shell leaves running has them open as well.
with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
    subprocess.run(["bash"], input=script, cwd=root, stdout=out, stderr=errors, text=True, timeout=300, check=False)
    out.seek(0)
    errors.seek(0)
    printed_all, said_wrong = out.read(), errors.read()
pieces = re.split(rf"^{re.escape(MARK)} (\d+)\n", printed_all, flags=re.M)
wrong = []
for (words, printed), said, code in zip(commands, pieces[0::2], pieces[1::2]):
    place = 0
    said = said.replace(": runs on", ": starts on")  # whether it runs already is a matter of a moment
    if code != "0":
        wrong.append(f"$ {words}\n  ended with {code}")
    for line in printed:
        found = guides.pattern(line).search(said, place)
        if not found:
            wrong.append(f"$ {words}\n  does not print: {line}\n  but:\n{said}")
            break
        place = found.end()
    print(f"ok $ {words.splitlines()[0]}")
if len(pieces) // 2 != len(commands):
    wrong.append(f"only {len(pieces) // 2} of {len(commands)} commands ran")
if wrong:
    sys.exit("\n".join(wrong) + "\nstderr:\n" + said_wrong[-3000:])
