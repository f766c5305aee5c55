// Which rows are learnt from and which are held out. Pure functions of their arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sharewell::predict::learn {

// Rows by number, both ascending, none in both.
struct Split {
  std::vector<std::size_t> train;
  std::vector<std::size_t> test;
  friend bool operator==(const Split&, const Split&) = default;
};

// A share of the rows held out, drawn by the seed: at least one, and one at least is left.
// REQUIRES two rows.
Split ShuffledSplit(std::size_t rows, double test_share, std::uint64_t seed);

// Every row is held out in exactly one of the folds, whose sizes differ by one at most. As many
// folds as rows where there are fewer rows. REQUIRES two rows and two folds.
std::vector<Split> RandomFolds(std::size_t rows, std::size_t folds, std::uint64_t seed);

// Every group is held out whole in exactly one fold: the largest group first (ties: by name), each
// to the fold with the fewest rows (ties: the first). As many folds as groups where there are fewer
// groups. REQUIRES two groups and two folds.
std::vector<Split> GroupFolds(std::span<const std::string> groups, std::size_t folds);

// One fold a group, by name.
std::vector<Split> LeaveOneGroupOut(std::span<const std::string> groups);

}  // namespace sharewell::predict::learn
