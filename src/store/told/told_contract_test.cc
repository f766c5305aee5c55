// What jobs told of themselves, on every kind of store.
#include <gmock/gmock.h>

#include "store/store.h"
#include "store/test_place.h"

namespace sharewell::store {
namespace {

class ToldContract : public ::testing::Test {
 protected:
  ToldContract() : place_(NewTestPlace()) {
    auto opened = Open(place_->where());
    EXPECT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  void Save(const core::JobTold& told, const std::string& node = "n1") {
    const auto saved = store_->SaveTold(node, told);
    ASSERT_TRUE(saved) << saved.error().message;
  }
  std::vector<ToldHead> On(const std::string& node = "n1") {
    const auto heads = store_->ToldOn(node);
    EXPECT_TRUE(heads) << heads.error().message;
    return heads.value_or(std::vector<ToldHead>());
  }
  static core::JobTold Of(const std::string& job, core::UnixMillis time = 1'000'000) {
    return {job, time, true, "{\"a\":1}", ""};
  }

  std::unique_ptr<TestPlace> place_;
  std::unique_ptr<Store> store_;
};

TEST_F(ToldContract, ByteForByteAndTheNewestOfEachJobAlone) {
  EXPECT_TRUE(On().empty());
  Save(Of("slurm/17"));
  Save(Of("slurm/18"));
  Save(Of("slurm/17"), "n2");
  core::JobTold newer = Of("slurm/17", 1'000'500);
  newer.document = std::string("\0\xff'\n", 4) + std::string(256 << 10, 'x');
  newer.off = "\x80 it failed";
  newer.counts_steps = false;
  Save(newer);
  const auto heads = On();
  ASSERT_EQ(heads.size(), 2U);
  EXPECT_EQ(heads[0].job, "slurm/18");
  EXPECT_EQ(heads[1].job, "slurm/17");
  EXPECT_EQ(heads[1].time, 1'000'500);
  EXPECT_EQ(store_->ReadTold(heads[1].id).value(), newer);
  EXPECT_EQ(store_->ReadTold(heads[1].id + 7).value(), std::nullopt);
  ASSERT_EQ(On("n2").size(), 1U);
  Save(newer);
  EXPECT_NE(On()[1].id, heads[1].id) << "told again is news";
}

TEST_F(ToldContract, OfANodeTheNewestAreKeptForADay) {
  for (int job = 1; job <= 70; ++job) Save(Of("slurm/" + std::to_string(job)));
  auto heads = On();
  ASSERT_EQ(heads.size(), 64U);
  EXPECT_EQ(heads.front().job, "slurm/7");
  constexpr core::UnixMillis kDay = 24 * 3'600'000;
  Save(Of("slurm/99", 1'000'001 + kDay));
  ASSERT_EQ(On().size(), 1U);
  Save(Of("slurm/1"), "gone");
  ASSERT_TRUE(store_->Tidy(1'000'001 + kDay, {}));
  EXPECT_TRUE(On("gone").empty());
  EXPECT_EQ(On().size(), 1U);
}

}  // namespace
}  // namespace sharewell::store
