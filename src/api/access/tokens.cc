#include "api/access/tokens.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <utility>

#include "api/access/secrets.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/utf8.h"
#include "http/listener.h"

namespace sharewell::api {
namespace {

constexpr std::size_t kIdLength = 8;
constexpr std::size_t kSecretBytes = 24;
constexpr std::size_t kShaLength = 64;
constexpr std::size_t kMostTokens = 10'000;
constexpr std::size_t kMostTokenFileBytes = std::size_t{4} << 20;
constexpr std::size_t kMostLabel = 200;

bool IsHex(std::string_view text, std::size_t length) {
  return text.size() == length && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string_view NextWord(std::string_view& line) {
  const auto end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

template <class T>
bool ReadWhole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseToken(std::string_view line, Token& token) {
  token.id = NextWord(line);
  token.sha256 = NextWord(line);
  const bool numbers =
      ReadWhole(NextWord(line), token.account.uid) && ReadWhole(NextWord(line), token.account.gid);
  const std::string_view rights = NextWord(line);
  const bool time = ReadWhole(NextWord(line), token.created);
  token.account.name = NextWord(line);
  token.account.admin = rights == "admin";
  token.label = line;
  return IsHex(token.id, kIdLength) && IsHex(token.sha256, kShaLength) && numbers && time &&
         (rights == "admin" || rights == "user") && !token.account.name.empty();
}

std::string TokenLine(const Token& token) {
  return fmt::format("{} {} {} {} {} {} {} {}\n", token.id, token.sha256, token.account.uid,
                     token.account.gid, token.account.admin ? "admin" : "user", token.created,
                     token.account.name, token.label);
}

tl::unexpected<core::Error> TokenTrouble(const std::string& path, const char* what) {
  return core::FailedError("{}: {}: {}", core::Quoted(path), what, std::strerror(errno));
}

core::Result<std::string> ReadPrivate(const std::string& path, int fd) {
  struct stat file {};
  if (::fstat(fd, &file) != 0) return TokenTrouble(path, "cannot be read");
  if (!S_ISREG(file.st_mode) || (file.st_mode & 077) != 0 ||
      (file.st_uid != ::geteuid() && file.st_uid != 0)) {
    return core::FailedError(
        "{}: tokens are kept in a file that its owner alone may read, and it must be the server's "
        "or root's: chmod 600 it, and look who could read it",
        core::Quoted(path));
  }
  std::string text;
  std::array<char, 65536> room;
  for (;;) {
    const ssize_t got = ::read(fd, room.data(), room.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return TokenTrouble(path, "cannot be read");
    if (got == 0) return text;
    text.append(room.data(), static_cast<std::size_t>(got));
    if (text.size() > kMostTokenFileBytes) {
      return core::FailedError("{}: this is not a file of tokens: it is too long",
                               core::Quoted(path));
    }
  }
}

// Changes the file as a whole: another process that changes it meanwhile waits, readers see the old
// one or the new one.
core::Result<void> Change(const std::string& path,
                          const std::function<core::Result<void>(std::vector<Token>&)>& change) {
  const http::Fd lock(
      ::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX) != 0) {
    return TokenTrouble(path, "only the user that the server runs as, or root, may change tokens");
  }
  auto tokens = ReadTokens(path);
  RETURN_IF_ERROR(tokens);
  if (auto ok = change(*tokens); !ok) return ok;
  std::string text;
  for (const Token& token : *tokens) text += TokenLine(token);
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());
  http::Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return TokenTrouble(fresh, "cannot be made");
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t put = ::write(file.get(), rest.data(), rest.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return TokenTrouble(fresh, "cannot be written");
    rest.remove_prefix(static_cast<std::size_t>(put));
  }
  // Root changes another's file: it stays theirs.
  struct stat before {};
  if (::stat(path.c_str(), &before) == 0 && before.st_uid != ::geteuid()) {
    if (::fchown(file.get(), before.st_uid, before.st_gid) != 0) {
      return TokenTrouble(fresh, "cannot be given back to its owner");
    }
  }
  if (::fsync(file.get()) != 0 || ::rename(fresh.c_str(), path.c_str()) != 0) {
    return TokenTrouble(path, "cannot be written");
  }
  return {};
}

}  // namespace

core::Result<std::vector<Token>> ParseTokens(std::string_view text) {
  std::vector<Token> tokens;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    Token token;
    if (!ParseToken(line, token)) {
      return core::FailedError("line {} is not a token; remove it, or create a new one", number);
    }
    if (tokens.size() == kMostTokens) {
      return core::FailedError("more than {} tokens; revoke some", kMostTokens);
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

core::Result<std::vector<Token>> ReadTokens(const std::string& path) {
  const http::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file && errno == ENOENT) return std::vector<Token>{};
  if (!file) return TokenTrouble(path, "cannot be read");
  auto text = ReadPrivate(path, file.get());
  RETURN_IF_ERROR(text);
  auto tokens = ParseTokens(*text);
  if (!tokens) return tl::unexpected(std::move(tokens.error()).Within(core::Quoted(path)));
  return tokens;
}

core::Result<std::string> CreateToken(const std::string& path, const core::Account& account,
                                      const std::string& label, core::UnixMillis now) {
  const bool wrong = std::any_of(label.begin(), label.end(), core::IsControl);
  if (label.size() > kMostLabel || wrong) {
    return core::UsageError("--label: {} is not allowed; give a few plain words",
                            core::Quoted(label));
  }
  const auto id = RandomHex(kIdLength / 2);
  RETURN_IF_ERROR(id);
  const auto chance = RandomHex(kSecretBytes);
  RETURN_IF_ERROR(chance);
  Token token{*id, {}, account, now, label};
  const std::string secret = token.id + "." + *chance;
  token.sha256 = Sha256(secret);
  const auto changed = Change(path, [&](std::vector<Token>& tokens) -> core::Result<void> {
    if (tokens.size() >= kMostTokens)
      return core::FailedError("there are too many tokens; revoke some");
    tokens.push_back(token);
    return {};
  });
  RETURN_IF_ERROR(changed);
  return secret;
}

core::Result<Token> RevokeToken(const std::string& path, const std::string& id) {
  Token gone;
  const auto changed = Change(path, [&](std::vector<Token>& tokens) -> core::Result<void> {
    const auto it = std::find_if(tokens.begin(), tokens.end(),
                                 [&](const Token& token) { return token.id == id; });
    if (it == tokens.end()) {
      return core::UsageError("{}: there is no such token; `sharewell token list` lists them",
                              core::Quoted(id));
    }
    gone = *it;
    tokens.erase(it);
    return {};
  });
  RETURN_IF_ERROR(changed);
  return gone;
}

TokenFile::TokenFile(std::string path) : path_(std::move(path)) {}

void TokenFile::Look() {
  struct stat now {};
  if (::stat(path_.c_str(), &now) != 0) now = {};
  const auto same = [&] {
    return now.st_ino == seen_.file && now.st_size == seen_.size &&
           now.st_ctim.tv_sec == seen_.changed.tv_sec &&
           now.st_ctim.tv_nsec == seen_.changed.tv_nsec;
  };
  if (same()) return;
  seen_ = {now.st_ino, now.st_size, now.st_ctim};
  auto tokens = ReadTokens(path_);
  problem_ = tokens ? std::string() : tokens.error().message;
  tokens_ = tokens ? std::move(*tokens) : std::vector<Token>{};
}

std::optional<core::Account> TokenFile::Find(std::string_view secret) {
  Look();
  const std::string digest = Sha256(secret);
  const Token* found = nullptr;
  for (const Token& token : tokens_) {
    const bool same = digest.size() == token.sha256.size() &&
                      CRYPTO_memcmp(digest.data(), token.sha256.data(), digest.size()) == 0;
    if (same) found = &token;
  }
  if (found == nullptr) return std::nullopt;
  return found->account;
}

void WriteToken(json::Writer& writer, const Token& token) {
  writer.Field("id", token.id);
  writer.Field("user", token.account.name);
  writer.Field("uid", token.account.uid);
  writer.Field("admin", token.account.admin);
  writer.Field("created_ms", token.created);
  writer.Field("label", token.label);
}

}  // namespace sharewell::api
