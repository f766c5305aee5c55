// Any bytes as a kubeconfig: read, or refused with a reason. What is read has credentials, and what
// it is told to read was named in the text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/kubernetes/api/kube_access.h"

namespace engine = sharewell::engine;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto access = engine::ParseKubeconfig(
      text, "", [](const std::string& path) -> sharewell::core::Result<std::string> {
        if (path.empty()) __builtin_trap();
        return "pem";
      });
  if (!access) {
    if (access.error().message.empty()) __builtin_trap();
    return 0;
  }
  if (access->token.empty() && access->token_file.empty() && access->certificate_pem.empty()) {
    __builtin_trap();
  }
  return 0;
}
