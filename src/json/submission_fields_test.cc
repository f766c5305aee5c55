#include "json/submission_fields.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "testing/job_records.h"

namespace sharewell::json {
namespace {

// That every field is listed is checked by the compiler; that each is listed under one name, here.
struct Names {
  std::set<std::string> keys = {}, job_keys = {}, specs = {};
  int fields = 0;

  template <class T>
  void operator()(const Field& field, const T&) {
    ++fields;
    keys.insert(field.key);
    job_keys.insert(field.job_key == nullptr ? field.key : field.job_key);
    if (*field.spec != '\0') specs.insert(field.spec);
  }
};

TEST(SubmissionFields, NoNameComesTwice) {
  Names names;
  EachField(core::Submission{}, names);
  EXPECT_EQ(names.fields, 29);
  EXPECT_EQ(names.keys.size(), 29u);
  EXPECT_EQ(names.job_keys.size(), 29u);
  EXPECT_EQ(names.specs.size(), 28u);
  Names of_needs;
  of_needs.specs = names.specs;  // a spec has both in one
  EachField(core::Needs{}, of_needs);
  EXPECT_EQ(of_needs.fields, 35);
  EXPECT_EQ(of_needs.keys.size(), 35u);
  EXPECT_EQ(of_needs.specs.size(), 63u);
}

// What the tests of the formats stand on: a field that is forgotten there cannot go unnoticed.
template <class T>
void ExpectNothingIsDefault(const T& full) {
  std::vector<std::string> same;
  const T empty;
  EachField(full, [&](const Field& field, const auto& value) {
    EachField(empty, [&](const Field& other, const auto& its) {
      if constexpr (std::is_same_v<decltype(value), decltype(its)>) {
        if (std::string_view(field.key) == other.key && value == its) same.push_back(field.key);
      }
    });
  });
  EXPECT_EQ(same, std::vector<std::string>());
}

TEST(SubmissionFields, TheFixtureHasNoDefaults) {
  ExpectNothingIsDefault(sharewell::testing::FullSubmission());
  ExpectNothingIsDefault(sharewell::testing::FullNeeds());
}

}  // namespace
}  // namespace sharewell::json
