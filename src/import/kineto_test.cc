#include "import/kineto.h"

#include <gmock/gmock.h>

#include "platform/files/mapped_file.h"

namespace sharewell::imports {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string Text() {
  const auto file = platform::MappedFile::Open("tests/fixtures/import/kineto.json");
  if (!file) ADD_FAILURE() << file.error().message;
  return std::string(file->text());
}

core::ProfileRecord Read(std::string_view text) {
  auto record = ReadKinetoText(text, "x.json");
  if (!record) ADD_FAILURE() << record.error().message;
  return record.value_or(core::ProfileRecord());
}

const core::Figure& FigureOf(const core::ProfileRecord& record, std::string_view metric,
                             std::string_view instance = "") {
  static const core::Figure none;
  for (const auto& figure : record.figures) {
    if (figure.metric == metric && figure.instance == instance) return figure;
  }
  ADD_FAILURE() << "no figure " << metric;
  return none;
}

std::string Problem(std::string_view text) {
  const auto record = ReadKinetoText(text, "x.json");
  if (record) return "it was read";
  EXPECT_EQ(record.error().kind, core::ErrorKind::kUsage);
  return record.error().message;
}

// A kernel of 1 us as one event.
std::string Kernel(int at, std::string_view more = "") {
  return fmt::format(
      "{{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":{},\"dur\":1,"
      "\"args\":{{\"device\":0{}}}}}",
      at, more);
}

TEST(Kineto, KernelsByTime) {
  const auto record = Read(Text());
  ASSERT_EQ(record.kernels.size(), 2u);
  EXPECT_EQ(record.kernels[0].name, "gemm");
  EXPECT_EQ(record.kernels[0].launches, 6);
  EXPECT_NEAR(record.kernels[0].time.value, 1.2e-3, 1e-9);
  EXPECT_NEAR(*record.kernels[0].occupancy, 0.5, 1e-9);
  EXPECT_EQ(record.kernels[0].sm, std::nullopt);
  EXPECT_EQ(record.kernels[1].name, "void relu<float>(float*)");
}

TEST(Kineto, BusyStepsCopiesAndGaps) {
  const auto record = Read(Text());
  EXPECT_EQ(record.profile.gpu, "NVIDIA H200");
  EXPECT_NEAR(record.window.value, 3e-3, 1e-9);
  EXPECT_NEAR(*record.profile.busy, 0.5, 1e-6);  // 500 us of kernels in each 1000
  EXPECT_NEAR(*record.profile.steps_per_second, 1000, 1e-3);
  EXPECT_EQ(record.throughput_source, "trace");
  EXPECT_NEAR(*record.profile.kernels, 3, 1e-9) << "two gemm and one relu a step";
  EXPECT_NEAR(record.profile.kernel_time->value, 500e-6 / 3, 1e-12);
  EXPECT_NEAR(FigureOf(record, "trace_copied_bytes", "HtoD").mean, 12e6, 1);
  EXPECT_NEAR(FigureOf(record, "trace_copy_bytes_per_second", "HtoD").mean, 40e9, 1);
  EXPECT_NEAR(record.profile.pcie->value, 4e9, 1e3);
  // Twice a step the GPU had nothing queued: 20 and 100 us; and 280 us before the next step's copy.
  EXPECT_NEAR(FigureOf(record, "trace_launch_gap_ratio").mean, (3 * 120 + 2 * 280) / 3000.0, 1e-6);
  EXPECT_EQ(FigureOf(record, "trace_launch_gap_seconds").readings, 8);
  EXPECT_THAT(record.bound_by, HasSubstr("waited for the host"));
  EXPECT_NEAR(FigureOf(record, "trace_step_seconds").median, 1e-3, 1e-9);
  EXPECT_NEAR(FigureOf(record, "trace_blocks_per_sm").mean, (400 * 2.0 + 100 * 0.5) / 500, 1e-6);
  EXPECT_NEAR(FigureOf(record, "trace_sm_covered_ratio").mean, (400 * 1.0 + 100 * 0.5) / 500, 1e-6);
  EXPECT_THAT(record.notes, Not(Contains(HasSubstr("cut short"))));
}

TEST(Kineto, KernelsSideBySideCountOnce) {
  const auto record = Read("[" + Kernel(0) + "," + Kernel(0) + "," + Kernel(3) + "]");
  EXPECT_NEAR(*record.profile.busy, 0.5, 1e-9);
  EXPECT_EQ(record.profile.steps_per_second, std::nullopt);
  EXPECT_EQ(record.profile.kernels, std::nullopt);
  EXPECT_NEAR(record.profile.kernel_time->value, 1e-6, 1e-12);
  EXPECT_THAT(record.notes, Contains(HasSubstr("no steps")));
}

TEST(Kineto, GivesWhatCouldBeReadOfACutTrace) {
  const std::string text = Text();
  std::int64_t most = 0;
  for (std::size_t size = text.find("gemm"); size < text.size() - 40; size += 97) {
    const auto record = ReadKinetoText(text.substr(0, size), "x.json");
    ASSERT_TRUE(record) << size << " " << record.error().message;
    EXPECT_THAT(record->notes, Contains(HasSubstr("cut short"))) << size;
    std::int64_t launches = 0;
    for (const auto& kernel : record->kernels) launches += kernel.launches;
    EXPECT_GE(launches, most) << size;
    most = launches;
  }
  EXPECT_EQ(most, 9);
}

TEST(Kineto, ManyWindowsAndStringsThatLookLikeBoundaries) {
  // Over several windows, with "}, {" in strings and objects inside of objects.
  std::string text = "{\"traceEvents\": [";
  constexpr int kEvents = 60000;
  for (int i = 0; i < kEvents; ++i) {
    if (i > 0) text += i % 2 == 0 ? ",\n" : " , ";
    text += Kernel(2 * i, i % 3 == 0   ? ",\"note\":\"}, {\\\"ph\\\": 1}, {\""
                          : i % 3 == 1 ? ",\"list\":[{\"a\":{}}, {\"b\":[{}, {}]}]"
                                       : "");
  }
  text += "]}";
  ASSERT_GT(text.size(), std::size_t{5} << 20);
  const auto record = Read(text);
  ASSERT_EQ(record.kernels.size(), 1u);
  EXPECT_EQ(record.kernels[0].launches, kEvents);
  EXPECT_NEAR(record.kernels[0].time.value, kEvents * 1e-6, 1e-9);
  EXPECT_THAT(record.notes, Not(Contains(HasSubstr("no JSON"))));
}

TEST(Kineto, AnEventLargerThanAWindow) {
  const std::string huge(std::size_t{6} << 20, 'x');
  const auto record =
      Read("[" + Kernel(0) + "," + Kernel(2, ",\"n\":\"" + huge + "\"") + "," + Kernel(4) + "]");
  EXPECT_EQ(record.kernels[0].launches, 3);
}

TEST(Kineto, LeavesOutEventsThatAreNoJson) {
  const auto record = Read("[" + Kernel(0) + ",\n{\"cat\":\"kernel\",,\"ts\":1},\n" + Kernel(4) +
                           ",\n7,\n" + Kernel(6) + "]");
  EXPECT_EQ(record.kernels[0].launches, 3);
  EXPECT_THAT(record.notes,
              Contains(HasSubstr("2 events are no JSON and were left out, the first at line 2")));
}

TEST(Kineto, WrongKindsOfValuesAreUnknown) {
  const auto record = Read(
      "[" +
      Kernel(0,
             ",\"correlation\":\"N/A\",\"est. achieved occupancy %\":null,\"blocks per SM\":inf") +
      ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":7,\"ts\":2,\"dur\":1,\"args\":[]}"
      ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"x\",\"ts\":1e300,\"dur\":1}"
      ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"x\",\"ts\":5,\"dur\":-1}]");
  ASSERT_EQ(record.kernels.size(), 2u);
  EXPECT_EQ(record.kernels[0].occupancy, std::nullopt);
}

TEST(Kineto, SaysWhatIsWrong) {
  EXPECT_THAT(Problem(""), HasSubstr("is no trace"));
  EXPECT_THAT(Problem("hello"), HasSubstr("export_chrome_trace"));
  EXPECT_THAT(Problem("\x1f\x8b\x08"), HasSubstr("gunzip -k x.json"));
  EXPECT_THAT(Problem("{}"), HasSubstr("no \"traceEvents\""));
  EXPECT_THAT(Problem("{\"a\": 1"), HasSubstr("before it ends"));
  EXPECT_THAT(Problem("{\n\"a\" 1}"), HasSubstr("line 2: is no JSON"));
  EXPECT_THAT(Problem("[]"), HasSubstr("is empty"));
  EXPECT_THAT(Problem("["), HasSubstr("is empty where the file ends"));
  EXPECT_THAT(Problem("[1, 2]"), HasSubstr("line 1: is no JSON"));
  EXPECT_THAT(Problem("[{\"cat\":\"cpu_op\",\"ts\":1,\"dur\":1}]"),
              HasSubstr("ProfilerActivity.CUDA"));
}

}  // namespace
}  // namespace sharewell::imports
