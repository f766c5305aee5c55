#include "server/slurm/slurm_privacy.h"

#include <gmock/gmock.h>

namespace sharewell::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PrivateSlurm : public engine::SlurmDriver {
 public:
  core::Result<engine::SlurmAnswer> Run(const std::vector<std::string>& words, const std::string&,
                                        core::Seconds) override {
    if (words.front() == "sacctmgr") return engine::SlurmAnswer{database, "olga|Operator\n", ""};
    return engine::SlurmAnswer{controller, "PrivateData             = " + data + "\n", ""};
  }
  std::string data = "none";
  int controller = 0, database = 0;
};

TEST(SlurmPrivacy, OperatorsAreThoseThatTheDatabaseNames) {
  EXPECT_THAT(SlurmOperatorsIn("ann|None\nolga|Operator\nroot|Administrator\n"),
              ElementsAre("olga", "root"));
  EXPECT_THAT(SlurmOperatorsIn("sacctmgr: error: no\n|Operator\nann\n\n"), IsEmpty());
  EXPECT_THAT(SlurmOperatorsIn(""), IsEmpty());
}

TEST(SlurmPrivacy, IsWhatSlurmsSettingSays) {
  PrivateSlurm slurm;
  auto privacy = SlurmPrivacy(slurm);
  ASSERT_TRUE(privacy);
  EXPECT_FALSE(privacy->jobs);
  EXPECT_FALSE(privacy->usage);
  slurm.data = "accounts,Jobs";
  privacy = SlurmPrivacy(slurm);
  ASSERT_TRUE(privacy);
  EXPECT_TRUE(privacy->jobs);
  EXPECT_FALSE(privacy->usage);
  EXPECT_THAT(privacy->operators, ElementsAre("olga"));
  slurm.data = "usage";
  slurm.database = 1;
  privacy = SlurmPrivacy(slurm);
  ASSERT_TRUE(privacy);
  EXPECT_FALSE(privacy->jobs);
  EXPECT_TRUE(privacy->usage);
  EXPECT_THAT(privacy->operators, IsEmpty());
}

TEST(SlurmPrivacy, ASlurmThatDoesNotSayIsAnError) {
  PrivateSlurm slurm;
  slurm.controller = 1;
  EXPECT_FALSE(SlurmPrivacy(slurm));
}

}  // namespace
}  // namespace sharewell::server
