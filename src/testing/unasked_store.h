// UnaskedStore: a Store that answers nothing. Tests answer what they ask for themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/store.h"

namespace sharewell::fixtures {

class UnaskedStore : public store::Store {
 public:
  core::Result<void> Append(const std::string&, const core::Batch&) override { return Unasked(); }
  core::Result<void> Sync() override { return Unasked(); }
  core::Result<void> Tidy(core::UnixMillis, const store::Retention&) override { return Unasked(); }
  core::Result<std::vector<store::SeriesInfo>> List(const store::SeriesFilter&) override {
    return Unasked();
  }
  core::Result<std::vector<core::Point>> Read(const store::SeriesKey&, store::TimeRange) override {
    return Unasked();
  }
  core::Result<std::vector<store::SeriesPoints>> LastMinutes(const std::string&) override {
    return Unasked();
  }
  core::Result<std::vector<store::Bucket>> Chart(const store::SeriesKey&, store::TimeRange,
                                                 std::size_t) override {
    return Unasked();
  }
  core::Result<std::int64_t> Remove(const store::SeriesFilter&, store::TimeRange) override {
    return Unasked();
  }
  core::Result<std::int64_t> Save(const core::ProfileRecord&) override { return Unasked(); }
  core::Result<std::vector<core::ProfileRecord>> Profiles(const store::ProfileFilter&) override {
    return Unasked();
  }
  core::Result<std::int64_t> RemoveProfiles(std::span<const std::int64_t>) override {
    return Unasked();
  }
  core::Result<void> SaveTold(const std::string&, const core::JobTold&) override {
    return Unasked();
  }
  core::Result<std::vector<store::ToldHead>> ToldOn(const std::string&) override {
    return Unasked();
  }
  core::Result<std::optional<core::JobTold>> ReadTold(std::int64_t) override { return Unasked(); }

 private:
  static tl::unexpected<core::Error> Unasked() { return core::FailedError("not asked here"); }
};

}  // namespace sharewell::fixtures
