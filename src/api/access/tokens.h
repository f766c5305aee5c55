// Tokens: secrets that stand for an account where the kernel cannot say who calls. The server keeps
// their SHA-256 alone, one line each in a file that nobody else may read:
//   ID SHA256 UID GID admin|user CREATED_MS NAME LABEL...
// Whoever may write that file may give tokens to anybody.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/job/submission.h"
#include "core/metric.h"
#include "core/result.h"
#include "json/writer.h"

namespace sharewell::api {

struct Token {
  std::string id;  // 8 hexadecimal digits; shown, and part of the secret
  std::string sha256;
  core::Account account;
  core::UnixMillis created = 0;
  std::string label;

  friend bool operator==(const Token&, const Token&) = default;
};

inline constexpr std::string_view kTokenFile = "tokens";  // in the server's state folder

// The text of the file. Every line that is no token is an error that names it.
core::Result<std::vector<Token>> ParseTokens(std::string_view text);

// Of the file at `path`; none where there is no file. Fails where others could read or write it.
core::Result<std::vector<Token>> ReadTokens(const std::string& path);

// Adds one and gives back the secret, which is kept nowhere.
core::Result<std::string> CreateToken(const std::string& path, const core::Account& account,
                                      const std::string& label, core::UnixMillis now);
core::Result<Token> RevokeToken(const std::string& path, const std::string& id);

// The file as it is now: looked at again whenever it has changed. One thread.
class TokenFile {
 public:
  explicit TokenFile(std::string path);
  // Whose secret it is. Takes as long for a wrong one as for a right one.
  std::optional<core::Account> Find(std::string_view secret);
  const std::string& problem() const { return problem_; }  // why no token is known; may be empty

 private:
  void Look();

  std::string path_, problem_;
  std::vector<Token> tokens_;
  struct Seen {
    ino_t file = 0;
    off_t size = -1;
    std::timespec changed = {};
  };
  Seen seen_;
};

// What may be shown of it, as members of an object.
void WriteToken(json::Writer& writer, const Token& token);

}  // namespace sharewell::api
