#include "predict/learn/judge/split.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/result.h"
#include "predict/learn/sample.h"

namespace sharewell::predict::learn {
namespace {

// `fold_of` by row.
std::vector<Split> Folds(const std::vector<std::size_t>& fold_of, std::size_t folds) {
  std::vector<Split> out(folds);
  for (std::size_t row = 0; row < fold_of.size(); ++row) {
    for (std::size_t fold = 0; fold < folds; ++fold) {
      (fold_of[row] == fold ? out[fold].test : out[fold].train).push_back(row);
    }
  }
  return out;
}

std::map<std::string, std::size_t> Sizes(std::span<const std::string> groups) {
  std::map<std::string, std::size_t> sizes;
  for (const std::string& group : groups) ++sizes[group];
  return sizes;
}

}  // namespace

Split ShuffledSplit(std::size_t rows, double test_share, std::uint64_t seed) {
  SHAREWELL_CHECK(rows >= 2);
  const std::size_t held_out = std::min(ShareOf(rows, test_share), rows - 1);
  std::vector<std::size_t> fold_of(rows, 1);
  for (std::size_t row : Sample(rows, held_out, seed)) fold_of[row] = 0;
  return std::move(Folds(fold_of, 2).front());
}

std::vector<Split> RandomFolds(std::size_t rows, std::size_t folds, std::uint64_t seed) {
  SHAREWELL_CHECK(rows >= 2 && folds >= 2);
  folds = std::min(folds, rows);
  std::vector<std::size_t> fold_of(rows);
  const auto order = Shuffled(rows, seed);
  for (std::size_t i = 0; i < rows; ++i) fold_of[order[i]] = i % folds;
  return Folds(fold_of, folds);
}

std::vector<Split> GroupFolds(std::span<const std::string> groups, std::size_t folds) {
  const auto sizes = Sizes(groups);
  SHAREWELL_CHECK(sizes.size() >= 2 && folds >= 2);
  folds = std::min(folds, sizes.size());
  std::vector<std::pair<std::string, std::size_t>> largest_first(sizes.begin(), sizes.end());
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::size_t> filled(folds);
  std::map<std::string, std::size_t> fold_of_group;
  for (const auto& [group, size] : largest_first) {
    const auto least = std::min_element(filled.begin(), filled.end());
    fold_of_group[group] = static_cast<std::size_t>(least - filled.begin());
    *least += size;
  }
  std::vector<std::size_t> fold_of;
  for (const std::string& group : groups) fold_of.push_back(fold_of_group.at(group));
  return Folds(fold_of, folds);
}

std::vector<Split> LeaveOneGroupOut(std::span<const std::string> groups) {
  std::map<std::string, std::size_t> fold_of_group = Sizes(groups);
  SHAREWELL_CHECK(fold_of_group.size() >= 2);
  std::size_t next = 0;
  for (auto& [group, fold] : fold_of_group) fold = next++;
  std::vector<std::size_t> fold_of;
  for (const std::string& group : groups) fold_of.push_back(fold_of_group.at(group));
  return Folds(fold_of, next);
}

}  // namespace sharewell::predict::learn
