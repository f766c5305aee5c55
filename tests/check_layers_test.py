"""tools/check_layers.py finds each kind of breach, and only those."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "tools" / "check_layers.py"
sys.path.insert(0, str(TOOL.parent))
import check_layers  # noqa: E402


class CheckLayers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "src").mkdir()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def source(self, name, text, deps=""):
        """A file of a module, whose CMakeLists.txt then lists all its files."""
        self.write("src/" + name, text)
        module = name.split("/")[0]
        folder = self.root / "src" / module
        files = " ".join(p.relative_to(folder).as_posix() for p in folder.rglob("*.cc"))
        self.write(f"src/{module}/CMakeLists.txt",
                   f"sharewell_module({module}\n  SOURCES {files}\n  DEPS {deps})\n")

    def assert_clean(self):
        self.assertEqual(check_layers.check_tree(self.root)[1], [])

    def assert_breach(self, *parts):
        """Exactly one breach, whose line has all the parts."""
        _, found = check_layers.check_tree(self.root)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_the_exit_status_tells(self):
        self.source("core/job/job.h", '#include "cli/terminal.h"\n')
        command = [sys.executable, str(TOOL), "--root", str(self.root)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("src/core/job/job.h:1:", done.stderr)
        self.source("core/job/job.h", "")
        self.assertEqual(subprocess.run(command, capture_output=True, check=False).returncode, 0)

    def test_allowed_includes_pass(self):
        self.source("policy/fifo.cc", '#include "policy/fifo.h"\n#include <vector>\n'
                    '#include "core/job/job.h"\n#include "interference/model.h"\n', "core interference")
        self.assert_clean()

    def test_sideways_include_fails_with_place_and_advice(self):
        self.source("policy/fifo.cc", '#include "core/job/job.h"\n\n#include "engine/engine.h"\n')
        self.assert_breach("src/policy/fifo.cc:3:", '"engine/engine.h"', "core, interference")

    def test_upward_include_fails(self):
        self.source("core/job/job.h", '#include "cli/terminal.h"\n')
        self.assert_breach("src/core/job/job.h:1:")

    def test_an_include_in_a_comment_is_no_include(self):
        self.source("core/job/job.h", '// #include "cli/terminal.h"\n/*\n#include "cli/terminal.h"\n*/\n')
        self.assert_clean()

    def test_only_the_simulated_engine_sees_the_simulator(self):
        self.source("engine/simulated/engine.cc", '#include "sim/world.h"\n', "sim")
        self.assert_clean()
        self.source("engine/local.cc", '#include "sim/world.h"\n')
        self.assert_breach("src/engine/local.cc:1:")

    def test_control_sees_faces_only(self):
        self.source("control/loop.cc", '#include "engine/engine.h"\n#include "policy/policy.h"\n')
        self.assert_clean()
        self.source("control/loop.cc", '#include "policy/registry.h"\n')
        self.assert_breach("src/control/loop.cc:1:", '"policy/registry.h"')

    def test_report_sees_the_results_of_studies_only(self):
        self.source("report/text/table.cc", '#include "simulation/summary.h"\n#include "core/job/job.h"\n')
        self.assert_clean()
        self.source("report/text/table.cc", '#include "simulation/replay/play.h"\n')
        self.assert_breach("src/report/text/table.cc:1:")

    def test_testing_is_for_tests(self):
        self.source("core/job_test.cc", '#include <gtest/gtest.h>\n#include "testing/builder.h"\n')
        self.assert_clean()
        self.source("core/job.cc", '#include "testing/builder.h"\n')
        self.assert_breach("src/core/job.cc:1:", "outside a test")

    def test_pure_modules_have_no_clock_file_thread_or_chance(self):
        for header in ("chrono", "iostream", "fstream", "thread", "random", "filesystem", "cstdio",
                       "ctime", "sys/stat.h", "spdlog/spdlog.h"):
            for module in ("core", "graph", "interference", "predict", "policy", "sim"):
                with self.subTest(module=module, header=header):
                    self.source(f"{module}/thing.cc", f"#include <{header}>\n")
                    self.assert_breach(f"src/{module}/thing.cc:1:", f"<{header}>")
                    self.source(f"{module}/thing.cc", "#include <vector>\n")
        self.source("platform/thing.cc", "#include <chrono>\n")
        self.source("sim/thing_test.cc", "#include <random>\n")
        self.assert_clean()

    def test_pure_modules_compute_the_same_bits_on_every_machine(self):
        self.source("sim/world.cc", "#include <cmath>\nauto x = std::hypot(3, 4);\n")
        self.assert_breach("src/sim/world.cc:2:", "std::sqrt(a * a + b * b)")
        self.source("sim/world.cc", "auto x = std::sqrt(a * a);  // std::hypot\n")
        self.assert_clean()

    def test_pure_modules_do_not_ask_the_environment(self):
        self.source("sim/world.cc", '#include <cstdlib>\nauto x = std::getenv("HOME");\n')
        self.assert_breach("src/sim/world.cc:2:", "std::getenv")
        self.source("sim/world.cc", 'auto t = snapshot.time();  // std::getenv\nauto s = "rand()";\n')
        self.assert_clean()

    def test_only_json_parses_json(self):
        self.source("json/value.cc", "#include <simdjson.h>\n")
        self.assert_clean()
        self.source("engine/slurm_json.cc", "#include <simdjson.h>\n")
        self.assert_breach("src/engine/slurm_json.cc:1:", "<simdjson.h>", "json/value.h")
        self.source("engine/slurm_json.cc", '#include "json/value.h"\n', "json")
        self.source("engine/slurm_json_test.cc", "#include <simdjson.h>\n")
        self.assert_breach("src/engine/slurm_json_test.cc:1:", "<simdjson.h>")

    def test_tests_may_hold_our_json_against_anothers(self):
        self.source("report/table_test.cc", "#include <nlohmann/json.hpp>\n")
        self.source("testing/fake_kube.cc", "#include <nlohmann/json.hpp>\n")
        self.assert_clean()
        self.source("report/table.cc", "#include <nlohmann/json.hpp>\n")
        self.assert_breach("src/report/table.cc:1:", "<nlohmann/json.hpp>", "json/writer.h")

    def test_core_takes_no_other_library(self):
        self.source("core/result.h", "#include <fmt/format.h>\n#include <tl/expected.hpp>\n#include <cstdio>\n")
        self.assert_clean()
        self.source("core/result.h", "#include <nlohmann/json.hpp>\n")
        self.assert_breach("src/core/result.h:1:")

    def test_ours_are_written_as_paths_from_src(self):
        self.source("core/job.cc", '#include "job.h"\n')
        self.assert_breach("src/core/job.cc:1:", "no path from src/")

    def test_links_keep_to_the_table(self):
        self.source("policy/fifo.cc", "", "core engine")
        self.assert_breach("src/policy/CMakeLists.txt:3:", "policy links engine")

    def test_no_source_is_forgotten(self):
        self.source("core/job.cc", "")
        self.write("src/core/lost_test.cc", "")
        self.assert_breach("src/core/lost_test.cc:1:", "src/core/CMakeLists.txt")

    def test_no_fuzzer_is_forgotten(self):
        self.write("fuzz/CMakeLists.txt", "sharewell_fuzzer(csv DEPS platform)\n")
        self.write("fuzz/csv_fuzzer.cc", "")
        self.assert_clean()
        self.write("fuzz/toml_fuzzer.cc", "")
        self.assert_breach("fuzz/toml_fuzzer.cc:1:", "sharewell_fuzzer(toml")

    def test_an_unknown_module_fails(self):
        self.write("src/helpers/util.h", "")
        self.assert_breach("src/helpers:1:")

    def except_for(self, *lines):
        self.write(check_layers.Exceptions.FILE, "".join(line + "\n" for line in lines))

    def test_nothing_is_decided_by_words_of_ours(self):
        for read in ('job.reason.starts_with("held")', "old->note.find(kCancelledBy)", 'error.message.contains("within")',
                     'error().message.ends_with("x")', 'why.rfind(word)', "problem_.starts_with(word)"):
            with self.subTest(read=read):
                self.source("control/service.cc", f"\nconst bool held = {read};\n")
                self.assert_breach("src/control/service.cc:2:", "decides by the words")
        for read in (r"note.find('\n')", "names.find(reason)", 'text.starts_with("MB:")', 'reasons.find(kind)',
                     'true;  // reason.find("x")', '"reason.find(x)"'):
            with self.subTest(read=read):
                self.source("control/service.cc", f"const auto held = {read};\n")
                self.assert_clean()
        self.source("control/service.cc", "")
        self.source("control/service_test.cc", 'const bool held = reason.starts_with("held");\n')
        self.source("testing/fake.h", 'const bool held = reason.starts_with("held");\n')
        self.assert_clean()

    def test_words_of_other_programs_are_read(self):
        self.source("engine/slurm.cc", 'const bool held = reason.starts_with("QOS");\n')
        self.except_for("foreign src/engine/slurm.cc  # squeue's")
        self.assert_clean()
        self.source("engine/slurm.cc", "")
        self.assert_breach(check_layers.Exceptions.FILE + ":1:", "not there any more")

    def test_the_list_of_words_only_shrinks(self):
        self.source("control/service.cc", "const bool a = reason.find(x);\nconst bool b = note.find(x);\n")
        self.except_for("", "words src/control/service.cc 2")
        self.assert_clean()
        self.except_for("words src/control/service.cc 1")
        self.assertEqual(len(check_layers.check_tree(self.root)[1]), 2)
        self.except_for("words src/control/service.cc 3")
        self.assert_breach(check_layers.Exceptions.FILE + ":1:", "write 2")
        self.source("control/service.cc", "")
        self.assert_breach(check_layers.Exceptions.FILE + ":1:", "take the line away")

    def test_a_source_has_at_most_450_lines(self):
        self.source("sim/world.cc", "\n" * 450)
        self.source("sim/world_test.cc", "\n" * 1000)
        self.source("testing/world.cc", "\n" * 1000)
        self.assert_clean()
        self.source("sim/world.cc", "\n" * 451)
        self.assert_breach("src/sim/world.cc:451:", "451 lines")
        self.except_for("lines src/sim/world.cc 451")
        self.assert_clean()
        self.source("sim/world.cc", "\n" * 460)
        self.assert_breach("src/sim/world.cc:460:")
        self.source("sim/world.cc", "\n" * 400)
        self.assert_breach(check_layers.Exceptions.FILE + ":1:", "take the line away")

    def test_a_folder_has_at_most_25_units(self):
        for n in range(25):
            self.source(f"sim/room/unit{n}.cc", "")
            self.source(f"sim/room/unit{n}_test.cc", "")
        self.assert_clean()
        self.source("sim/room/one_more.cc", "")
        self.assert_breach("src/sim/room:1:", "26 units")

    def test_a_class_has_at_most_25_methods_and_20_fields(self):
        methods, fields = "  void F(int a, int b) const;\n", "  int a_ = 0;\n"
        self.source("sim/world.h", f"class World {{\n{methods * 25}{fields * 20}}};\n")
        self.assert_clean()
        self.source("sim/world.h", f"\nclass World {{\n{methods * 26}}};\n")
        self.assert_breach("src/sim/world.h:2:", "World has 26 methods and 0 fields")
        self.source("sim/world.h", f"struct Outer::World final : Base {{\n{methods * 9}{fields * 21}}};\n")
        self.assert_breach("src/sim/world.h:1:", "Outer::World has 9 methods and 21 fields")
        self.except_for("class src/sim/world.h Outer::World 9 21")
        self.assert_clean()
        self.except_for("class src/sim/world.h Outer::World 10 21")
        self.assert_breach(check_layers.Exceptions.FILE + ":1:", "write 9 21")
        self.source("sim/world.h", f"struct Record {{\n{methods}{fields * 30}}};\n")
        self.assert_breach(check_layers.Exceptions.FILE + ":1:", "not there any more")

    def test_members_are_counted(self):
        text = """
template <class T> class Mixed : public Base<int> {
 public:
  Mixed() : a_{1}, b_{2} {}
  ~Mixed() override = default;
  bool operator==(const Mixed&) const = default;
  friend bool Same(const Mixed&);
  using Map = std::map<int, int>;
  template <class U> U As() const { return U{a_}; }
  static constexpr int kMost = 3;
  enum class Kind { kA, kB };
  struct Inner { int x; int y; };
  std::function<void(int)> call_ = [](int) { };
 private:
  int a_ = Zero(1, 2), b_{0};
  std::map<int, std::pair<int, int>> of_ SHAREWELL_GUARDED_BY(mutex_);
  int (*pointer_)(int, int) = nullptr;
};
"""
        found = {name: counts for _, name, *counts in check_layers.count_members.classes(text)}
        self.assertEqual(found, {"Mixed": [4, 5], "Inner": [0, 2]})

    def test_programs_of_tools_can_be_run(self):
        self.write("tools/thing", "#!/bin/sh\n")
        self.assert_breach("tools/thing:1:", "chmod +x")
        (self.root / "tools/thing").chmod(0o755)
        self.assert_clean()
        self.write("tools/thing", "words\n")
        self.assert_breach("tools/thing:1:", "chmod -x")


if __name__ == "__main__":
    unittest.main()
