// Several processes on one store, and processes that are killed, on whichever database this program
// is for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "core/numbers/random.h"
#include "store/store.h"
#include "store/test_batches.h"
#include "store/test_place.h"
#include "store/test_process.h"

namespace sharewell::store {
namespace {

using testing::SizeIs;

// As many as are promised; SHAREWELL_KILLS=n for another number.
int Kills() {
  const char* asked = std::getenv("SHAREWELL_KILLS");
  return asked != nullptr ? std::atoi(asked) : 100;
}

struct Acknowledged {
  core::UnixMillis time = 0;
  std::int64_t profile = 0;
};

// Appends and syncs as fast as it can, and says on `out` what was acknowledged. Seven seconds a
// step: minutes close all the time.
int WriteUntilKilled(const std::string& where, core::UnixMillis from, int out) {
  auto store = Open(where);
  if (!store) return 1;
  for (core::UnixMillis time = from;; time += 7000) {
    for (const char* instance : {"0", "1", "2"}) {
      if (!(*store)->Append("n1", BatchOf(time, static_cast<double>(time - kStart), instance))) {
        return 2;
      }
    }
    if (!(*store)->Sync()) return 3;
    Acknowledged acknowledged{time, 0};
    if (time / 7000 % 16 == 0) {
      core::ProfileRecord record;
      record.created = time;
      const auto id = (*store)->Save(record);
      if (!id) return 4;
      acknowledged.profile = *id;
    }
    if (::write(out, &acknowledged, sizeof acknowledged) != sizeof acknowledged) return 5;
  }
}

TEST(Processes, KilledAtAnyMomentNothingAcknowledgedIsLost) {
  const auto place = NewTestPlace();
  ASSERT_TRUE(Open(place->where()));
  core::UnixMillis next = kStart;
  std::vector<core::UnixMillis> times;
  std::vector<std::int64_t> profiles;
  for (std::uint64_t round = 0; round < static_cast<std::uint64_t>(Kills()); ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    TestProcess writer([&] {
      ::close(pipe[0]);
      return WriteUntilKilled(place->where(), next, pipe[1]);
    });
    ::close(pipe[1]);
    Acknowledged acknowledged;
    // From the first one on, so that every round has some, then for up to 12 ms.
    ASSERT_EQ(::read(pipe[0], &acknowledged, sizeof acknowledged), ssize_t{sizeof acknowledged});
    std::this_thread::sleep_for(std::chrono::microseconds(core::HashOf({round}) % 12'000));
    writer.Kill();
    const std::size_t before = times.size();
    do {
      times.push_back(acknowledged.time);
      if (acknowledged.profile != 0) profiles.push_back(acknowledged.profile);
    } while (::read(pipe[0], &acknowledged, sizeof acknowledged) == ssize_t{sizeof acknowledged});
    ::close(pipe[0]);

    auto store = Open(place->where());
    ASSERT_TRUE(store) << "round " << round << ": " << store.error().message;
    const auto points = (*store)->Read(KeyOf("n1", "1"), {times[before], times.back() + 7001});
    ASSERT_TRUE(points) << points.error().message;
    // What was acknowledged, and at most the one after it.
    ASSERT_GE(points->size(), times.size() - before) << "round " << round;
    for (std::size_t i = before; i < times.size(); ++i) {
      ASSERT_EQ((*points)[i - before],
                (core::Point{times[i], static_cast<double>(times[i] - kStart)}));
    }
    next = times.back() + 14'000;
  }
  auto store = Open(place->where());
  ASSERT_TRUE(store);
  for (const char* instance : {"0", "1", "2"}) {
    const auto points = (*store)->Read(KeyOf("n1", instance), {});
    ASSERT_TRUE(points) << points.error().message;
    std::size_t at = 0;
    for (const core::UnixMillis time : times) {
      while (at < points->size() && (*points)[at].time < time) ++at;
      ASSERT_LT(at, points->size());
      ASSERT_EQ((*points)[at].time, time);
    }
  }
  const auto records = (*store)->Profiles({});
  ASSERT_TRUE(records);
  std::size_t at = 0;
  for (const std::int64_t id : profiles) {
    while (at < records->size() && (*records)[at].id < id) ++at;
    ASSERT_LT(at, records->size());
    EXPECT_EQ((*records)[at].id, id);
  }
  EXPECT_EQ(place->Damage(), "");
}

TEST(Processes, MayMakeTheStoreAtTheSameTime) {
  const auto place = NewTestPlace();
  std::vector<std::unique_ptr<TestProcess>> makers;
  for (int i = 0; i < 6; ++i) {
    makers.push_back(std::make_unique<TestProcess>([&] {
      const auto store = Open(place->where());
      if (!store) std::fprintf(stderr, "%s\n", store.error().message.c_str());
      return store ? 0 : 1;
    }));
  }
  for (const auto& maker : makers) EXPECT_EQ(maker->Wait(), 0);
}

TEST(Processes, WriteTheSameSeriesAndTheLastOfATimeStays) {
  const auto place = NewTestPlace();
  constexpr int kWriters = 3, kSamples = 400;
  std::vector<std::unique_ptr<TestProcess>> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.push_back(std::make_unique<TestProcess>([&, writer] {
      auto store = Open(place->where());
      if (!store) return 1;
      for (int i = 0; i < kSamples; ++i) {
        const core::UnixMillis time = kStart + i * 1000;
        if (!(*store)->Append("n1", BatchOf(time, writer))) return 2;
        if (!(*store)->Append("n1", BatchOf(time, writer, "own" + std::to_string(writer))))
          return 3;
        if (i % 10 == 0 && !(*store)->Sync()) return 4;
        if (i % 100 == 50 && !(*store)->Tidy(time, {})) return 5;
      }
      return (*store)->Sync() ? 0 : 6;
    }));
  }
  for (const auto& writer : writers) EXPECT_EQ(writer->Wait(), 0);
  auto store = Open(place->where());
  ASSERT_TRUE(store);
  const auto shared = (*store)->Read(KeyOf("n1"), {});
  ASSERT_TRUE(shared) << shared.error().message;
  EXPECT_THAT(*shared, SizeIs(kSamples));
  for (int writer = 0; writer < kWriters; ++writer) {
    const auto own = (*store)->Read(KeyOf("n1", "own" + std::to_string(writer)), {});
    ASSERT_TRUE(own);
    EXPECT_THAT(*own, SizeIs(kSamples));
  }
  const auto infos = (*store)->List({});
  ASSERT_TRUE(infos);
  EXPECT_THAT(*infos, SizeIs(kWriters + 1));
  for (const SeriesInfo& info : *infos) EXPECT_EQ(info.samples, kSamples);
  EXPECT_EQ(place->Damage(), "");
}

}  // namespace
}  // namespace sharewell::store
