#include "research/train/training_rows.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "platform/files/test_folder.h"

namespace sharewell::research {
namespace {

using predict::Figure;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kTinyNet =
    R"({"inputs":[{"name":"x","shape":["batch",3,8,8]}],"layers":[
        {"type":"conv2d","out_channels":4,"kernel":3},{"type":"flatten"},{"type":"linear","out":2}]})";

class TrainingRowsTest : public ::testing::Test {
 protected:
  TrainingRowsTest() { folder.Write("net.json", kTinyNet); }

  core::Result<TrainingSet> Read(const std::string& text) {
    return ReadTrainingSet({folder.Write("profiles.csv", text)}, catalogue);
  }
  TrainingSet Rows(const std::string& text) {
    auto set = Read(text);
    EXPECT_TRUE(set) << set.error().message;
    return set ? *std::move(set) : TrainingSet();
  }
  std::string Error(const std::string& text) {
    const auto set = Read(text);
    if (set) return "no error";
    EXPECT_EQ(set.error().kind, core::ErrorKind::kUsage);
    return set.error().message;
  }

  platform::TestFolder folder;
  catalogue::GpuCatalogue catalogue = catalogue::GpuCatalogue::Builtin();
};

TEST_F(TrainingRowsTest, ARowHasItsGraphAtItsBatchItsRunAndItsGpuModel) {
  const TrainingSet set = Rows(
      "workload,batch,precision,workers,gpu,model,optimizer,family,host_time\n"
      "a,16,bf16,2,NVIDIA H200,net.json,adamw,nets,1.5\n");
  ASSERT_EQ(set.rows.size(), 1U);
  const predict::Row& row = set.rows[0];
  EXPECT_EQ(row.workload, "a");
  EXPECT_EQ(row.family, "nets");
  EXPECT_EQ(row.precision_word, "bf16");
  EXPECT_EQ(row.query.graph->batch, 16);
  EXPECT_EQ(row.query.run.precision, graph::Precision::kBf16);
  EXPECT_EQ(row.query.run.optimizer, graph::Optimizer::kAdam);
  EXPECT_EQ(row.query.workers, 2);
  EXPECT_EQ(row.query.gpu->name, "H200");
  EXPECT_EQ(row.query.host_time, 1.5);
  EXPECT_EQ(row.weight, 1);
}

TEST_F(TrainingRowsTest, FiguresComeInOurUnitsAndWhatIsMissingStaysUnknown) {
  const TrainingSet set = Rows(
      "workload,gpu,model,gpu_util,steps_per_s,mem_used_bytes,pcie_tx_mib_s,pcie_rx_mib_s,power_w\n"
      "a,H200,net.json,25,10,3000000000,1,2,\n"
      "b,H200,net.json,0,,,1,,200\n");
  const predict::Figures& a = set.rows[0].measured;
  EXPECT_EQ(a[predict::Index(Figure::kBusy)], 0.25);
  EXPECT_EQ(a[predict::Index(Figure::kStepSeconds)], 0.1);
  EXPECT_DOUBLE_EQ(*a[predict::Index(Figure::kBusySeconds)], 0.025);
  EXPECT_EQ(a[predict::Index(Figure::kMemory)], 3e9);
  EXPECT_EQ(a[predict::Index(Figure::kPcie)], 3.0 * 1024 * 1024);
  EXPECT_FALSE(a[predict::Index(Figure::kPower)]);
  const predict::Figures& b = set.rows[1].measured;
  EXPECT_EQ(b[predict::Index(Figure::kBusy)], 0) << "a share may be nothing";
  EXPECT_FALSE(b[predict::Index(Figure::kStepSeconds)]);
  EXPECT_FALSE(b[predict::Index(Figure::kBusySeconds)]);
  EXPECT_FALSE(b[predict::Index(Figure::kPcie)]) << "one direction is not both";
  EXPECT_EQ(b[predict::Index(Figure::kPower)], 200);
}

TEST_F(TrainingRowsTest, WithoutAFamilyTheNameTellsOne) {
  const TrainingSet set = Rows(
      "workload,gpu,model,family\n"
      "tv:resnet50@224,H200,net.json,\n"
      "tv:resnet18@32,H200,net.json,\n"
      "tv:vgg16@224,H200,net.json,convnets\n"
      "vit_b_16,H200,net.json,\n"
      "lab:7,H200,net.json,\n");
  std::vector<std::string> families;
  for (const predict::Row& row : set.rows) families.push_back(row.family);
  EXPECT_EQ(families, (std::vector<std::string>{"resnet", "resnet", "convnets", "vit", "lab"}));
}

TEST_F(TrainingRowsTest, RowsThatNameNoGraphAreCounted) {
  const TrainingSet set =
      Rows("workload,gpu,model,onnx\na,H200,,\nb,H200,,net.json\nc,H200,net.json,\n");
  EXPECT_EQ(set.rows.size(), 2U);
  EXPECT_EQ(set.without_graph, 1U);
}

TEST_F(TrainingRowsTest, RowsOfOneWorkloadBecomeOne) {
  TrainingSet set = Rows(
      "workload,batch,gpu,model,steps_per_s,host_time\n"
      "a,8,H200,net.json,10,1\nb,8,H200,net.json,4,1\na,8,H200,net.json,5,1.5\n");
  MergeRepeats(set);
  EXPECT_EQ(set.measured, 3U);
  ASSERT_EQ(set.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(*set.rows[1].measured[predict::Index(Figure::kStepSeconds)], 0.15);
  EXPECT_EQ(set.rows[1].query.host_time, 1.25);
}

TEST_F(TrainingRowsTest, AGraphIsLookedForBesideTheProfilesThenInOnnx) {
  std::filesystem::create_directory(folder.Path("onnx"));
  folder.Write("onnx/other.json", kTinyNet);
  EXPECT_EQ(Rows("workload,gpu,onnx\na,H200,other.json\nb,H200,net.json\n").rows.size(), 2U);
}

TEST_F(TrainingRowsTest, OneGraphABatchIsReadOnce) {
  const TrainingSet set =
      Rows("workload,batch,gpu,model\na,8,H200,net.json\nb,8,H200,net.json\nc,16,H200,net.json\n");
  EXPECT_EQ(set.graphs.size(), 2U);
  EXPECT_EQ(set.rows[0].query.graph, set.rows[1].query.graph);
  EXPECT_EQ(set.rows[2].query.graph->batch, 16);
}

TEST_F(TrainingRowsTest, AWindowThatWasNoisyCountsForLess) {
  const TrainingSet set = Rows(
      "workload,gpu,model,steps_rel_std\na,H200,net.json,0\nb,H200,net.json,0.1\nc,H200,net.json,"
      "1\n");
  EXPECT_EQ(set.rows[0].weight, 1);
  EXPECT_DOUBLE_EQ(set.rows[1].weight, 0.5);
  EXPECT_LT(set.rows[2].weight, 0.02);
}

TEST_F(TrainingRowsTest, SeveralFilesAreOneSet) {
  const std::string header = "workload,gpu,model\n";
  const auto set = ReadTrainingSet({folder.Write("1.csv", header + "a,H200,net.json\n"),
                                    folder.Write("2.csv", header + "b,V100,net.json\n")},
                                   catalogue);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->rows.size(), 2U);
  EXPECT_EQ(set->gpus.size(), 2U);
}

TEST_F(TrainingRowsTest, ErrorsNameFileAndLine) {
  const std::string header =
      "workload,batch,precision,gpu,model,optimizer\na,8,fp32,H200,net.json,sgd\n";
  const std::string line = "profiles.csv: line 3";
  EXPECT_THAT(Error(header + "b,8,fp8,H200,net.json,\n"),
              AllOf(HasSubstr(line), HasSubstr("'fp8' is no precision we know")));
  EXPECT_THAT(Error(header + "b,8,fp32,H200,net.json,rmsprop\n"),
              AllOf(HasSubstr(line), HasSubstr("'rmsprop' is no optimizer we know")));
  EXPECT_THAT(Error(header + "b,8,fp32,H2000,net.json,\n"),
              AllOf(HasSubstr(line), HasSubstr("did you mean 'H200'?")));
  EXPECT_THAT(Error(header + "b,8,fp32,H200,gone.onnx,\n"),
              AllOf(HasSubstr(line), HasSubstr("gone.onnx: no such file")));
  EXPECT_THAT(Error(header + "b,x,fp32,H200,net.json,\n"),
              AllOf(HasSubstr(line), HasSubstr("batch")));
  folder.Write("bad.json", "hello");
  EXPECT_THAT(Error(header + "b,8,fp32,H200,bad.json,\n"),
              AllOf(HasSubstr(line), HasSubstr("bad.json")));
}

TEST_F(TrainingRowsTest, SharesAreOfAHundred) {
  EXPECT_THAT(Error("workload,gpu,model,gpu_util\na,H200,net.json,250\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("gpu_util")));
  EXPECT_THAT(Error("workload,gpu,model,gpu_util\na,H200,net.json,nan\n"), HasSubstr("gpu_util"));
}

TEST_F(TrainingRowsTest, WithoutAnyGraphThereIsNothingToLearn) {
  EXPECT_THAT(Error("workload,gpu\na,H200\n"), HasSubstr("no row names the graph of its model"));
  EXPECT_THAT(Error("workload,model\na,net.json\n"), HasSubstr("'gpu'"));
  EXPECT_THAT(Error("gpu,model\nH200,net.json\n"), HasSubstr("'workload'"));
  EXPECT_FALSE(ReadTrainingSet({}, catalogue));
}

}  // namespace
}  // namespace sharewell::research
