// GroupedTimes: waiting and completion of jobs by their size and by their user. A mean over all
// jobs hides who pays for it; these figures show it. Pure; one pass over the jobs.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sharewell::simulation {

// Unknown is absent: a mean of nothing is not 0.
struct GroupTimes {
  std::string name;  // of sizes one of kSizes; of users their name
  std::size_t jobs = 0;
  std::optional<double> wait_mean, wait_p99;  // submission to first start, seconds
  std::optional<double> jct_mean, jct_p99;    // submission to finish, seconds

  friend bool operator==(const GroupTimes&, const GroupTimes&) = default;
};

struct JobSize {
  std::string_view name;      // in JSON
  std::string_view in_words;  // "jobs of ..."
  int most;                   // GPUs
};

// In the order in which they are shown. Jobs without GPUs compete for other things and stand last.
inline constexpr std::array<JobSize, 5> kSizes = {{{"1", "1 GPU", 1},
                                                   {"2-4", "2-4 GPUs", 4},
                                                   {"5-8", "5-8 GPUs", 8},
                                                   {"9+", "more than 8 GPUs", 1 << 30},
                                                   {"cpu", "CPU only", 0}}};

std::size_t SizeOf(int gpus);                    // index in kSizes
std::string_view SizeInWords(std::string_view);  // by name; of an unknown one, itself

class GroupedTimes {
 public:
  // Seconds since submission; absent: it has not started, it did not finish.
  void Add(std::size_t user, int gpus, std::optional<double> wait, std::optional<double> jct);

  // In the order of kSizes; those without jobs are left out.
  std::vector<GroupTimes> BySize() const;
  // Longest mean wait first, equals by name. `names`: by the number given to Add.
  std::vector<GroupTimes> ByUser(const std::vector<std::string>& names) const;

 private:
  struct Group {
    std::size_t jobs = 0;
    std::vector<double> waits, completions;
  };
  static GroupTimes TimesOf(std::string_view name, const Group& group);

  std::array<Group, kSizes.size()> sizes_;
  std::vector<Group> users_;
};

}  // namespace sharewell::simulation
