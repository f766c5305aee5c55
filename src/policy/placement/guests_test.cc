// Guests: where a job of which nothing is known may start beside others, and inside which cap.
#include "policy/placement/guests.h"

#include <gmock/gmock.h>

#include "policy/registry.h"
#include "testing/builders.h"

namespace sharewell::policy {
namespace {

using core::GiB;
using core::JobId;
using core::Plan;
using core::Seconds;
using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using fixtures::OnGpus;
using fixtures::SnapshotBuilder;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace reason = core::reason;

JobSpec Unknown() { return {.gib = 16, .known = false, .duration_known = false}; }

Plan Decide(SnapshotBuilder& s, Options options = {}) {
  static const auto model = fixtures::WithoutResidual();
  options.interference = &model;
  const auto policy = NewPolicy("sharewell", options).value();
  const auto memo = policy->NewMemo();
  return policy->Decide(*s, {}, *memo);
}

// What the loop makes of a job of which nothing is known.
JobId Stranger(SnapshotBuilder& s, const JobSpec& spec = Unknown()) {
  const JobId id = s.Waiting(spec);
  core::Estimate estimate = s->job(id).estimate;
  estimate.sources = core::Sources::All(core::Source::kAssumed);
  for (auto& on : estimate.on) on.demand = {.busy = 1, .sm = 1, .gpu_memory = GiB(16)};
  estimate.gpu_memory_upper = GiB(16);
  s->SetEstimate(id, std::move(estimate), false);
  return id;
}

// One GPU of 16 GiB with a resident that leaves 12 of them.
struct Shared {
  explicit Shared(const JobSpec& resident = {.seconds = 1000, .busy = 0.3, .sm = 0.2, .gib = 4})
      : s(ClusterBuilder().Node(1).Build()) {
    there = s.Running(resident, {0});
  }
  SnapshotBuilder s;
  JobId there;
};

TEST(Guests, AStrangerStartsBesideAKnownJobInsideACap) {
  Shared shared;
  const JobId stranger = Stranger(shared.s);
  const Plan plan = Decide(shared.s);
  ASSERT_THAT(plan.starts, SizeIs(1));
  const core::Start& start = plan.starts[0];
  EXPECT_EQ(start.job, stranger);
  EXPECT_EQ(start.to.gpus, OnGpus({0}).gpus);
  EXPECT_EQ(start.to.sm_share, 0.8);
  EXPECT_EQ(start.to.guest_memory, GiB(12)) << "what is free";
  EXPECT_EQ(start.reason, core::Reason(reason::AsGuest{shared.there, GiB(12)}));
}

TEST(Guests, AnIdleGpuIsTakenWithoutACap) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  s.Running({.seconds = 1000, .busy = 0.3, .gib = 4}, {0});
  Stranger(s);
  const Plan plan = Decide(s);
  ASSERT_THAT(plan.starts, SizeIs(1));
  EXPECT_EQ(plan.starts[0].to.gpus, OnGpus({1}).gpus);
  EXPECT_EQ(plan.starts[0].to.sm_share, 1);
  EXPECT_FALSE(plan.starts[0].to.guest());
}

TEST(Guests, OneStrangerAGpuAtATime) {
  Shared shared;
  Stranger(shared.s);
  const JobId second = Stranger(shared.s);
  const Plan plan = Decide(shared.s);
  EXPECT_THAT(plan.starts, SizeIs(1));
  ASSERT_THAT(plan.waits, SizeIs(1));
  EXPECT_EQ(plan.waits[0].job, second);
  EXPECT_EQ(plan.waits[0].reason, core::Reason(reason::NoPlaceForGuest{}));
}

TEST(Guests, AnotherMayComeOnceTheFirstIsKnown) {
  Shared shared;
  const JobId first = Stranger(shared.s);
  const Plan plan = Decide(shared.s);
  shared.s->Start(first, plan.starts.at(0).to);
  const JobId second = Stranger(shared.s);
  EXPECT_THAT(Decide(shared.s).starts, IsEmpty());
  core::Estimate told = shared.s->job(shared.there).estimate;
  told.gpu_memory_upper = GiB(3);
  shared.s->SetEstimate(first, told, false);
  const Plan then = Decide(shared.s);
  ASSERT_THAT(then.starts, SizeIs(1));
  EXPECT_EQ(then.starts[0].job, second);
  EXPECT_EQ(then.starts[0].to.guest_memory, GiB(9)) << "of 16, 4 and 3 are taken";
}

// Its script may train something else this time.
TEST(Guests, OneThatIsKnownByAGuessIsAStrangerToo) {
  Shared shared;
  const JobId guessed = shared.s.Waiting({.busy = 0.1, .sm = 0.1, .gib = 2});
  core::Estimate estimate = shared.s->job(guessed).estimate;
  estimate.guessed = true;
  shared.s->SetEstimate(guessed, estimate, false);
  const Plan plan = Decide(shared.s);
  ASSERT_THAT(plan.starts, SizeIs(1));
  EXPECT_EQ(plan.starts[0].to.guest_memory, GiB(12)) << "it may need more than is guessed";
  shared.s->Start(guessed, plan.starts[0].to);
  EXPECT_EQ(core::GpuMemoryUpper(shared.s->job(guessed)), GiB(12));
  Stranger(shared.s);
  EXPECT_THAT(Decide(shared.s).starts, IsEmpty());
}

TEST(Guests, HoldWhatTheyMayTake) {
  Shared shared;
  const JobId guest = Stranger(shared.s);
  shared.s->Start(guest, Decide(shared.s).starts.at(0).to);
  shared.s.Waiting({.busy = 0.1, .sm = 0.1, .gib = 1});
  EXPECT_THAT(Decide(shared.s).starts, IsEmpty()) << "nobody else comes before it is known";
  EXPECT_EQ(core::GpuMemoryUpper(shared.s->job(guest)), GiB(12));
}

TEST(Guests, NoneWhereNothingKeepsThemToTheirCap) {
  Shared shared;
  Stranger(shared.s);
  EXPECT_THAT(Decide(shared.s, {.sm_shares = false}).starts, IsEmpty());
}

TEST(Guests, NoneBesideWhoWantsNoneOrIsAlone) {
  for (const bool exclusive : {false, true}) {
    SnapshotBuilder s(ClusterBuilder().Node(1).Build());
    const JobId there = s.Waiting(
        {.seconds = 1000, .busy = 0.1, .gib = 1, .exclusive = exclusive, .no_guests = !exclusive});
    s->Start(there, OnGpus({0}));
    Stranger(s);
    EXPECT_THAT(Decide(s).starts, IsEmpty()) << exclusive;
  }
}

TEST(Guests, NoneOfAJobThatIsToBeAloneUntilItIsKnown) {
  Shared shared;
  Stranger(shared.s, {.gib = 16, .known = false, .alone_until_known = true});
  EXPECT_THAT(Decide(shared.s).starts, IsEmpty());
}

TEST(Guests, NoneWhereLessThanATenthOfTheMemoryIsFree) {
  Shared almost({.seconds = 1000, .busy = 0.1, .sm = 0.1, .gib = 14.3});
  Stranger(almost.s);
  EXPECT_THAT(Decide(almost.s).starts, SizeIs(1));
  Shared full({.seconds = 1000, .busy = 0.1, .sm = 0.1, .gib = 14.5});
  Stranger(full.s);
  EXPECT_THAT(Decide(full.s).starts, IsEmpty());
}

// The worst guest is beside it for 20 s. What that costs is little of a long life, much of a short
// one.
TEST(Guests, NoneWhereAResidentWouldBreakItsBoundOverItsLife) {
  const JobSpec busy{.seconds = 1000, .busy = 0.8, .sm = 0.4, .gib = 4, .kernel_time = 10e-6};
  Shared lasting(busy);
  Stranger(lasting.s);
  EXPECT_THAT(Decide(lasting.s).starts, SizeIs(1));
  JobSpec brief = busy;
  brief.seconds = 15;
  Shared short_lived(brief);
  Stranger(short_lived.s);
  EXPECT_THAT(Decide(short_lived.s).starts, IsEmpty());
}

TEST(Guests, AreNarrowerWhereAResidentNeedsItAndTheirOwnBoundAllowsIt) {
  // Many short kernels, and an end before the guest is gone.
  const JobSpec resident{.seconds = 15, .busy = 0.8, .sm = 0.4, .gib = 4, .kernel_time = 10e-6};
  Shared strict(resident);
  Stranger(strict.s);
  EXPECT_THAT(Decide(strict.s).starts, IsEmpty()) << "0.6 is slower than its own bound of 1.25";
  Shared patient(resident);
  Stranger(patient.s, {.gib = 16, .max_slowdown = 2, .known = false});
  const Plan plan = Decide(patient.s);
  ASSERT_THAT(plan.starts, SizeIs(1));
  EXPECT_EQ(plan.starts[0].to.sm_share, 0.6);
}

TEST(Guests, ComeBackWithClearlyMoreMemoryAfterRunningOut) {
  Shared shared;
  const JobId guest = Stranger(shared.s);
  shared.s->Start(guest, Decide(shared.s).starts.at(0).to);
  shared.s->CountOom(guest);
  shared.s->Stop(guest);
  EXPECT_FALSE(shared.s->job(guest).must_be_alone());
  EXPECT_THAT(Decide(shared.s).starts, IsEmpty()) << "12 GiB were not enough";
  shared.s->Finish(shared.there, core::JobState::kFinished);
  const Plan alone = Decide(shared.s);
  ASSERT_THAT(alone.starts, SizeIs(1)) << "an idle GPU is";
  shared.s->Start(guest, alone.starts[0].to);
  shared.s->CountOom(guest);
  EXPECT_TRUE(shared.s->job(guest).must_be_alone()) << "that was no guest's";
}

TEST(Guests, AreNoGuestsAgainAfterAnEviction) {
  Shared shared;
  const JobId guest = Stranger(shared.s);
  shared.s->Start(guest, Decide(shared.s).starts.at(0).to);
  shared.s->Stop(guest, true);
  EXPECT_THAT(Decide(shared.s).starts, IsEmpty());
}

TEST(Guests, GetTheCoresThatNobodyHas) {
  SnapshotBuilder s(ClusterBuilder().Node(1).Cores(8).Build());
  s.Running({.seconds = 1000, .busy = 0.3, .sm = 0.2, .gib = 4, .wants_cores = 5}, {0}, 5);
  Stranger(s);
  const Plan plan = Decide(s);
  ASSERT_THAT(plan.starts, SizeIs(1));
  EXPECT_GT(plan.starts[0].to.cores, 0);
  EXPECT_LE(plan.starts[0].to.cores, 3);
}

// Known jobs that came later share so well that each takes the place that one leaves. After a
// minute the GPU on which somebody leaves soonest is the stranger's.
TEST(Guests, AreNotOvertakenForEver) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  for (const std::size_t gpu : {0, 1}) {
    s.Running({.seconds = gpu == 0 ? 100.0 : 900.0, .busy = 0.1, .sm = 0.1, .gib = 7.5}, {gpu});
    s.Running({.seconds = 900, .busy = 0.1, .sm = 0.1, .gib = 7}, {gpu});
  }
  Stranger(s);
  s.At(61);
  const JobId known = s.Waiting({.submit = 61, .busy = 0.1, .sm = 0.1, .gib = 1});
  const Plan plan = Decide(s);
  ASSERT_THAT(plan.starts, SizeIs(1));
  EXPECT_EQ(plan.starts[0].job, known);
  EXPECT_EQ(plan.starts[0].to.gpus, OnGpus({1}).gpus) << "GPU 0 is kept";
}

TEST(Guests, KnownByNowMoveToAnIdleGpuWhereThatPays) {
  SnapshotBuilder s(ClusterBuilder().Node(2).Build());
  const JobSpec hog{.seconds = 5000, .busy = 0.9, .sm = 0.8, .gib = 4};
  s.Running(hog, {0});
  const JobId guest = s.Waiting(hog);
  core::Allocation as_guest = OnGpus({0});
  as_guest.sm_share = 0.8;
  as_guest.guest_memory = GiB(12);
  s->Start(guest, as_guest);
  s.At(20);
  const Plan plan = Decide(s);
  ASSERT_THAT(plan.moves, SizeIs(1));
  EXPECT_EQ(plan.moves[0].job, guest);
  EXPECT_EQ(plan.moves[0].to.gpus, OnGpus({1}).gpus);
  EXPECT_FALSE(plan.moves[0].to.guest());
  EXPECT_EQ(plan.moves[0].to.sm_share, 1);
  s.At(200);
  EXPECT_THAT(Decide(s).moves, IsEmpty()) << "by now it would lose too much";
}

}  // namespace
}  // namespace sharewell::policy
