// Who places the jobs of a partition, told by what servers write into Slurm.
#include "engine/slurm/control/slurm_claim.h"

#include <gmock/gmock.h>

namespace sharewell::engine {
namespace {

using core::Seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr core::UnixMillis kNoon = 1'795'000'000'000;

SlurmClaim Claim(const std::string& host, core::UnixMillis since, const std::string& partition) {
  SlurmClaim claim;
  claim.partition = partition;
  claim.host = host;
  claim.process = 17;
  claim.store = "store-" + host;
  claim.machine = "machine-" + host;
  claim.since = claim.beat = since;
  return claim;
}

// The fields of a cluster's nodes, and two servers with clocks of their own.
class ClaimKeeperTest : public ::testing::Test {
 protected:
  struct Server {
    Server(const std::string& host, core::UnixMillis since, const std::string& partition = "gpu")
        : claim(Claim(host, since, partition)), keeper(claim) {}
    SlurmClaim claim;
    ClaimKeeper keeper;
    core::UnixMillis ahead = 0;  // its clock
  };
  // One look; what it wants written is.
  ClaimKeeper::Look Look(Server& server) {
    auto look = server.keeper.At(fields_, kNoon + now_ * 1000 + server.ahead,
                                 Seconds(static_cast<double>(now_)));
    for (const auto& [node, text] : look.write) fields_[node] = text;
    return look;
  }
  bool Serves(Server& server) { return !Look(server).other; }

  std::map<std::string, std::string> fields_ = {{"n1", ""}};
  std::int64_t now_ = 0;  // s
};

TEST_F(ClaimKeeperTest, IsWrittenAndReadAgain) {
  const std::vector<SlurmClaim> both = {Claim("head", kNoon, "gpu"), Claim("b", kNoon, "")};
  EXPECT_EQ(ClaimsIn(ClaimText(both)), both);
  EXPECT_EQ(ClaimText({}), "");
  SlurmClaim odd = Claim("a b;c,d\n", kNoon, "gpu");
  odd.machine.clear();
  const auto read = ClaimsIn(ClaimText({odd}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->front().host, "a_b_c_d_");
  EXPECT_EQ(read->front().machine, "");
  for (const char* others : {"{\"rack\": 4}", "sharewell1,gpu", "sharewell1,gpu,h,x,s,m,1,2",
                             "sharewell2,gpu,h,1,s,m,1,2", "sharewell1,gpu,h,1,s,m,1,-2", ";"}) {
    EXPECT_FALSE(ClaimsIn(others)) << others;
  }
}

TEST_F(ClaimKeeperTest, ASecondServerDoesNotBeginWhileTheFirstIsHeard) {
  Server first("a", kNoon), second("b", kNoon + 5000);
  EXPECT_TRUE(Serves(first));
  now_ = 100;
  EXPECT_TRUE(Serves(first)) << "it says so again";
  now_ = 110;
  const auto look = Look(second);
  ASSERT_TRUE(look.other);
  EXPECT_EQ(look.other->host, "a");
  EXPECT_EQ(look.other_node, "n1");
  EXPECT_EQ(look.heard, Seconds(10));
  EXPECT_THAT(look.write, IsEmpty());
  EXPECT_TRUE(Serves(first));
}

TEST_F(ClaimKeeperTest, IsSaidAgainEveryHalfMinuteAndNotMoreOften) {
  Server server("a", kNoon);
  EXPECT_THAT(Look(server).write, SizeIs(1));
  int written = 0;
  for (now_ = 5; now_ <= 300; now_ += 5) written += static_cast<int>(Look(server).write.size());
  EXPECT_EQ(written, 10);
}

TEST_F(ClaimKeeperTest, OneThatIsHeardNoMoreCountsAsGone) {
  Server first("a", kNoon);
  EXPECT_TRUE(Serves(first));
  now_ = 121;
  Server second("b", kNoon + 121'000);
  EXPECT_TRUE(Serves(second));
  EXPECT_EQ(ClaimsIn(fields_["n1"])->size(), 1U) << "its claim went with it";
}

TEST_F(ClaimKeeperTest, OneOfTheSameMachineOrStoreIsAnEarlierOne) {
  Server first("a", kNoon), again("a", kNoon + 1000), moved("c", kNoon + 2000);
  EXPECT_TRUE(Serves(first));
  EXPECT_TRUE(Serves(again)) << "no other one could be on this machine";
  moved.claim.store = again.claim.store;
  moved.keeper = ClaimKeeper(moved.claim);
  EXPECT_TRUE(Serves(moved)) << "nor with this store";
}

TEST_F(ClaimKeeperTest, OfTwoThatBeganAtOnceTheEarlierOneStays) {
  Server first("a", kNoon), second("b", kNoon + 1);
  const auto before = fields_;
  EXPECT_TRUE(Serves(first));
  const auto written = std::exchange(fields_, before);  // neither saw the other
  EXPECT_TRUE(Serves(second));
  now_ = 5;
  EXPECT_TRUE(Serves(first)) << "it began earlier, and says so again";
  EXPECT_FALSE(Serves(second));
  EXPECT_TRUE(Serves(first));
  // Nor is it the other way round where the other one looks first.
  fields_ = written;
  EXPECT_FALSE(Serves(second));
  for (now_ = 10; now_ < 600; now_ += 5) {
    EXPECT_TRUE(Serves(first));
    EXPECT_FALSE(Serves(second));
  }
  for (; now_ < 800; now_ += 5) (void)Serves(second);
  EXPECT_TRUE(Serves(second)) << "the first one is gone";
}

TEST_F(ClaimKeeperTest, ClocksThatDifferDoNotLetBothServe) {
  for (const core::UnixMillis ahead : {-3'600'000, 3'600'000}) {
    fields_ = {{"n1", ""}};
    now_ = 0;
    Server first("a", kNoon), second("b", kNoon + 60'000 + ahead);
    second.ahead = ahead;
    EXPECT_TRUE(Serves(first));
    now_ = 60;
    (void)Look(second);  // at first it may be deceived
    for (now_ = 65; now_ < 80; now_ += 5) {
      (void)Look(first);
      (void)Look(second);
    }
    for (; now_ < 400; now_ += 5) EXPECT_NE(Serves(first), Serves(second)) << now_;
  }
}

TEST_F(ClaimKeeperTest, PartitionsAreApartAndAllOfThemAreNot) {
  Server gpu("a", kNoon, "gpu"), big("b", kNoon + 1, "big"), all("c", kNoon + 2, "");
  EXPECT_TRUE(Serves(gpu));
  EXPECT_TRUE(Serves(big));
  EXPECT_EQ(ClaimsIn(fields_["n1"])->size(), 2U);
  EXPECT_FALSE(Serves(all));
  EXPECT_TRUE(Serves(gpu));
  for (const auto& [node, text] : gpu.keeper.Leave(fields_)) fields_[node] = text;
  for (const auto& [node, text] : big.keeper.Leave(fields_)) fields_[node] = text;
  EXPECT_EQ(fields_["n1"], "");
  EXPECT_TRUE(Serves(all));
  Server late("d", kNoon + 3, "gpu");
  EXPECT_FALSE(Serves(late));
}

TEST_F(ClaimKeeperTest, WordsOfOthersStay) {
  fields_ = {{"n1", "{\"rack\": 4}"}, {"n2", "(null)"}};
  Server server("a", kNoon);
  EXPECT_THAT(Look(server).write, ElementsAre(Pair("n2", ::testing::StartsWith("sharewell1,gpu"))));
  fields_ = {{"n1", "{\"rack\": 4}"}};
  const auto look = Look(server);
  EXPECT_TRUE(look.no_room);
  EXPECT_THAT(look.write, IsEmpty());
}

TEST_F(ClaimKeeperTest, WhatSomebodyTookAwayIsSaidAgain) {
  Server server("a", kNoon);
  EXPECT_TRUE(Serves(server));
  fields_["n1"].clear();
  now_ = 5;
  EXPECT_THAT(Look(server).write, SizeIs(1));
}

}  // namespace
}  // namespace sharewell::engine
