// Any bytes as a job or a submission: read, or refused with a reason. One that is read is written
// and read again as the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "store/job_store.h"

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
  if (const auto asked = store::SubmissionFromJson(text)) {
    const auto again = store::SubmissionFromJson(store::SubmissionToJson(*asked));
    if (!again || !(*again == *asked)) __builtin_trap();
  } else if (asked.error().message.empty()) {
    __builtin_trap();
  }
  return 0;
}
