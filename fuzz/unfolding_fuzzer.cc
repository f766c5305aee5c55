// ONNX files that are short and unfold (graph/onnx/unfolding.h), then with single bytes changed:
// each is read or refused with a reason, within the memory and the time that the fuzzer has.
//
// Eight bytes of a seed, two of a length, then changes: three bytes of a place and one of a value.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "graph/onnx/onnx.h"
#include "graph/onnx/unfolding.h"
#include "graph_promises.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sharewell::graph;
  constexpr std::size_t kHead = 10, kChange = 4;
  if (size < kHead) return 0;
  std::uint64_t seed = 0;
  std::memcpy(&seed, data, sizeof seed);
  const std::size_t length = 256 + (data[8] | std::size_t{data[9]} << 8);
  std::string bytes = onnx::Unfolding(seed, length).Bytes();
  for (std::size_t at = kHead; at + kChange <= size; at += kChange) {
    const std::size_t place =
        data[at] | std::size_t{data[at + 1]} << 8 | std::size_t{data[at + 2]} << 16;
    bytes[place % bytes.size()] = static_cast<char>(data[at + 3]);
  }
  CheckPromises(ReadOnnx(bytes, "unfolds", {.batch = 2, .named = {}}));
  return 0;
}
