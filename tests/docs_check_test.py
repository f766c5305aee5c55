"""tests/docs_check.py finds a dead link, a lost page, a long line, an unknown command and an unknown flag."""

import pathlib
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import docs_check  # noqa: E402

PROGRAM = """#!/bin/sh
case "$1" in
  simulate) echo "simulate: --trace FILE --policy LIST" ;;
  --help) echo "sharewell: simulate; --json --help" ;;
  *) echo "no such command: $1" >&2; exit 2 ;;
esac
"""


class DocsCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.program = self.root / "sharewell"
        self.program.write_text(PROGRAM)
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)
        lab = self.root / "sharewell-lab"
        lab.write_text(PROGRAM.replace("simulate", "train").replace("--trace", "--pairs"))
        lab.chmod(lab.stat().st_mode | stat.S_IXUSR)

    def links(self, text):
        (self.root / "README.md").write_text(text)
        return list(docs_check.check_links(self.root))

    def readme(self, text):
        (self.root / "README.md").write_text(text)
        return list(docs_check.check_commands(self.root, str(self.program)))

    def test_links(self):
        self.assertEqual(self.links("# A b\n[x](sharewell) [y](#a-b) [z](https://example.org/q)"), [])
        self.assertEqual(len(self.links("[x](gone.md)")), 1)
        self.assertEqual(len(self.links("[x](#gone)")), 1)
        self.assertEqual(self.links("`[x](gone.md)`\n```\n[x](gone.md)\n```\n"), [])

    def docs(self, **pages):
        (self.root / "docs" / "formats").mkdir(parents=True)
        for name, text in pages.items():
            (self.root / "docs" / (name.replace("__", "/") + ".md")).write_text(text)

    def test_pages_that_can_be_reached(self):
        self.docs(README="[a](a.md)", a="[b](formats/b.md)", formats__b="[a](../a.md)")
        self.assertEqual(list(docs_check.check_index(self.root)), [])

    def test_lost_page(self):
        self.docs(README="[a](a.md)", a="", formats__b="[a](../a.md)")
        found = list(docs_check.check_index(self.root))
        self.assertEqual(len(found), 1)
        self.assertIn("docs/formats/b.md", found[0])

    def test_width(self):
        long = "x" * 121
        self.docs(README=f"| {long} |\n```\n{long}\n```\n<img {long}>\n![{long}](x)\n{long[1:]}\n")
        self.assertEqual(list(docs_check.check_width(self.root)), [])
        (self.root / "docs" / "a.md").write_text(f"short\n{long}\n")
        found = list(docs_check.check_width(self.root))
        self.assertEqual(len(found), 1)
        self.assertIn("docs/a.md:2:", found[0])

    def test_length_of_the_readme(self):
        (self.root / "README.md").write_text("line\n" * 110)
        self.assertEqual(list(docs_check.check_width(self.root)), [])
        (self.root / "README.md").write_text("line\n" * 111)
        self.assertEqual(len(list(docs_check.check_width(self.root))), 1)

    def test_commands_that_exist(self):
        self.assertEqual(self.readme(
            "`sharewell`, `sharewell simulate --trace x`\n"
            "```\n$ build/release/sharewell simulate --trace a.csv \\\n   --policy slot | less --raw\n"
            "sharewell simulate --json -- other --unknown\n```\n"), [])

    def test_unknown_command(self):
        found = self.readme("text\n\n```\nsharewell fly\n```\n")
        self.assertEqual(len(found), 1)
        self.assertIn("README.md:4:", found[0])

    def test_each_program_has_commands_of_its_own(self):
        self.assertEqual(self.readme("`sharewell-lab train --pairs x`"), [])
        self.assertIn("`sharewell-lab simulate`", self.readme("`build/release/sharewell-lab simulate`")[0])
        self.assertIn("`sharewell train`", self.readme("`sharewell train`")[0])

    def test_unknown_flag(self):
        self.assertEqual(len(self.readme("`sharewell simulate --tracee x`")), 1)
        self.assertEqual(len(self.readme("```\nsharewell simulate --trace x \\\n  --polic y\n```\n")), 1)

    def test_prose_is_no_command(self):
        self.assertEqual(self.readme("sharewell fly --high\n`git clone sharewell`"), [])

    def test_pages_of_docs_are_looked_at_too(self):
        self.docs(a="`sharewell fly`", formats__b="`sharewell simulate runs --high`")
        found = list(docs_check.check_commands(self.root, str(self.program)))
        self.assertEqual([line.split(":")[0] for line in found], ["docs/a.md", "docs/formats/b.md"])

    def test_a_variable_is_no_command(self):
        self.assertEqual(self.readme("`SHAREWELL=build/release/sharewell python3 x.py --fast`"), [])

    def test_no_readme(self):
        self.assertEqual(list(docs_check.check_commands(self.root, str(self.program))), [])


if __name__ == "__main__":
    unittest.main()
