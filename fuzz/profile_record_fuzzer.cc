// Any bytes as a stored profile: read, or refused with a reason. One that is read is written and
// read again as the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "store/profiles/profile_json.h"

namespace store = sharewell::store;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto record =
      store::ProfileFromJson(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!record) {
    if (record.error().message.empty()) __builtin_trap();
    return 0;
  }
  const std::string text = store::ProfileToJson(*record);
  const auto again = store::ProfileFromJson(text);
  if (!again || store::ProfileToJson(*again) != text || !(*again == *record)) __builtin_trap();
  return 0;
}
