#include "server/slurm/slurm_rights.h"

#include <gmock/gmock.h>

namespace sharewell::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Configured : public engine::SlurmDriver {
 public:
  core::Result<engine::SlurmAnswer> Run(const std::vector<std::string>&, const std::string&,
                                        core::Seconds) override {
    return engine::SlurmAnswer{exit_code, "SlurmUser               = slurm(64030)\n", ""};
  }
  int exit_code = 0;
};

TEST(SlurmRights, OnlyRootAndSlurmsOwnUserPlaceJobsOfOthers) {
  Configured slurm;
  EXPECT_THAT(SlurmRightsRemark(slurm, 0), IsEmpty());
  EXPECT_THAT(SlurmRightsRemark(slurm, 64030), IsEmpty());
  EXPECT_THAT(SlurmRightsRemark(slurm, 1), HasSubstr("neither root nor Slurm's own, slurm(64030)"));
  EXPECT_THAT(SlurmRightsRemark(slurm, 4030), HasSubstr("--mode user"));
}

TEST(SlurmRights, WhereSlurmDoesNotTellNothingIsSaid) {
  Configured slurm;
  slurm.exit_code = 1;
  EXPECT_THAT(SlurmRightsRemark(slurm, 1), IsEmpty());
}

}  // namespace
}  // namespace sharewell::server
