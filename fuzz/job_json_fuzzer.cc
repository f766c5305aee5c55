// Any bytes as a job or a submission: read, or refused with a reason. One that is read is written
// and read again as the same; so is a history of speeds. A seal fits its own record and number, and
// no other.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "store/job_store.h"
#include "store/jobs/seal.h"
#include "store/jobs/sql_speeds.h"

namespace store = sharewell::store;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto job = store::JobFromJson(text)) {
    // A name that was empty is the shown one from then on.
    const std::string once = store::JobToJson(*job);
    const auto again = store::JobFromJson(once);
    if (!again || store::JobToJson(*again) != once) __builtin_trap();
  } else if (job.error().message.empty()) {
    __builtin_trap();
  }
  const store::Seal seal(std::string(64, 'a'), "0123456789abcdef");
  const std::string made = seal.Of(7, text);
  if (!seal.Matches(7, text, made) || seal.Matches(8, text, made) || seal.Matches(7, text, text)) {
    __builtin_trap();
  }
  std::string other(text);
  other += 'x';
  if (seal.Matches(7, other, made)) __builtin_trap();
  if (const auto asked = store::SubmissionFromJson(text)) {
    const auto again = store::SubmissionFromJson(store::SubmissionToJson(*asked));
    if (!again || !(*again == *asked)) __builtin_trap();
  } else if (asked.error().message.empty()) {
    __builtin_trap();
  }
  if (const auto speed = store::SpeedFromJson(text)) {
    const auto again = store::SpeedFromJson(store::SpeedToJson(*speed));
    if (!again || again->points() != speed->points()) __builtin_trap();
  }
  return 0;
}
