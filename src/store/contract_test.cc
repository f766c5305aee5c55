// The contract of store.h, on whichever database this program is for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/numbers/random.h"
#include "store/open_database.h"
#include "store/samples/compact.h"
#include "store/store.h"
#include "store/test_batches.h"
#include "store/test_place.h"

namespace sharewell::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr core::UnixMillis kSecondMs = 1000, kMinuteMs = 60'000, kHourMs = 3'600'000,
                           kDayMs = 24 * kHourMs;

// What every Store keeps to: one fixture, and both databases run all of it.
class Contract : public testing::Test {
 protected:
  Contract() : place_(NewTestPlace()), store_(Again()) {}

  std::unique_ptr<Store> Again() {
    auto opened = Open(place_->where());
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }
  void Append(const core::Batch& batch, const std::string& node = "n1") {
    const auto done = store_->Append(node, batch);
    ASSERT_TRUE(done) << done.error().message;
  }
  void Sync() {
    const auto done = store_->Sync();
    ASSERT_TRUE(done) << done.error().message;
  }
  void Tidy(core::UnixMillis now, const Retention& retention = {}) {
    const auto done = store_->Tidy(now, retention);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::vector<core::Point> Read(const SeriesKey& key = KeyOf("n1"), TimeRange range = {}) {
    const auto points = store_->Read(key, range);
    EXPECT_TRUE(points) << points.error().message;
    return points.value_or(std::vector<core::Point>());
  }
  std::vector<Bucket> Chart(TimeRange range = {}, std::size_t most = 1000) {
    const auto buckets = store_->Chart(KeyOf("n1"), range, most);
    EXPECT_TRUE(buckets) << buckets.error().message;
    return buckets.value_or(std::vector<Bucket>());
  }
  std::vector<SeriesInfo> List(const SeriesFilter& filter = {}) {
    const auto infos = store_->List(filter);
    EXPECT_TRUE(infos) << infos.error().message;
    return infos.value_or(std::vector<SeriesInfo>());
  }
  // `count` samples a second apart, value = number, synced every five.
  void Fill(int count, core::UnixMillis from = kStart) {
    for (int i = 0; i < count; ++i) {
      Append(BatchOf(from + i * kSecondMs, i));
      if (i % 5 == 4) Sync();
    }
    Sync();
  }

  std::unique_ptr<TestPlace> place_;
  std::unique_ptr<Store> store_;
};

std::int64_t SamplesOf(const std::vector<Bucket>& buckets) {
  std::int64_t samples = 0;
  for (const Bucket& bucket : buckets) samples += bucket.samples;
  return samples;
}

TEST_F(Contract, WhatWasAppendedIsReadBeforeAndAfterSync) {
  Append(BatchOf(kStart, 1.5));
  EXPECT_THAT(Read(), ElementsAre(core::Point{kStart, 1.5}));
  EXPECT_THAT(List(), SizeIs(1));
  Sync();
  Append(BatchOf(kStart + 1, 2.5));
  EXPECT_THAT(Read(), ElementsAre(core::Point{kStart, 1.5}, core::Point{kStart + 1, 2.5}));
}

TEST_F(Contract, UnsyncedSamplesAreOfThisObjectOnly) {
  Append(BatchOf(kStart, 1));
  Sync();
  Append(BatchOf(kStart + 1, 2));
  store_ = Again();
  EXPECT_THAT(Read(), ElementsAre(core::Point{kStart, 1}));
}

TEST_F(Contract, ManyMinutesComeBackInOrderFromAnotherObject) {
  Fill(500);
  store_ = Again();
  const auto points = Read();
  ASSERT_THAT(points, SizeIs(500));
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(points[static_cast<std::size_t>(i)],
              (core::Point{kStart + i * kSecondMs, double(i)}));
  }
}

// Ten thousand short jobs a minute have some hundred thousand series in it.
TEST_F(Contract, AMinuteOfManySeriesIsCompactedInPiecesOfBoundedSize) {
  constexpr int kSeries = 5000, kSyncs = 3;
  for (int sync = 0; sync < kSyncs; ++sync) {
    core::Batch batch{kStart + sync * kSecondMs, {}};
    for (int i = 0; i < kSeries; ++i) {
      batch.readings.push_back({&kPower, "0", fmt::format("job {}", i), 10.0 * i + sync});
    }
    Append(batch);
    Sync();
  }
  auto database = OpenDatabase(place_->where());
  ASSERT_TRUE(database) << database.error().message;
  auto writing = Transaction::Begin(**database, Access::kWrite, "n1");
  ASSERT_TRUE(writing);
  const auto compacted = Compact(**database, "n1", {{kStart / kMinuteMs, {}}});
  ASSERT_TRUE(compacted) << compacted.error().message;
  ASSERT_TRUE(writing->Commit());
  EXPECT_EQ(compacted->series, std::size_t{kSeries});
  EXPECT_LE(compacted->most_at_once, 4097U);
  EXPECT_THAT(List({}), SizeIs(kSeries));
  for (const int i : {0, 4095, 4096, kSeries - 1}) {
    const auto points = Read(KeyOf("n1", "0", fmt::format("job {}", i)));
    ASSERT_THAT(points, SizeIs(kSyncs)) << i;
    EXPECT_EQ(points[2].value, 10.0 * i + 2);
  }
}

TEST_F(Contract, TheMinuteOfANodeIsWhatOthersSyncedInLastMinutes) {
  Append(BatchOf(kStart, 1, "0"));
  Append(BatchOf(kStart + kSecondMs, 2, "0"));
  Append(BatchOf(kStart, 3, "", "slurm/17"));
  Append(BatchOf(kStart, 9), "n2");
  Sync();
  Append(BatchOf(kStart + 2 * kSecondMs, 8, "0"));  // not synced
  const auto other = Again();
  const auto newest = other->LastMinutes("n1");
  ASSERT_TRUE(newest) << newest.error().message;
  ASSERT_THAT(*newest, SizeIs(2));
  EXPECT_EQ((*newest)[0].key, KeyOf("n1", "", "slurm/17"));
  EXPECT_THAT((*newest)[1].points,
              ElementsAre(core::Point{kStart, 1}, core::Point{kStart + kSecondMs, 2}));
  for (int minute = 1; minute <= 3; ++minute) {
    Append(BatchOf(kStart + minute * kMinuteMs, minute, "0"));
    Sync();
  }
  const auto later = other->LastMinutes("n1");
  ASSERT_TRUE(later) << later.error().message;
  ASSERT_THAT(*later, SizeIs(1)) << "nothing new of the job";
  EXPECT_EQ((*later)[0].points.back(), (core::Point{kStart + 3 * kMinuteMs, 3}));
  EXPECT_THAT(*other->LastMinutes("n3"), IsEmpty());
}

TEST_F(Contract, ARangeTakesItsBeginAndLeavesItsEnd) {
  Fill(400);
  const auto points = Read(KeyOf("n1"), {kStart + 100 * kSecondMs, kStart + 200 * kSecondMs});
  ASSERT_THAT(points, SizeIs(100));
  EXPECT_EQ(points.front().value, 100);
  EXPECT_EQ(points.back().value, 199);
  EXPECT_THAT(Read(KeyOf("n1"), {kStart + 5, kStart + 5}), IsEmpty());
  EXPECT_THAT(Read(KeyOf("n1"), {kStart + 9, kStart}), IsEmpty());
}

TEST_F(Contract, ASeriesThatIsNotThereIsEmpty) {
  EXPECT_THAT(Read(KeyOf("nobody")), IsEmpty());
  EXPECT_THAT(Chart(), IsEmpty());
  EXPECT_THAT(List(), IsEmpty());
}

TEST_F(Contract, TheLastWriterOfATimeWins) {
  Append(BatchOf(kStart, 1));
  Append(BatchOf(kStart, 2));
  EXPECT_THAT(Read(), ElementsAre(core::Point{kStart, 2}));
  Sync();
  Append(BatchOf(kStart, 3));
  EXPECT_THAT(Read(), ElementsAre(core::Point{kStart, 3}));
  EXPECT_EQ(List().at(0).samples, 1);
  Sync();
  Fill(600, kStart + kSecondMs);  // long over: now it is a chunk
  auto other = Again();
  ASSERT_TRUE(other->Append("n1", BatchOf(kStart, 4)));
  ASSERT_TRUE(other->Sync());
  EXPECT_EQ(Read().front(), (core::Point{kStart, 4}));
  EXPECT_EQ(List().at(0).samples, 601);
  Fill(300, kStart + 601 * kSecondMs);
  EXPECT_EQ(Read().front(), (core::Point{kStart, 4}));
  EXPECT_EQ(List().at(0).samples, 901);
}

TEST_F(Contract, SamplesMayComeInAnyOrder) {
  std::map<core::UnixMillis, double> expected;
  for (std::uint64_t i = 0; i < 600; ++i) {
    const auto time =
        kStart + static_cast<core::UnixMillis>(core::Uniform(core::HashOf({i, 1})) * 1e7);
    expected[time] = static_cast<double>(i);
    Append(BatchOf(time, static_cast<double>(i)));
    if (i % 40 == 0) Sync();
  }
  const auto points = Read();
  ASSERT_EQ(points.size(), expected.size());
  std::size_t at = 0;
  for (const auto& [time, value] : expected) {
    EXPECT_EQ(points[at++], (core::Point{time, value}));
  }
  EXPECT_EQ(List().at(0).samples, static_cast<std::int64_t>(expected.size()));
}

TEST_F(Contract, TimesBefore1970AndAClockFarAhead) {
  for (const core::UnixMillis time :
       {std::int64_t{-90'000'001}, std::int64_t{-1}, std::int64_t{0}, kStart, 40 * kStart}) {
    Append(BatchOf(time, static_cast<double>(time)));
    Sync();
  }
  Fill(400, kStart + kMinuteMs);
  const auto points = Read();
  ASSERT_THAT(points, SizeIs(405));
  EXPECT_EQ(points[0].time, -90'000'001);
  EXPECT_EQ(points[2].time, 0);
  EXPECT_EQ(points.back().time, 40 * kStart);
  EXPECT_THAT(Read(KeyOf("n1"), {-1, 1}), SizeIs(2));
  const auto refused = store_->Append("n1", BatchOf(std::numeric_limits<std::int64_t>::max(), 1));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the clock of 'n1'"));
}

TEST_F(Contract, ValuesComeBackBitForBit) {
  const std::vector<double> values{0.1, -0.0, 1e308, 5e-324, 1.0 / 3, 123456789.125, -1e-9, 2};
  for (std::size_t i = 0; i < values.size(); ++i) {
    Append(BatchOf(kStart + static_cast<core::UnixMillis>(i), values[i]));
  }
  Sync();
  Fill(300, kStart + kMinuteMs);
  const auto points = Read();
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(std::signbit(points[i].value), std::signbit(values[i]));
    EXPECT_EQ(points[i].value, values[i]);
  }
}

TEST_F(Contract, ListTellsUnitKindExtentAndCount) {
  Append({kStart, {{&kPower, "0", "", 1}, {&kEnergy, "0", "", 2}, {&kPower, "1", "job-7", 3}}});
  Append({kStart + 10, {{&kPower, "0", "", 1}}}, "n2");
  Sync();
  Append({kStart + 5, {{&kEnergy, "0", "", 2}}});
  const auto infos = List();
  ASSERT_THAT(infos, SizeIs(4));
  EXPECT_EQ(infos[0].key, (SeriesKey{"n1", "gpu_energy_joules", "0", ""}));
  EXPECT_EQ(infos[0].kind, core::MetricKind::kCounter);
  EXPECT_EQ(infos[0].unit, "joules");
  EXPECT_EQ(infos[0].first, kStart);
  EXPECT_EQ(infos[0].last, kStart + 5);
  EXPECT_EQ(infos[0].samples, 2);
  EXPECT_EQ(infos[1].kind, core::MetricKind::kGauge);
  EXPECT_THAT(List({.node = "n2", .metric = {}, .instance = {}, .job = {}}), SizeIs(1));
  EXPECT_THAT(List({.node = {}, .metric = {}, .instance = {}, .job = "job-7"}), SizeIs(1));
  EXPECT_THAT(List({.node = {}, .metric = "gpu_power_watts", .instance = "0", .job = ""}),
              SizeIs(2));
  EXPECT_THAT(List({.node = "n3", .metric = {}, .instance = {}, .job = {}}), IsEmpty());
}

TEST_F(Contract, NamesFromOutsideCannotBreakIt) {
  const std::string odd = std::string("a\0b", 3) + "\xff\xc0\x80'; DROP TABLE series; --\n";
  ASSERT_TRUE(store_->Append(odd, BatchOf(kStart, 1, odd, odd + std::string(5000, 'x'))));
  Sync();
  const auto infos = List();
  ASSERT_THAT(infos, SizeIs(1));
  EXPECT_EQ(infos[0].key.node, "a?b??\?'; DROP TABLE series; --?");
  EXPECT_THAT(Read(KeyOf(odd, odd, odd + std::string(5000, 'x'))), SizeIs(1));
  EXPECT_THAT(Read(infos[0].key), SizeIs(1));
}

TEST_F(Contract, AChartHasTheExtremesOfItsBuckets) {
  Fill(1000);
  const auto buckets = Chart({kStart, kStart + 1000 * kSecondMs}, 10);
  ASSERT_THAT(buckets, SizeIs(10));
  EXPECT_EQ(buckets[3].time, kStart + 300 * kSecondMs);
  EXPECT_EQ(buckets[3].least, 300);
  EXPECT_EQ(buckets[3].most, 399);
  EXPECT_EQ(buckets[3].last, 399);
  EXPECT_DOUBLE_EQ(buckets[3].mean, 349.5);
  EXPECT_EQ(buckets[3].samples, 100);
  EXPECT_EQ(SamplesOf(Chart()), 1000);
  EXPECT_THAT(Chart({}, 1), SizeIs(1));
  EXPECT_THAT(Chart({}, 0), IsEmpty());
  EXPECT_EQ(SamplesOf(Chart({kStart, kStart + kMinuteMs}, 7)), 60);
}

TEST_F(Contract, AChartIsTheSameFromRollups) {
  // A sample every 20 s for five days: more minutes than a chart reads samples of.
  const int count = 5 * 4320;
  for (int i = 0; i < count; ++i) {
    Append(BatchOf(kStart + i * 20 * kSecondMs, i % 100));
    if (i % 2000 == 0) Sync();
  }
  Sync();
  const core::UnixMillis end = kStart + count * 20 * kSecondMs;
  const auto from_samples = Chart();
  Tidy(end);
  store_ = Again();
  const auto from_minutes = Chart();
  ASSERT_EQ(from_samples.size(), from_minutes.size());
  EXPECT_LE(from_minutes.size(), 1000u);
  for (std::size_t i = 0; i < from_minutes.size(); ++i) {
    EXPECT_EQ(from_samples[i].time, from_minutes[i].time);
    EXPECT_EQ(from_samples[i].least, from_minutes[i].least);
    EXPECT_EQ(from_samples[i].most, from_minutes[i].most);
    EXPECT_EQ(from_samples[i].last, from_minutes[i].last);
    EXPECT_EQ(from_samples[i].samples, from_minutes[i].samples);
    EXPECT_NEAR(from_samples[i].mean, from_minutes[i].mean, 1e-9);
  }
  // Zoomed in it is samples again.
  EXPECT_EQ(Chart({kStart + kDayMs, kStart + kDayMs + kHourMs}, 1000).size(), 180u);
}

TEST_F(Contract, RetentionLeavesRollupsThenNothing) {
  for (int i = 0; i < 3 * 1440; ++i) Append(BatchOf(kStart + i * kMinuteMs, i));
  Append(BatchOf(kStart, 7), "n2");
  Sync();
  const core::UnixMillis end = kStart + 3 * kDayMs;
  Retention retention;
  retention.raw = core::Seconds(86400);
  Tidy(end, retention);
  const auto points = Read();
  ASSERT_FALSE(points.empty());
  EXPECT_EQ(points.front().time, end - kDayMs);
  EXPECT_EQ(List().at(0).samples, 1440);
  EXPECT_EQ(List().at(0).first, kStart);
  EXPECT_EQ(SamplesOf(Chart()), 3 * 1440);
  EXPECT_EQ(Chart({}, 3 * 1440).size(), 3 * 1440u);

  retention.minutes = core::Seconds(86400);
  Tidy(end, retention);
  EXPECT_EQ(SamplesOf(Chart()), 3 * 1440);
  EXPECT_EQ(Chart({}, 3 * 1440).size(), 1440u + 48);

  retention.hours = core::Seconds(86400);
  Tidy(end + 2 * kDayMs, retention);
  EXPECT_THAT(Read(), IsEmpty());
  EXPECT_THAT(List({.node = "n2", .metric = {}, .instance = {}, .job = {}}), IsEmpty());
  Tidy(end + 30 * kDayMs, retention);
  EXPECT_THAT(List(), IsEmpty());
  // And the series may come again, in this object, which knew its id.
  Append(BatchOf(end, 5));
  Sync();
  EXPECT_THAT(Read(), ElementsAre(core::Point{end, 5}));
}

TEST_F(Contract, LateSamplesCountInRollupsOnce) {
  Fill(3600);
  Append(BatchOf(kStart + 2 * kHourMs, 1));
  Sync();
  Retention retention;
  retention.raw = core::Seconds(1800);
  const core::UnixMillis now = kStart + 3 * kHourMs;
  Tidy(now, retention);
  EXPECT_THAT(Read(KeyOf("n1"), {kStart, kStart + kHourMs}), IsEmpty());
  EXPECT_EQ(SamplesOf(Chart({kStart, kStart + kHourMs})), 3600);
  for (int i = 0; i < 3; ++i) {
    Append(BatchOf(kStart + 30 * kSecondMs + 1 + i, 1e6));
    Sync();
    EXPECT_EQ(SamplesOf(Chart({kStart, kStart + kHourMs})), 3601 + i);
    Tidy(now + kHourMs, retention);
    EXPECT_EQ(SamplesOf(Chart({kStart, kStart + kHourMs})), 3601 + i);
  }
  EXPECT_EQ(Chart({kStart, kStart + kHourMs}, 60).at(0).most, 1e6);
}

TEST_F(Contract, RemoveTakesARangeOfSomeSeries) {
  Fill(1000);
  Append(BatchOf(kStart, 1), "n2");
  const SeriesFilter n1{.node = "n1", .metric = {}, .instance = {}, .job = {}};
  const auto removed = store_->Remove(n1, {kStart + 90 * kSecondMs, kStart + 910 * kSecondMs});
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(*removed, 820);
  const auto points = Read();
  ASSERT_THAT(points, SizeIs(180));
  EXPECT_EQ(points[89].value, 89);
  EXPECT_EQ(points[90].value, 910);
  EXPECT_EQ(SamplesOf(Chart()), 180);
  EXPECT_EQ(List(n1).at(0).samples, 180);

  EXPECT_EQ(store_->Remove(n1, {kStart, kStart + 920 * kSecondMs}).value(), 100);
  EXPECT_EQ(List(n1).at(0).first, kStart + 920 * kSecondMs);
  EXPECT_EQ(store_->Remove(n1, {kStart + 990 * kSecondMs, kStart + kHourMs}).value(), 10);
  EXPECT_EQ(List(n1).at(0).last, kStart + 989 * kSecondMs);
  EXPECT_EQ(store_->Remove(n1, {}).value(), 70);
  EXPECT_THAT(List(n1), IsEmpty());
  EXPECT_THAT(List(), SizeIs(1));
  EXPECT_EQ(store_->Remove(n1, {}).value(), 0);
}

TEST_F(Contract, RemoveTakesRollupsToo) {
  Fill(2 * 3600);
  const core::UnixMillis now = kStart + kDayMs;
  Retention retention;
  retention.raw = core::Seconds(3600);
  Tidy(now, retention);
  ASSERT_EQ(SamplesOf(Chart()), 7200);
  // From the middle of one minute to that of another: both go.
  ASSERT_TRUE(store_->Remove({}, {kStart + 90 * kSecondMs, kStart + kHourMs + 90 * kSecondMs}));
  EXPECT_EQ(SamplesOf(Chart()), 7200 - 3660);
  ASSERT_TRUE(store_->Remove({}, {}));
  EXPECT_THAT(List(), IsEmpty());
  EXPECT_THAT(Chart(), IsEmpty());
}

TEST_F(Contract, AnotherWriterLearnsThatASeriesWasRemoved) {
  auto other = Again();
  ASSERT_TRUE(other->Append("n1", BatchOf(kStart, 1)));
  ASSERT_TRUE(other->Sync());
  ASSERT_TRUE(store_->Remove({}, {}));
  EXPECT_THAT(List(), IsEmpty());
  ASSERT_TRUE(other->Append("n1", BatchOf(kStart + 1, 2)));
  ASSERT_TRUE(other->Sync());
  EXPECT_THAT(Read(), ElementsAre(core::Point{kStart + 1, 2}));
}

TEST_F(Contract, ANewerSchemaIsRefusedByName) {
  place_->Run("UPDATE meta SET value = '99' WHERE name = 'schema'");
  place_->Run("UPDATE meta SET value = 'sharewell 9.9' WHERE name = 'written_by'");
  const auto opened = Open(place_->where());
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("written by 'sharewell 9.9' with schema 99"));
  EXPECT_THAT(opened.error().message, HasSubstr("update sharewell"));
}

TEST_F(Contract, AnOlderSchemaIsBroughtUpToDate) {
  Append(BatchOf(kStart, 1));
  Sync();
  for (const char* table : {"profile", "job", "job_event", "shared_run", "kept", "learnt_graph",
                            "learnt_run", "learnt_model", "job_told", "job_speed"}) {
    place_->Run(std::string("DROP TABLE ") + table);
  }
  place_->Run("UPDATE meta SET value = '1' WHERE name = 'schema'");
  store_ = Again();
  EXPECT_THAT(Read(), SizeIs(1));
  EXPECT_TRUE(store_->Save({}));
}

TEST_F(Contract, DamagedChunksAreSaidAndCanBeRemoved) {
  Fill(400);
  place_->Run("UPDATE chunk SET data = 'x'");
  const auto points = store_->Read(KeyOf("n1"), {});
  ASSERT_FALSE(points);
  EXPECT_THAT(points.error().message, HasSubstr("2023-11-14"));
  EXPECT_THAT(points.error().message, HasSubstr("damaged"));
  Fill(300, kStart + 400 * kSecondMs);
  ASSERT_TRUE(store_->Remove({}, {}));
  Fill(10);
  EXPECT_THAT(Read(), SizeIs(10));
}

core::ProfileRecord Record(const std::string& name) {
  core::ProfileRecord record;
  record.name = name;
  record.created = kStart;
  record.source = "profile";
  record.profile.workload = {"tv:resnet50@224", 64, "bf16", 8};
  record.profile.gpu = "H200";
  record.profile.steps_per_second = 27.8;
  record.profile.cpu_curve = {{1, 0.4}, {2, 1.0 / 3}};
  record.command = {"python3", "train.py"};
  record.environment = {{"node", "n1"}, {"gpu", "H200"}};
  record.figures = {
      {.metric = "gpu_power_watts", .instance = "0", .unit = "watts", .mean = 0.1, .readings = 30}};
  record.kernels.resize(1);
  record.kernels[0].name = "gemm";
  record.kernels[0].sm = 0.5;
  record.exit_code = 0;
  return record;
}

TEST_F(Contract, ProfilesAreKeptExactlyAndReplaced) {
  auto record = Record("a");
  const auto id = store_->Save(record);
  ASSERT_TRUE(id) << id.error().message;
  store_ = Again();
  auto kept = store_->Profiles({});
  ASSERT_TRUE(kept) << kept.error().message;
  record.id = *id;
  EXPECT_THAT(*kept, ElementsAre(record));
  record.notes = {"no PMU here"};
  EXPECT_EQ(store_->Save(record).value(), *id);
  EXPECT_THAT(store_->Profiles({}).value(), ElementsAre(record));
}

TEST_F(Contract, ProfilesAreFoundByWhatTheyAre) {
  const auto a = store_->Save(Record("a")).value(), b = store_->Save(Record("b")).value();
  EXPECT_NE(a, b);
  ProfileFilter filter;
  filter.name = "b";
  EXPECT_THAT(store_->Profiles(filter).value(), SizeIs(1));
  filter.gpu = "V100";
  EXPECT_THAT(store_->Profiles(filter).value(), IsEmpty());
  filter = {};
  filter.id = a;
  filter.workload = "tv:resnet50@224";
  filter.source = "profile";
  EXPECT_EQ(store_->Profiles(filter).value().at(0).name, "a");
  const std::int64_t ids[] = {a, 12345, b, b};
  EXPECT_EQ(store_->RemoveProfiles(ids).value(), 2);
  EXPECT_THAT(store_->Profiles({}).value(), IsEmpty());
  auto gone = Record("c");
  gone.id = a;
  EXPECT_GT(store_->Save(gone).value(), b);  // better a new one than none
}

TEST_F(Contract, AppendFailsOnlyAboveTheBound) {
  core::Batch batch{kStart, {}};
  for (int i = 0; i < 2000; ++i)
    batch.readings.push_back({&kPower, std::to_string(i), "", 1.0 * i});
  core::Result<void> done;
  std::size_t taken = 0;
  for (; done && taken < 5000; ++taken) {
    batch.time += 1000;
    done = store_->Append("n1", batch);
  }
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("64 MiB"));
  --taken;
  EXPECT_GT(taken, 800u);
  Sync();
  EXPECT_EQ(List().at(0).samples, static_cast<std::int64_t>(taken));
  Append(batch);
}

}  // namespace
}  // namespace sharewell::store
