// Any bytes as an AdmissionReview: no review, or an answer that is one and says why it refuses.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/kubernetes/webhook/admit_pod.h"
#include "json/text.h"
#include "json/value.h"

namespace engine = sharewell::engine;
namespace json = sharewell::json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const engine::WatcherContents watcher = {{"sitecustomize.py", "\"a\"\n"}, {"b/c.py", ""}};
  const auto answer = engine::AdmitPod(text, {}, watcher);
  if (!answer) {
    if (answer.error().message.empty()) __builtin_trap();
    return 0;
  }
  const auto parsed = json::Document::Parse(*answer);
  const json::Value response = json::RootOf(parsed)["response"];
  const auto allowed = response["allowed"].Bool();
  if (!allowed || response["uid"].Text().value_or("").empty()) __builtin_trap();
  if (!*allowed && response["status"]["message"].Text().value_or("").empty()) __builtin_trap();
  if (const auto patch = response["patch"].Text()) {
    const auto plain = json::FromBase64(*patch);
    if (!plain || !json::Document::Parse(*plain)) __builtin_trap();
  }
  return 0;
}
