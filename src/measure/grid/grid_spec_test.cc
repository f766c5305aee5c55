#include "measure/grid/grid_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::measure {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr const char* kSpec = R"(
name = "cores"
command = ["python3", "train.py", "--model={model}", "--workers", "{cpus}", "{{x}}"]
workload = { name = "tv:{model}@224", batch = 64, workers = "{cpus}" }
seconds = 5
skip = [{ model = "vgg16", cpus = [1, 2] }]
[axes]
model = ["alexnet", "vgg16"]
cpus = [1, 2, 4]
memory = "1.5GB"
[environment]
SEED = 7
RUN = "{model}-{cpus}"
)";

std::string ErrorOf(const std::string& text) {
  const auto spec = ReadSweepSpecText(text, "s.toml");
  EXPECT_FALSE(spec) << text;
  return spec ? "" : spec.error().message;
}

std::string With(const std::string& more) {
  return "name = \"n\"\ncommand = [\"x\", \"{a}\"]\n" + more + "\n[axes]\na = [1, 2]\n";
}

TEST(SweepSpec, PutsValuesIntoCommandAndWorkload) {
  const auto spec = ReadSweepSpecText(kSpec, "s.toml");
  ASSERT_TRUE(spec) << spec.error().message;
  const auto grid = GridOf(*spec);
  ASSERT_EQ(grid.size(), 4U);  // six, less two that are skipped
  const GridCell cell = CellAt(*spec, grid.back());
  EXPECT_EQ(cell.label, "model=vgg16 cpus=4");
  EXPECT_THAT(cell.command,
              ElementsAre("python3", "train.py", "--model=vgg16", "--workers", "4", "{x}"));
  EXPECT_THAT(cell.environment, ElementsAre(Pair("SEED", "7"), Pair("RUN", "vgg16-4")));
  EXPECT_EQ(cell.workload, (core::Workload{"tv:vgg16@224", 64, "", 4}));
  EXPECT_EQ(cell.cpus, 4);
  EXPECT_EQ(cell.memory, core::Bytes(1.5e9));
  EXPECT_EQ(cell.measuring.seconds, core::Seconds(5));
}

TEST(SweepSpec, AnAxisThatIsCalledLikeAFactIsIt) {
  const auto spec = ReadSweepSpecText(
      "name='n'\ncommand=['x']\n[axes]\nbatch=[8]\nprecision=['bf16']\nmodel=['m']", "s.toml");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(CellAt(*spec, GridOf(*spec)[0]).workload, (core::Workload{"m", 8, "bf16", 0}));
}

TEST(SweepSpec, AxesKeepTheOrderOfTheFile) {
  const auto spec =
      ReadSweepSpecText("name='n'\ncommand=['x']\n[axes]\nz=[1]\na=[1]\nm=[1]", "s.toml");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->runs[0].axes[0].name, "z");
  EXPECT_EQ(spec->runs[0].axes[1].name, "a");
}

TEST(SweepSpec, RunsHaveTheirOwnCommandsAndShareTheRest) {
  const auto spec = ReadSweepSpecText(R"(
name = "zoo"
seconds = 3
[axes]
batch = [8, 16]
[[runs]]
command = ["a", "{batch}"]
workload = "A"
[[runs]]
command = ["b", "{batch}", "{size}"]
workload = "B{size}"
seconds = "auto"
[runs.axes]
size = [1, 2]
batch = 4
)",
                                      "s.toml");
  ASSERT_TRUE(spec) << spec.error().message;
  const auto grid = GridOf(*spec);
  ASSERT_EQ(grid.size(), 4U);
  EXPECT_EQ(CellAt(*spec, grid[1]).command, (std::vector<std::string>{"a", "16"}));
  EXPECT_EQ(CellAt(*spec, grid[3]).workload, (core::Workload{"B2", 4, "", 0}));
  EXPECT_EQ(CellAt(*spec, grid[3]).measuring.seconds, std::nullopt);
  EXPECT_EQ(CellAt(*spec, grid[0]).measuring.seconds, core::Seconds(3));
}

TEST(SweepSpec, KeysTellCellsApartAndStayTheSame) {
  const auto spec = ReadSweepSpecText(kSpec, "s.toml");
  ASSERT_TRUE(spec);
  const auto grid = GridOf(*spec);
  EXPECT_EQ(CellAt(*spec, grid[0]).key, CellAt(*ReadSweepSpecText(kSpec, "x"), grid[0]).key);
  EXPECT_NE(CellAt(*spec, grid[0]).key, CellAt(*spec, grid[1]).key);
  auto longer = *spec;
  longer.runs[0].measuring.seconds = core::Seconds(6);
  EXPECT_NE(CellAt(longer, grid[0]).key, CellAt(*spec, grid[0]).key);
  EXPECT_NE(KeyOf({"a", "b"}), KeyOf({"ab"}));
  EXPECT_EQ(KeyOf({}), "cbf29ce484222325");
}

TEST(SweepSpec, ErrorsSayWhereAndWhatToDo) {
  EXPECT_THAT(ErrorOf("name='n'\ncomand=['x']"),
              AllOf(StartsWith("s.toml: line 2: unknown key 'comand'"),
                    HasSubstr("did you mean 'command'?")));
  EXPECT_THAT(ErrorOf("command=['x']"), HasSubstr("name must be given"));
  EXPECT_THAT(ErrorOf("name='../x'\ncommand=['x']"), HasSubstr("name must be given"));
  EXPECT_THAT(ErrorOf("name='n'"), HasSubstr("no command is given"));
  EXPECT_THAT(ErrorOf("name='n'\ncommand='x'"), HasSubstr("command must be a list"));
  EXPECT_THAT(ErrorOf("name='n'\ncommand=['{modle}']\n[axes]\nmodel=[1,2]"),
              AllOf(HasSubstr("line 2"), HasSubstr("did you mean 'model'?")));
  EXPECT_THAT(ErrorOf("name='n'\ncommand=['a}b']"), HasSubstr("lone '}'"));
  EXPECT_THAT(ErrorOf("name='n'\ncommand=['{a']"), HasSubstr("lone '{'"));
  EXPECT_THAT(ErrorOf(With("seconds = -1")), AllOf(HasSubstr("line 3"), HasSubstr("seconds")));
  EXPECT_THAT(ErrorOf(With("repeat = 0")), HasSubstr("whole number from 1 to 100, not 0"));
  EXPECT_THAT(ErrorOf(With("throughput = \"x\"")), HasSubstr("progress_regex"));
  EXPECT_THAT(ErrorOf(With("progress_regex = \"(\"")), HasSubstr("progress_regex"));
  EXPECT_THAT(ErrorOf(With("skip = [{ b = 1 }]")), HasSubstr("no axis"));
  EXPECT_THAT(ErrorOf(With("skip = [{ a = [1, 2] }]")), HasSubstr("no cell"));
  EXPECT_THAT(ErrorOf(With("workload = { batch = \"{a}x\" }")), HasSubstr("whole number"));
  EXPECT_THAT(ErrorOf("name='n'\ncommand=['x']\n[axes]\ncpus=[0]"), HasSubstr("from 1 on"));
  EXPECT_THAT(ErrorOf("name='n'\ncommand=['x']\n[axes]\nmemory=['8 parsecs']"),
              HasSubstr("is no size"));
  EXPECT_THAT(ErrorOf("name='n'\ncommand=['x']\n[axes]\na=[1,1]"), HasSubstr("twice"));
  EXPECT_THAT(ErrorOf("name='n'\ncommand=['x']\n[axes]\na=[]"), HasSubstr("1 to"));
  EXPECT_THAT(ErrorOf("name = \n"), HasSubstr("not TOML"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("empty"));
}

TEST(SweepSpec, RefusesAGridThatIsTooLarge) {
  std::string text = "name='n'\ncommand=['x']\n[axes]\n";
  for (const char* axis : {"a", "b", "c"}) {
    text += std::string(axis) + "=[";
    for (int i = 0; i < 60; ++i) text += std::to_string(i) + ",";
    text += "]\n";
  }
  EXPECT_THAT(ErrorOf(text), HasSubstr("more than 100000 cells"));
}

}  // namespace
}  // namespace sharewell::measure
