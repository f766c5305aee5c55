// Any bytes as pods: refused with a reason, or changed so that a second time adds nothing.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/kubernetes/pods/pod_inject.h"

namespace engine = sharewell::engine;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const engine::WatcherContents watcher = {{"sitecustomize.py", "\"a\"\n"}, {"b/c.py", ""}};
  const auto pods = engine::InjectPods(text, "sharewell", watcher);
  if (!pods) {
    if (pods.error().message.empty()) __builtin_trap();
    return 0;
  }
  const auto again = engine::InjectPods(*pods, "sharewell", watcher);
  if (!again || *again != *pods) __builtin_trap();
  return 0;
}
