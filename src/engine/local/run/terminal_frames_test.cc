#include "engine/local/run/terminal_frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sharewell::engine {
namespace {

std::string FrameText(FrameType type, const std::string& bytes) {
  char head[kFrameHead];
  PutFrameHead(head, type, bytes.size());
  return std::string(head, sizeof head) + bytes;
}

// All frames of `text`, which comes in pieces of `step` bytes.
std::vector<std::string> Frames(const std::string& text, std::size_t step, bool& wrong) {
  FrameReader reader;
  std::vector<std::string> all;
  wrong = false;
  for (std::size_t at = 0; at < text.size() && !wrong;) {
    const std::size_t n = std::min({step, reader.room_size(), text.size() - at});
    EXPECT_GT(n, 0U);
    text.copy(reader.room(), n, at);
    reader.Added(n);
    at += n;
    Frame frame;
    auto found = reader.Take(frame);
    for (; found == FrameReader::Found::kFrame; found = reader.Take(frame)) {
      all.push_back(static_cast<char>(frame.type) + std::string(frame.bytes, frame.size));
    }
    wrong = found == FrameReader::Found::kWrong;
  }
  return all;
}

TEST(TerminalFrames, PassWholeInAnyPieces) {
  const std::string longest(kMostFrame, 'x');
  const std::string text = FrameText(FrameType::kBegin, std::string("\x18\0\x50\0\0", 5)) +
                           FrameText(FrameType::kInput, "ls\n") + FrameText(FrameType::kInput, "") +
                           FrameText(FrameType::kOutput, longest) +
                           FrameText(FrameType::kSize, std::string(4, '\1'));
  const std::vector<std::string> expected = {"b" + std::string("\x18\0\x50\0\0", 5), "ils\n", "i",
                                             "o" + longest, "w" + std::string(4, '\1')};
  for (const std::size_t step : {1, 2, 3, 7, 4096, 100'000}) {
    bool wrong = true;
    EXPECT_EQ(Frames(text, step, wrong), expected) << step;
    EXPECT_FALSE(wrong);
  }
}

TEST(TerminalFrames, RefuseWhatIsNotOurs) {
  const std::string too_long = FrameText(FrameType::kInput, std::string(kMostFrame + 1, 'x'));
  const std::string bad[] = {"GET / HTTP/1.1\r\n",
                             too_long,
                             FrameText(FrameType::kSize, "12345"),
                             FrameText(FrameType::kExit, "1234"),
                             FrameText(FrameType::kBegin, ""),
                             std::string("i\xff\xff\xff\xff", 5)};
  for (const std::string& text : bad) {
    bool wrong = false;
    EXPECT_TRUE(Frames(text, 1, wrong).empty());
    EXPECT_TRUE(wrong) << text.substr(0, 20);
  }
}

TEST(TerminalFrames, NumbersAreLittleEndian) {
  char bytes[4];
  PutNumber(bytes, 4, 0x01020384);
  EXPECT_EQ(static_cast<unsigned char>(bytes[0]), 0x84);
  EXPECT_EQ(GetNumber(bytes, 4), 0x01020384U);
  EXPECT_EQ(GetNumber(bytes, 2), 0x0384U);
}

}  // namespace
}  // namespace sharewell::engine
