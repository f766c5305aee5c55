#include "policy/reservations.h"

#include <gtest/gtest.h>

#include "testing/builders.h"

namespace sharewell::policy {
namespace {

using core::JobId;
using core::NodeId;
using fixtures::ClusterBuilder;
using fixtures::SnapshotBuilder;

// Three nodes of two GPUs; those of node 1 are free in 1,000 s, of node 2 in 2,000 s, and on node 0
// one is idle and the other busy for long.
class ReservationsTest : public ::testing::Test {
 protected:
  ReservationsTest() {
    world_.Running({.seconds = 1e6}, {0});
    world_.Running({.seconds = 1000, .gpus = 2}, {2, 3});
    world_.Running({.seconds = 2000}, {4});
  }
  JobId WaitsFor(int gpus, double seconds) {
    return world_.Waiting({.seconds = seconds, .gpus = gpus});
  }
  Ledger LedgerNow() { return Ledger(*world_, 3, false); }

  SnapshotBuilder world_{ClusterBuilder().Nodes(3, 2).Build()};
};

TEST_F(ReservationsTest, TheNodesThatAreFreeSoonestAreKeptForWhoWaitsForLong) {
  const JobId gang = WaitsFor(2, 100);
  world_.At(40);
  Ledger ledger = LedgerNow();
  {
    Reservations early(*world_, ledger);
    EXPECT_FALSE(early.Keep(world_->job(gang)).valid())
        << "it has not waited half as long as it lasts";
  }
  world_.At(60);
  Reservations reservations(*world_, ledger);
  EXPECT_EQ(reservations.Keep(world_->job(gang)), gang);
  EXPECT_FALSE(ledger.closed(NodeId(0)));
  EXPECT_TRUE(ledger.closed(NodeId(1)));
  EXPECT_FALSE(ledger.closed(NodeId(2)));
}

TEST_F(ReservationsTest, TheNextOnesHaveOtherNodes) {
  const JobId first = WaitsFor(2, 100), second = WaitsFor(2, 100);
  world_.At(60);
  Ledger ledger = LedgerNow();
  {
    Reservations reservations(*world_, ledger);
    reservations.Keep(world_->job(first));
    reservations.Keep(world_->job(second));
    EXPECT_TRUE(ledger.closed(NodeId(1)));
    EXPECT_TRUE(ledger.closed(NodeId(2)));
    EXPECT_FALSE(ledger.closed(NodeId(0)));
  }
  EXPECT_FALSE(ledger.any_closed()) << "only while the plan is made";
}

TEST_F(ReservationsTest, OnlyWhoSurelyEndsInTimeMayGoThere) {
  const JobId gang = WaitsFor(2, 100);
  const JobId second = WaitsFor(2, 100);
  const JobId brief = WaitsFor(1, 1100), lasting = WaitsFor(1, 1300);
  world_.At(60);
  Ledger ledger = LedgerNow();
  Reservations reservations(*world_, ledger);
  reservations.Keep(world_->job(gang));
  reservations.Keep(world_->job(second));
  using Nodes = Reservations::Nodes;
  const auto could = [](Nodes) { return true; };
  const auto open = [&](Nodes nodes) {
    return nodes.size() == 1 && nodes.front() == NodeId(2) && !ledger.closed(NodeId(2)) &&
           ledger.closed(NodeId(1));
  };
  EXPECT_TRUE(reservations.WithKept(world_->job(brief), could, open))
      << "1.6 times 1,100 s end in 2,000 s";
  EXPECT_TRUE(ledger.closed(NodeId(2))) << "and is closed again";
  const auto start = [](Nodes) { return true; };
  EXPECT_FALSE(reservations.WithKept(world_->job(lasting), could, start));
  const auto could_not = [&](Nodes) {
    EXPECT_TRUE(ledger.closed(NodeId(2))) << "asked before it is opened";
    return false;
  };
  EXPECT_FALSE(reservations.WithKept(world_->job(brief), could_not, start));
}

}  // namespace
}  // namespace sharewell::policy
