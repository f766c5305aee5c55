// SubordinateUids: whose uid it is that /etc/subuid gives out by the thousand. The owner of such a
// range can be each of them (newuidmap, rootless containers), so all of them are one person.
//
// One thread. The file is read again when it has changed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sharewell::platform {

// A line of the file: "ann:100000:65536".
struct SubordinateRange {
  std::string owner;  // a name, or a number
  std::uint32_t first = 0, count = 0;
};
// What is no such line is left out.
std::vector<SubordinateRange> ReadSubordinateRanges(std::string_view text);

class SubordinateUids {
 public:
  explicit SubordinateUids(std::string path = "/etc/subuid") : path_(std::move(path)) {}
  // The uid of its range's owner. Itself where it has an account of its own, lies in no range, or
  // its owner is not known here.
  std::uint32_t OwnerOf(std::uint32_t uid);

 private:
  void ReadAgain();

  std::string path_;
  timespec changed_{};
  off_t size_ = -1;
  std::vector<SubordinateRange> ranges_;
};

}  // namespace sharewell::platform
