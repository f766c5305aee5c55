#include "control/sampling/store_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "testing/unasked_store.h"

namespace sharewell::control {
namespace {

using core::Seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr core::Metric kLoad{.name = "load", .unit = "1", .instance = "", .help = "a test"};
constexpr auto kSoon = std::chrono::seconds(20);

// Outlives the store that writes to it; all fields under its lock.
struct Disk {
  std::mutex mutex;
  std::vector<core::UnixMillis> kept;  // durable
  std::vector<std::string> told;       // job and document
  bool broken = false;                 // Sync fails
  bool refuses = false;                // Append fails
  bool may_open = true;
  int tidied = 0, syncs = 0, opened = 0;

  template <class Look>
  auto With(Look look) {
    const std::lock_guard lock(mutex);
    return look(*this);
  }
};

class FakeStore : public fixtures::UnaskedStore {
 public:
  explicit FakeStore(Disk& disk) : disk_(disk) {}
  core::Result<void> Append(const std::string& node, const core::Batch& batch) override {
    EXPECT_EQ(node, "here");
    if (disk_.With([](Disk& d) { return d.refuses; })) return core::FailedError("full up");
    waiting_.push_back(batch.time);
    return {};
  }
  core::Result<void> Sync() override {
    const std::lock_guard lock(disk_.mutex);
    ++disk_.syncs;
    if (disk_.broken) return core::FailedError("no space left on device");
    disk_.kept.insert(disk_.kept.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
    return {};
  }
  core::Result<void> SaveTold(const std::string& node, const core::JobTold& told) override {
    EXPECT_EQ(node, "here");
    const std::lock_guard lock(disk_.mutex);
    if (disk_.broken) return core::FailedError("no space left on device");
    disk_.told.push_back(told.job + " " + told.document);
    return {};
  }
  core::Result<void> Tidy(core::UnixMillis, const store::Retention&) override {
    return disk_.With([](Disk& d) { ++d.tidied; }), core::Result<void>();
  }

 private:
  Disk& disk_;
  std::vector<core::UnixMillis> waiting_;
};

std::shared_ptr<const core::Batch> BatchAt(core::UnixMillis time, std::size_t readings = 1) {
  auto batch = std::make_shared<core::Batch>();
  batch->time = time;
  for (std::size_t i = 0; i < readings; ++i) batch->readings.push_back({&kLoad, "", "", 1});
  return batch;
}

core::JobTold Told(const std::string& job, const std::string& document) {
  return {job, 0, true, document, ""};
}

class StoreWriterTest : public ::testing::Test {
 protected:
  std::unique_ptr<StoreWriter> Make(StoreWriterOptions options, bool opened = true) {
    return std::make_unique<StoreWriter>(
        "here", opened ? std::make_unique<FakeStore>(disk_) : nullptr,
        [this]() -> core::Result<std::unique_ptr<store::Store>> {
          const std::lock_guard lock(disk_.mutex);
          ++disk_.opened;
          if (!disk_.may_open) return core::FailedError("the server is away");
          return std::make_unique<FakeStore>(disk_);
        },
        [this](const std::string& line) {
          const std::lock_guard lock(said_mutex_);
          said_.push_back(line);
        },
        options);
  }
  std::vector<std::string> Said() {
    const std::lock_guard lock(said_mutex_);
    return said_;
  }
  template <class Condition>
  static void WaitUntil(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + kSoon;
    while (!condition() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_TRUE(condition());
  }

  Disk disk_;
  std::mutex said_mutex_;
  std::vector<std::string> said_;
};

TEST_F(StoreWriterTest, WhatAJobTellsIsWrittenAtOnceAndTriedAgain) {
  auto writer = Make({.sync = Seconds(3600)});
  const auto told = [&] { return disk_.With([](Disk& d) { return d.told; }); };
  writer->PutTold(Told("slurm/1", "a"));
  WaitUntil([&] { return !told().empty(); });
  disk_.With([](Disk& d) { return d.broken = true; });
  writer->PutTold(Told("slurm/1", "b"));
  WaitUntil([&] { return !writer->State().up; });
  writer->PutTold(Told("slurm/1", "c"));
  for (int job = 2; job <= 100; ++job) {
    writer->PutTold(Told("slurm/" + std::to_string(job), "d"));
  }
  disk_.With([](Disk& d) { return d.broken = false; });
  writer->Stop();
  const auto all = told();
  EXPECT_EQ(all.size(), 1U + 64) << "more are not held";
  EXPECT_EQ(all.front(), "slurm/1 a");
  EXPECT_THAT(all, ::testing::Contains("slurm/1 c"));
  EXPECT_THAT(all, ::testing::Not(::testing::Contains("slurm/1 b")));
}

TEST_F(StoreWriterTest, WritesInOrderAndSyncsByItself) {
  auto writer = Make({.sync = Seconds(0.01)});
  for (int i = 0; i < 100; ++i) writer->Put(BatchAt(i));
  WaitUntil([&] { return writer->State().written == 100; });
  const auto kept = disk_.With([](Disk& d) { return d.kept; });
  ASSERT_EQ(kept.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(kept[static_cast<std::size_t>(i)], i);
  EXPECT_TRUE(writer->State().up);
  EXPECT_EQ(writer->State().waiting_bytes, 0U);
  EXPECT_THAT(Said(), ElementsAre());
}

TEST_F(StoreWriterTest, TheLastSyncIsAtTheEnd) {
  auto writer = Make({.sync = Seconds(3600)});
  writer->Put(BatchAt(7));
  EXPECT_TRUE(disk_.With([](Disk& d) { return d.kept.empty(); }));
  writer->Stop();
  EXPECT_THAT(disk_.With([](Disk& d) { return d.kept; }), ElementsAre(7));
  writer->Put(BatchAt(8));  // too late: nobody writes any more
  writer->Stop();
  EXPECT_EQ(writer->State().waiting_bytes, 0U);
}

TEST_F(StoreWriterTest, AFullDiskIsSaidOnceAndCaughtUpWith) {
  disk_.broken = true;
  auto writer = Make({.sync = Seconds(0.005)});
  for (int i = 0; i < 10; ++i) writer->Put(BatchAt(i));
  WaitUntil([&] { return disk_.With([](Disk& d) { return d.syncs; }) > 5; });
  EXPECT_FALSE(writer->State().up);
  EXPECT_EQ(writer->State().problem, "no space left on device");
  EXPECT_THAT(Said(), ElementsAre(HasSubstr("store: no space left on device; what is read waits")));
  disk_.With([](Disk& d) { d.broken = false; });
  WaitUntil([&] { return writer->State().written == 10; });
  WaitUntil([&] { return Said().size() == 2; });
  EXPECT_THAT(Said().back(), HasSubstr("written to again"));
  EXPECT_EQ(writer->State().dropped, 0);
}

TEST_F(StoreWriterTest, WhatWaitsIsBoundedAndTheOldestGoes) {
  disk_.refuses = true;
  disk_.broken = true;
  auto writer = Make({.sync = Seconds(0.005), .most_bytes = 20'000});
  for (int i = 0; i < 1000; ++i) {
    writer->Put(BatchAt(i, 10));
    EXPECT_LE(writer->State().waiting_bytes, 20'000U);
  }
  WaitUntil([&] { return Said().size() == 2; });
  EXPECT_THAT(Said()[1], HasSubstr("the oldest samples are dropped"));
  disk_.With([](Disk& d) { d.refuses = d.broken = false; });
  WaitUntil([&] { return Said().size() == 4; });
  EXPECT_THAT(Said()[3], HasSubstr("samples were lost"));
  const StoreWriterState state = writer->State();
  EXPECT_GT(state.dropped, 5000);
  EXPECT_EQ(state.dropped + state.written, 10'000);
  const auto kept = disk_.With([](Disk& d) { return d.kept; });
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept.back(), 999);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
}

TEST_F(StoreWriterTest, AServerThatIsAwayAtTheStartIsAskedAgain) {
  disk_.may_open = false;
  auto writer = Make({.sync = Seconds(0.005)}, false);
  writer->Put(BatchAt(1));
  WaitUntil([&] { return disk_.With([](Disk& d) { return d.opened; }) > 3; });
  EXPECT_THAT(Said(), ElementsAre(HasSubstr("store: the server is away; ")));
  disk_.With([](Disk& d) { d.may_open = true; });
  WaitUntil([&] { return writer->State().written == 1; });
  EXPECT_THAT(disk_.With([](Disk& d) { return d.kept; }), ElementsAre(1));
}

TEST_F(StoreWriterTest, TidiesNowAndThen) {
  auto writer = Make({.sync = Seconds(0.001), .tidy = Seconds(0.01)});
  WaitUntil([&] { return disk_.With([](Disk& d) { return d.tidied; }) >= 2; });
}

TEST_F(StoreWriterTest, ManyMayPutAtOnce) {
  auto writer = Make({.sync = Seconds(0.001)});
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) writer->Put(BatchAt(i));
      });
    }
  }
  writer->Stop();
  EXPECT_EQ(writer->State().written, 2000);
}

}  // namespace
}  // namespace sharewell::control
