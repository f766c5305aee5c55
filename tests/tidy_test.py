#!/usr/bin/env python3
"""tools/tidy.py: which sources it takes for changed, and through which it checks a header."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tidy  # noqa: E402

SOURCE = '#include "core/a.h"\n// Why.\nint Sum(int one) { return core::Shown("a b"\n    "c") + one; }\n'
OLD = 1_700_000_000


class Shape(unittest.TestCase):
    def test_names_words_includes_and_comments_do_not_count(self):
        other = '#include "base/b.h"\nint\nTotal(int first) {\n  return base::text::Quoted("d") + first;  // Because.\n}\n'
        self.assertEqual(tidy.shape(SOURCE), tidy.shape(other))

    def test_what_is_done_counts(self):
        for old, new in (("+", "-"), ("int one", "const int one"), ("+ one", "+ std::move(one)"), ('"a b"', "'a'")):
            self.assertNotEqual(tidy.shape(SOURCE), tidy.shape(SOURCE.replace(old, new)), new)


class Changed(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="sharewell-")
        self.addCleanup(place.cleanup)
        self.root = pathlib.Path(place.name)
        patch = mock.patch.object(tidy, "ROOT", self.root)
        patch.start()
        self.addCleanup(patch.stop)
        without = mock.patch.dict(os.environ, clear=False)
        without.start()
        self.addCleanup(without.stop)
        os.environ.pop("TIDY_BASE", None)
        self.git("init", "-q", "-b", "main")
        self.write("core/a.h", "int A();\n")
        self.write("core/a.cc", SOURCE)
        self.write("core/b.cc", SOURCE.replace("+", "*"))
        self.commit(OLD)

    def git(self, *words, **options):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *words], cwd=self.root, check=True, capture_output=True, **options)

    def write(self, name, text):
        path = self.root / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def commit(self, when):
        self.git("add", "-A")
        date = f"{when} +0000"
        self.git("commit", "-qm", "x", env={**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date})
        return tidy.git("rev-parse", "HEAD").strip()

    def names(self, paths):
        return sorted(path.relative_to(self.root / "src").as_posix() for path in paths)

    def test_moved_and_renamed_files_are_counted_apart(self):
        base = tidy.git("rev-parse", "HEAD").strip()
        self.git("mv", "src/core/a.cc", "src/core/moved.cc")
        self.write("core/moved.cc", SOURCE.replace("Sum", "Total"))
        self.write("core/b.cc", SOURCE.replace("+", "/"))
        self.write("core/new.cc", "int New();\n")
        self.write("core/new_test.cc", "int NewTest();\n")
        changed, renamed = tidy.changed_since(base)
        self.assertEqual((self.names(changed), renamed), (["core/b.cc", "core/new.cc"], 1))

    def test_what_landed_last(self):
        first = tidy.git("rev-parse", "HEAD").strip()
        self.write("core/a.cc", SOURCE.replace("+", "-"))
        self.commit(OLD + 7 * 3600)
        self.write("core/b.cc", SOURCE.replace("+", "-"))
        self.commit(OLD + 8 * 3600)
        self.assertEqual(tidy.landed()[0], first)
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.assertEqual(tidy.landed()[0], first)
        landed = tidy.git("rev-parse", "HEAD").strip()
        self.write("core/b.cc", SOURCE.replace("+", "*"))
        self.commit(OLD + 9 * 3600)
        self.assertEqual(tidy.landed()[0], landed)
        os.environ["TIDY_BASE"] = "0" * 40
        self.assertEqual(tidy.landed()[0], landed)
        os.environ["TIDY_BASE"] = "abc"
        self.assertEqual(tidy.landed()[0], "abc")

    def test_a_header_is_checked_through_a_source(self):
        self.write("core/alone.h", "int Alone();\n")
        source = {name: self.root / "src" / "core" / name for name in ("a.h", "a.cc", "b.cc", "alone.h")}
        chosen, unread = tidy.sources_for({source["a.h"], source["alone.h"]}, {source["a.cc"], source["b.cc"]})
        self.assertEqual((self.names(chosen), self.names(unread)), (["core/a.cc"], ["core/alone.h"]))


if __name__ == "__main__":
    unittest.main()
