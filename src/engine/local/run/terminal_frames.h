// What a job's terminal (supervise/terminal.h) and its client (cli/client/job_terminal.h) say to
// each other over the socket in the job's folder: frames of a type, a length and bytes
// (docs/formats/jobs.md). Nothing but libc: the supervisor includes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sharewell::engine {

enum class FrameType : char {
  // From the client.
  kBegin = 'b',  // first, once: window size (4 bytes), and 1 where it is no terminal itself
  kSize = 'w',   // rows and columns, 2 bytes each
  kInput = 'i',
  // To the client.
  kOutput = 'o',
  kExit = 'x',  // last: exit code (4 bytes), and 1 where the server knows more about its end
};

// All numbers are little-endian.
constexpr std::size_t kFrameHead = 5;  // type, and how many bytes follow
constexpr std::size_t kMostFrame = 16384;

inline void PutNumber(char* to, std::size_t bytes, std::uint32_t value) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<char>(value >> (8 * i) & 0xff);
}
inline std::uint32_t GetNumber(const char* from, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= std::uint32_t{static_cast<unsigned char>(from[i])} << (8 * i);
  }
  return value;
}
// REQUIRES: size <= kMostFrame.
inline void PutFrameHead(char* to, FrameType type, std::size_t size) {
  to[0] = static_cast<char>(type);
  PutNumber(to + 1, 4, static_cast<std::uint32_t>(size));
}

struct Frame {
  FrameType type = FrameType::kInput;
  const char* bytes = nullptr;  // until the next Take
  std::size_t size = 0;
};

// Whole frames out of bytes that come in any pieces. Holds one frame at most.
class FrameReader {
 public:
  enum class Found : std::uint8_t { kFrame, kNothing, kWrong };

  // Where to read to. At least one byte after a Take that found nothing.
  char* room() { return bytes_ + filled_; }
  std::size_t room_size() const { return sizeof bytes_ - filled_; }
  void Added(std::size_t count) { filled_ += count; }

  // kWrong: whoever sends this does not speak our language; nothing more can be read.
  Found Take(Frame& out) {
    if (taken_ > 0) std::memmove(bytes_, bytes_ + taken_, filled_ - taken_);
    filled_ -= taken_;
    taken_ = 0;
    if (filled_ < kFrameHead) return Found::kNothing;
    const std::size_t size = GetNumber(bytes_ + 1, 4);
    if (!IsRight(bytes_[0], size)) return Found::kWrong;
    if (filled_ < kFrameHead + size) return Found::kNothing;
    taken_ = kFrameHead + size;
    out = {static_cast<FrameType>(bytes_[0]), bytes_ + kFrameHead, size};
    return Found::kFrame;
  }

 private:
  static bool IsRight(char type, std::size_t size) {
    switch (static_cast<FrameType>(type)) {
      case FrameType::kBegin:
      case FrameType::kExit:
        return size == 5;
      case FrameType::kSize:
        return size == 4;
      case FrameType::kInput:
      case FrameType::kOutput:
        return size <= kMostFrame;
    }
    return false;
  }

  char bytes_[kFrameHead + kMostFrame];
  std::size_t filled_ = 0, taken_ = 0;
};

}  // namespace sharewell::engine
