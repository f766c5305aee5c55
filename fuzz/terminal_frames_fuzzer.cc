// What a job's terminal or its client hears on their socket. The first byte says into how large
// pieces it was cut; however that is, the same frames come out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/local/run/terminal_frames.h"

namespace {

using sharewell::engine::Frame;
using sharewell::engine::FrameReader;

std::string Frames(std::string_view text, std::size_t step) {
  static FrameReader reader;
  reader = FrameReader();
  std::string all;
  auto found = FrameReader::Found::kNothing;
  while (!text.empty() && found != FrameReader::Found::kWrong) {
    const std::size_t n = std::min({step, reader.room_size(), text.size()});
    if (n == 0) __builtin_trap();  // nothing could ever be read any more
    text.copy(reader.room(), n);
    reader.Added(n);
    text.remove_prefix(n);
    Frame frame;
    for (found = reader.Take(frame); found == FrameReader::Found::kFrame;
         found = reader.Take(frame)) {
      if (frame.size > sharewell::engine::kMostFrame) __builtin_trap();
      all += static_cast<char>(frame.type);
      all.append(frame.bytes, frame.size);
    }
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (Frames(text, data[0] + std::size_t{1}) != Frames(text, text.size() + 1)) __builtin_trap();
  return 0;
}
