#include "engine/kubernetes/api/kube_lease.h"

#include <gmock/gmock.h>

#include "core/numbers/random.h"
#include "engine/kubernetes/api/scripted_kube.h"
#include "json/value.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using ::testing::HasSubstr;

// One Lease object as a server keeps it, behind a driver for each replica.
struct LeaseServer {
  std::string holder;
  int version = 0;  // 0: it is not there
  std::int64_t seconds = 0, transitions = 0;
  std::string numbers;  // the annotation
  int writes = 0;

  core::Result<KubeAnswer> Answer(const KubeRequest& request) {
    if (request.method == "GET") {
      return version == 0 ? KubeAnswer{404, "{}", {}} : KubeAnswer{200, Object(), {}};
    }
    const auto parsed = json::Document::Parse(request.body);
    EXPECT_TRUE(parsed) << request.body;
    const json::Value metadata = json::RootOf(parsed)["metadata"];
    const json::Value spec = json::RootOf(parsed)["spec"];
    if (request.method == "POST" ? version != 0
                                 : metadata["resourceVersion"].Text() != std::to_string(version)) {
      return KubeAnswer{409, "{}", {}};
    }
    EXPECT_TRUE(spec["holderIdentity"].is_text());
    const auto said = metadata["annotations"]["sharewell.io/job-numbers"].Text();
    if (said) numbers = *said;
    holder = spec["holderIdentity"].Text().value_or("");
    seconds = spec["leaseDurationSeconds"].Whole().value();
    transitions = spec["leaseTransitions"].Whole().value();
    ++version;
    ++writes;
    return KubeAnswer{request.method == "POST" ? 201 : 200, Object(), {}};
  }
  std::string Object() const {
    return fmt::format(
        R"({{"metadata":{{"resourceVersion":"{}","annotations":{{"sharewell.io/job-numbers":"{}"}}}},"spec":{{"holderIdentity":"{}","leaseDurationSeconds":{},"leaseTransitions":{}}}}})",
        version, numbers, holder, seconds, transitions);
  }
};

struct Replica {
  Seconds& real;  // time as it goes
  double skew;    // its clock's own beginning
  ScriptedKube kube;
  bool reached = true;  // by its requests
  bool heard = true;    // it gets answers
  bool alive = true;
  KubeLease lease;

  Replica(LeaseServer& server, Seconds& time, const std::string& name, double skew_by)
      : real(time),
        skew(skew_by),
        lease(
            kube, {.identity = name}, [this] { return Now(); }, [this] { return Now(); }) {
    kube.on_ask = [this, &server](const KubeRequest& request) -> core::Result<KubeAnswer> {
      if (!reached) return core::FailedError("nothing answers");
      auto answer = server.Answer(request);
      if (!heard) return core::FailedError("no answer came");
      return answer;
    };
  }
  Seconds Now() const { return real + Seconds(skew); }
  bool Leads() const { return alive && lease.IsLeader(Now()); }
  void Step() {
    if (alive) static_cast<void>(lease.Step());
  }
};

TEST(KubeLease, TheFirstLeadsAndRenewsTheOtherFollows) {
  LeaseServer server;
  Seconds time{100};
  Replica a(server, time, "a", 0), b(server, time, "b", 5e6);
  a.Step();
  b.Step();
  EXPECT_TRUE(a.Leads());
  EXPECT_FALSE(b.Leads());
  EXPECT_EQ(b.lease.holder(), "a");
  EXPECT_EQ(server.seconds, 10);
  EXPECT_THAT(a.kube.asked.back().body, HasSubstr(R"("renewTime":"1970-01-01T00:01:40.000000Z")"));
  for (; time < Seconds(400); time += Seconds(0.5)) {
    a.Step();
    b.Step();
    EXPECT_TRUE(a.Leads());
    EXPECT_FALSE(b.Leads());
  }
  EXPECT_EQ(server.transitions, 0);
  EXPECT_LE(a.kube.asked.size(), 175U) << "one every 1.8 s at most";
}

TEST(KubeLease, NumbersThatOneReservedAreNobodyElses) {
  LeaseServer server;
  Seconds time{100};
  Replica a(server, time, "a", 0), b(server, time, "b", 0);
  a.Step();
  EXPECT_EQ(a.lease.numbers(), 0);
  EXPECT_TRUE(a.lease.Reserve(20));
  EXPECT_EQ(a.lease.numbers(), 20);
  const int writes = server.writes;
  EXPECT_TRUE(a.lease.Reserve(7));
  EXPECT_EQ(server.writes, writes) << "it has them";
  b.Step();
  EXPECT_EQ(b.lease.numbers(), 20);
  EXPECT_TRUE(b.lease.Reserve(50));
  EXPECT_EQ(server.numbers, "20") << "whoever does not lead reserves nothing";
  a.heard = false;  // it happens, and is not heard of
  EXPECT_FALSE(a.lease.Reserve(40));
  EXPECT_EQ(a.lease.numbers(), 20) << "so they are not given out";
  a.alive = false;
  while (!b.Leads() && time < Seconds(200)) {
    time += Seconds(0.5);
    b.Step();
  }
  EXPECT_GE(b.lease.numbers(), 40);
  server.numbers = "many";  // somebody wrote into it
  b.Step();
  EXPECT_TRUE(b.lease.Reserve(60));
  EXPECT_EQ(b.lease.numbers(), 60);
}

TEST(KubeLease, AFollowerLeadsWithinFifteenSecondsOfADeath) {
  for (double skew : {0.0, 1e6, -90.0}) {
    LeaseServer server;
    Seconds time{100};
    Replica a(server, time, "a", 0), b(server, time, "b", skew);
    for (; time < Seconds(130); time += Seconds(0.1)) {
      a.Step();
      b.Step();
    }
    a.alive = false;
    const Seconds died = time;
    while (!b.Leads() && time < died + Seconds(100)) {
      time += Seconds(0.1);
      b.Step();
    }
    EXPECT_LE(time - died, Seconds(15)) << skew;
    EXPECT_GE(time - died, Seconds(7)) << skew;
    EXPECT_EQ(server.transitions, 1);
  }
}

TEST(KubeLease, ALeaderThatIsCutOffStopsBeforeAnotherBegins) {
  for (const bool reached : {true, false}) {  // its writes may still arrive
    LeaseServer server;
    Seconds time{100};
    Replica a(server, time, "a", 0), b(server, time, "b", 1e6);
    a.Step();
    b.Step();
    a.reached = reached;
    a.heard = false;
    Seconds stopped, began;
    for (; time < Seconds(160); time += Seconds(0.1)) {
      a.Step();
      b.Step();
      EXPECT_FALSE(a.Leads() && b.Leads());
      if (!a.Leads() && stopped == Seconds(0)) stopped = time;
      if (b.Leads() && began == Seconds(0)) began = time;
    }
    EXPECT_NEAR(stopped.value, 107, 0.2);
    if (!reached) {
      EXPECT_GT(began, stopped + Seconds(2));
    }
  }
}

TEST(KubeLease, AnAnswerThatWasLostIsReadBack) {
  LeaseServer server;
  Seconds time{100};
  Replica a(server, time, "a", 0);
  a.heard = false;
  a.Step();  // could not even read
  EXPECT_FALSE(a.Leads());
  a.heard = true;
  time += Seconds(2);
  a.Step();
  EXPECT_TRUE(a.Leads());
  a.heard = false;
  time += Seconds(2);
  a.Step();  // renewed, and not heard of it
  a.heard = true;
  time += Seconds(2);
  a.Step();
  EXPECT_TRUE(a.Leads());
  EXPECT_EQ(server.transitions, 0);
}

TEST(KubeLease, GivesUpInOrderSoThatNobodyWaits) {
  LeaseServer server;
  Seconds time{100};
  Replica a(server, time, "a", 0), b(server, time, "b", 0);
  a.Step();
  EXPECT_TRUE(a.lease.Release());
  EXPECT_FALSE(a.Leads());
  b.Step();
  EXPECT_TRUE(b.Leads());
  EXPECT_TRUE(a.lease.Release()) << "of what it does not have it gives up nothing";
  EXPECT_EQ(server.holder, "b");
}

TEST(KubeLease, WaitsAsLongAsAnotherHolderSaid) {
  LeaseServer server;
  server.holder = "older";
  server.version = 4;
  server.seconds = 30;
  server.transitions = 2;
  Seconds time{100};
  Replica a(server, time, "a", 0);
  for (; time < Seconds(129.5); time += Seconds(0.5)) a.Step();
  EXPECT_FALSE(a.Leads());
  for (; time < Seconds(133); time += Seconds(0.5)) a.Step();
  EXPECT_TRUE(a.Leads());
  EXPECT_EQ(server.transitions, 3);
}

// Clocks that begin anywhere, servers that answer late, twice or never, replicas that are cut off
// and come back: never do two lead.
TEST(KubeLease, NeverDoTwoLead) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    LeaseServer server;
    Seconds time{1000};
    std::vector<std::unique_ptr<Replica>> all;
    for (const char* name : {"a", "b", "c"}) {
      all.push_back(std::make_unique<Replica>(server, time, name, 1e5 * static_cast<double>(seed)));
    }
    int led = 0;
    for (std::uint64_t i = 0; i < 3000; ++i, time += Seconds(0.2)) {
      int leaders = 0;
      for (std::size_t r = 0; r < all.size(); ++r) {
        if (i % 25 == 0) {
          all[r]->reached = core::Uniform(core::HashOf({seed, i, r, 1})) > 0.4;
          all[r]->heard = core::Uniform(core::HashOf({seed, i, r, 2})) > 0.3;
        }
        all[r]->Step();
        leaders += all[r]->Leads() ? 1 : 0;
      }
      ASSERT_LE(leaders, 1) << seed << " at " << i;
      led += leaders;
    }
    EXPECT_GT(led, 300) << "and mostly somebody does";
  }
}

}  // namespace
}  // namespace sharewell::engine
