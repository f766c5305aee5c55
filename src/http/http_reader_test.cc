#include "http/http_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace sharewell::http {
namespace {

// What comes of `text` when the network cuts it into pieces of so many bytes: the body, or why not.
std::string BodyOf(std::string_view text, std::size_t piece) {
  RequestReader reader(8192);
  while (!text.empty()) {
    reader.Add(text.substr(0, piece));
    text.remove_prefix(std::min(piece, text.size()));
    auto state = reader.Step();
    if (state == RequestReader::State::kHead) {
      reader.TakeBody(1000);
      state = reader.Step();
    }
    if (state == RequestReader::State::kWhole) return "body: " + reader.Take().body;
    if (state == RequestReader::State::kBroken) return std::to_string(reader.status());
  }
  return "more";
}

TEST(RequestReader, ByteByByteIsTheSameAsAtOnce) {
  const std::string text =
      "POST /a/b?x=1 HTTP/1.1\r\nHost: h\r\nLast-Event-ID: 7\r\nContent-Length: 3\r\n\r\nabc"
      "GET / HTTP/1.0\r\n\r\n";
  for (const std::size_t at_once : {std::size_t{1}, std::size_t{7}, text.size()}) {
    RequestReader reader(8192);
    std::vector<HttpRequest> requests;
    for (std::size_t i = 0; i < text.size(); i += at_once) {
      reader.Add(std::string_view(text).substr(i, at_once));
      for (auto state = reader.Step(); state != RequestReader::State::kMore;
           state = reader.Step()) {
        ASSERT_NE(state, RequestReader::State::kBroken) << reader.words();
        if (state == RequestReader::State::kHead) reader.TakeBody(100);
        if (state == RequestReader::State::kWhole) requests.push_back(reader.Take());
      }
    }
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_EQ(requests[0].path + requests[0].query + requests[0].body + requests[0].last_event_id,
              "/a/bx=1abc7");
    EXPECT_EQ(requests[1].path, "/");
  }
}

TEST(RequestReader, TwoHostsAreRefused) {
  EXPECT_EQ(BodyOf("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 7), "body: ");
  EXPECT_EQ(BodyOf("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 7), "400");
  EXPECT_EQ(BodyOf("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 99), "400");
}

TEST(RequestReader, ABodyInChunksIsTheSameHoweverTheNetworkCutsIt) {
  const std::string head = "POST /api/v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::size_t piece = 1; piece < 80; ++piece) {
    EXPECT_EQ(BodyOf(head + "0\r\n\r\n", piece), "body: ") << piece;
    EXPECT_EQ(BodyOf(head + "0\r\nDigest: x\r\n\r\n", piece), "body: ") << piece;
    EXPECT_EQ(BodyOf(head + "1\r\na\r\n0\r\n\r\n", piece), "body: a") << piece;
    EXPECT_EQ(BodyOf(head + "3\r\nabc\r\n2;x=y\r\nde\r\n00\r\n\r\n", piece), "body: abcde")
        << piece;
  }
}

TEST(RequestReader, ABodyThatIsCutOffIsWaitedFor) {
  const std::string head = "POST /api/v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string_view body = "3\r\nabc\r\n0\r\n\r\n";
  for (std::size_t bytes = 0; bytes < body.size(); ++bytes) {
    EXPECT_EQ(BodyOf(head + std::string(body.substr(0, bytes)), 1), "more") << bytes;
  }
  EXPECT_EQ(BodyOf(head + "x\r\nabc", 1), "400");
}

TEST(RequestReader, ALineBetweenChunksHasAnEnd) {
  RequestReader reader(1000);
  reader.Add("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  ASSERT_EQ(reader.Step(), RequestReader::State::kHead);
  reader.TakeBody(100);
  auto state = RequestReader::State::kMore;
  int pieces = 0;
  for (; pieces < 100 && state == RequestReader::State::kMore; ++pieces) {
    reader.Add(pieces == 0 ? "1;extension=" : std::string(100, 'x'));
    state = reader.Step();
  }
  EXPECT_EQ(state, RequestReader::State::kBroken);
  EXPECT_LT(pieces, 20);
}

}  // namespace
}  // namespace sharewell::http
