#include "cli/commands/kubernetes/publish_gpus.h"

#include <gmock/gmock.h>

namespace sharewell::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

collect::GpuFacts Gpu(int index, const std::string& name) {
  collect::GpuFacts gpu;
  gpu.index = index;
  gpu.uuid = "GPU-" + std::to_string(index);
  gpu.name = name;
  return gpu;
}

class GpusOfANode : public ::testing::Test {
 protected:
  core::Result<engine::PublishedGpus> Of(const std::vector<collect::GpuFacts>& gpus) {
    return GpusToPublish(gpus, catalogue::GpuCatalogue::Builtin(), remarks_);
  }
  std::string WordsOf(const std::vector<collect::GpuFacts>& gpus) {
    return engine::FormatKubeGpus(Of(gpus).value()).value();
  }
  std::vector<std::string> remarks_;
};

TEST_F(GpusOfANode, AreTheModelByItsShortNameAndTheUuidsInOrder) {
  const std::vector<collect::GpuFacts> two = {Gpu(0, "NVIDIA H200"), Gpu(1, "NVIDIA H200")};
  EXPECT_EQ(WordsOf(two), "H200 GPU-0 GPU-1");
  EXPECT_EQ(Of(two)->memory, catalogue::GpuCatalogue::Builtin().Find("H200")->memory);
  EXPECT_THAT(remarks_, IsEmpty());
}

TEST_F(GpusOfANode, ThoseThatCannotBeGivenAreLeftOutAndNamed) {
  collect::GpuFacts cut = Gpu(1, "NVIDIA H200");
  cut.mig = true;
  EXPECT_EQ(WordsOf({Gpu(0, ""), cut, Gpu(2, "Voodoo 2"), Gpu(3, "NVIDIA H200")}),
            "H200 - - - GPU-3");
  EXPECT_THAT(remarks_, ElementsAre(HasSubstr("GPU 0 does not answer"), HasSubstr("MIG"),
                                    HasSubstr("'Voodoo 2'")));
}

TEST_F(GpusOfANode, WhichAreNearEachOtherIsToldOfThoseThatAreNamed) {
  std::vector<collect::GpuFacts> gpus;
  for (int i = 0; i < 4; ++i) {
    gpus.push_back(Gpu(i, "NVIDIA H200"));
    for (int j = 0; j < 4; ++j) gpus.back().distances.push_back(i % 2 == j % 2 ? 0 : 3);
  }
  EXPECT_EQ(WordsOf(gpus), "H200 GPU-0 GPU-1 GPU-2 GPU-3 near:0,2|1,3");
  gpus[3].mig = true;
  EXPECT_EQ(WordsOf(gpus), "H200 GPU-0 GPU-1 GPU-2 near:0,2|1");
}

TEST_F(GpusOfANode, NoneLeftOrSeveralModelsIsAnError) {
  EXPECT_THAT(Of({Gpu(0, "Voodoo 2")}).error().message, HasSubstr("'Voodoo 2'"));
  EXPECT_THAT(Of({Gpu(0, "NVIDIA H200"), Gpu(1, "Tesla T4")}).error().message,
              HasSubstr("several models"));
}

}  // namespace
}  // namespace sharewell::cli
