// The only source that includes Boost.Beast: its parser is what reads hostile bytes.
// Boost.Asio 1.74 needs <utility> before it in C++20 and does not say so.
#include "http/http_reader.h"

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <limits>
#include <utility>

namespace sharewell::http {

namespace http = boost::beast::http;

namespace {

// The shortest end of a body in chunks, "0\r\n\r\n". Beast takes it as a whole, and asserts that
// there are so many bytes when it looks at a first and last chunk again.
constexpr std::size_t kLeastEndOfChunks = 5;

}  // namespace

struct RequestReader::Parser {
  http::request_parser<http::string_body> parser;
};

RequestReader::RequestReader(std::size_t most_header_bytes)
    : most_header_bytes_(most_header_bytes) {
  Begin();
}

RequestReader::~RequestReader() = default;

void RequestReader::Begin() {
  parser_ = std::make_unique<Parser>();
  parser_->parser.header_limit(static_cast<std::uint32_t>(most_header_bytes_));
  // The route's bound is set once the head is there.
  parser_->parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  parser_->parser.eager(false);
  head_ = {};
  head_told_ = expects_continue_ = false;
}

void RequestReader::Add(std::string_view bytes) {
  bytes_.erase(0, taken_);
  taken_ = 0;
  bytes_ += bytes;
}

bool RequestReader::begun() const { return taken_ < bytes_.size() || parser_->parser.got_some(); }

RequestReader::State RequestReader::Break(int status, std::string words) {
  status_ = status;
  words_ = std::move(words);
  return State::kBroken;
}

RequestReader::State RequestReader::Step() {
  if (status_ != 0) return State::kBroken;
  auto& parser = parser_->parser;
  while (!parser.is_done()) {
    if (parser.is_header_done() && !parser.eager()) return State::kHead;
    if (taken_ == bytes_.size()) return State::kMore;
    if (parser.is_header_done() && parser.chunked() && waiting() < kLeastEndOfChunks) {
      return State::kMore;
    }
    boost::system::error_code error;
    taken_ += parser.put(boost::asio::const_buffer(bytes_.data() + taken_, bytes_.size() - taken_),
                         error);
    if (error == http::error::need_more) {
      // What the parser does not take yet is a head, or a line between the chunks of a body.
      if (waiting() <= most_header_bytes_) return State::kMore;
      error = http::error::header_limit;
    }
    if (error == http::error::header_limit) {
      return Break(431, "the head, or a line between chunks, is longer than " +
                            std::to_string(most_header_bytes_) + " bytes");
    }
    if (error == http::error::body_limit || error == http::error::buffer_overflow) {
      return Break(413, "the body is longer than this route takes");
    }
    if (error) return Break(400, "this is no HTTP: " + error.message());
    if (parser.is_header_done() && !head_told_) {
      KeepHead();
      if (!head_.path.starts_with('/')) return Break(400, "the target must begin with /");
      // A proxy before us may have looked at the other one.
      if (parser.get().count(http::field::host) > 1) {
        return Break(400, "a request has one Host header");
      }
    }
  }
  return head_told_ && !parser.eager() ? State::kHead : State::kWhole;
}

void RequestReader::KeepHead() {
  head_told_ = true;
  const auto& message = parser_->parser.get();
  const auto field = [&](http::field name) {
    const auto value = message[name];
    return std::string(value.data(), value.size());
  };
  head_.method = std::string(message.method_string());
  const std::string target(message.target());
  const auto question = target.find('?');
  head_.path = target.substr(0, question);
  if (question != std::string::npos) head_.query = target.substr(question + 1);
  head_.host = field(http::field::host);
  head_.origin = field(http::field::origin);
  head_.authorization = field(http::field::authorization);
  head_.if_none_match = field(http::field::if_none_match);
  head_.accept_encoding = field(http::field::accept_encoding);
  head_.accept = field(http::field::accept);
  const auto last = message["Last-Event-ID"];
  head_.last_event_id = std::string(last.data(), last.size());
  expects_continue_ =
      boost::beast::iequals(message[http::field::expect], "100-continue") && has_body();
}

void RequestReader::TakeBody(std::size_t most) {
  parser_->parser.body_limit(most);
  parser_->parser.eager(true);
}

HttpRequest RequestReader::Take() {
  HttpRequest request = std::move(head_);
  request.body = std::move(parser_->parser.get().body());
  Begin();
  return request;
}

std::optional<std::uint64_t> RequestReader::length() const {
  const auto length = parser_->parser.content_length();
  if (!length) return std::nullopt;
  return *length;
}

bool RequestReader::has_body() const {
  return length().value_or(0) > 0 || parser_->parser.chunked();
}

bool RequestReader::keep_alive() const { return parser_->parser.get().keep_alive(); }

}  // namespace sharewell::http
