// RequestReader: requests out of the bytes of one connection, one after another. No sockets.
//
// It stops when a head is whole, so that whoever asks can be looked at before a body is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/http_message.h"

namespace sharewell::http {

class RequestReader {
 public:
  enum class State : std::uint8_t {
    kMore,    // bytes are missing
    kHead,    // head() is whole; call TakeBody or give up
    kWhole,   // Take() has it
    kBroken,  // status() and words() say why; nothing more can be read
  };

  explicit RequestReader(std::size_t most_header_bytes);
  ~RequestReader();

  void Add(std::string_view bytes);
  State Step();
  // REQUIRES: kHead was told. From now on its body is read, of so many bytes at most.
  void TakeBody(std::size_t most);
  // REQUIRES: kWhole was told. The next request begins.
  HttpRequest Take();

  const HttpRequest& head() const { return head_; }
  std::optional<std::uint64_t> length() const;  // of the body, where the head says it
  bool has_body() const;                        // there is one, or will be
  bool keep_alive() const;
  bool expects_continue() const { return expects_continue_; }
  bool begun() const;  // bytes of a request have come
  // Bytes that no request was made of yet; with kMore no more than a head may have.
  std::size_t waiting() const { return bytes_.size() - taken_; }
  int status() const { return status_; }
  const std::string& words() const { return words_; }

 private:
  struct Parser;

  void Begin();
  State Break(int status, std::string words);
  void KeepHead();

  const std::size_t most_header_bytes_;
  std::unique_ptr<Parser> parser_;
  std::string bytes_;
  std::size_t taken_ = 0;  // of bytes_
  HttpRequest head_;
  bool head_told_ = false, expects_continue_ = false;
  int status_ = 0;
  std::string words_;
};

}  // namespace sharewell::http
