#include "platform/clock/wall_clock.h"

#include <chrono>

namespace sharewell::platform {

core::UnixMillis UnixNow() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::system_clock;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::int64_t UnixMicrosNow() {
  using std::chrono::duration_cast, std::chrono::microseconds, std::chrono::system_clock;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace sharewell::platform
