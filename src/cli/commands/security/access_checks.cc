// Who may reach the server and take how much of it: limits, tokens, addresses and TLS.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "api/access/tokens.h"
#include "cli/commands/security/security_checks.h"
#include "http/endpoint.h"
#include "http/tls.h"
#include "platform/process/user_account.h"
#include "server/settings/settings_file.h"

namespace sharewell::cli {
namespace {

using measure::Standing;

constexpr std::int64_t kDaySeconds = 86400;
constexpr std::int64_t kOldTokenDays = 365, kSoonDays = 30;
constexpr std::size_t kMostNamed = 20;  // tokens that are named one by one

void CheckLimits(const Installation& where, SecurityRows& rows) {
  // Who may change it CheckFiles has said.
  const auto file = server::ParseSettings(TextOf(where.At(where.config)), where.At(where.config));
  if (!file) {
    rows.push_back({"limits", "by user", Standing::kWrong, file.error().message,
                    fmt::format("${{EDITOR:-vi}} {}", ShellWord(where.At(where.config)))});
    return;
  }
  const auto given =
      std::count_if(file->everybody.begin(), file->everybody.end(),
                    [](const std::optional<double>& value) { return value.has_value(); });
  if (given == 0 && file->users.empty() && file->groups.empty()) {
    rows.push_back({"limits", "by user", Standing::kNote,
                    fmt::format("nothing is set in {}: the defaults hold, which are wide "
                                "(`sharewell limits` lists them)",
                                where.At(where.config)),
                    fmt::format("${{EDITOR:-vi}} {} && systemctl restart sharewell",
                                ShellWord(where.At(where.config)))});
    return;
  }
  rows.push_back({"limits", "by user", Standing::kGood,
                  fmt::format("{} set for everybody, {} {} and {} {} with limits of their own",
                              given, file->users.size(), file->users.size() == 1 ? "user" : "users",
                              file->groups.size(), file->groups.size() == 1 ? "group" : "groups"),
                  ""});
}

// Why a token should go; empty: it may stay.
std::string TroubleOf(const api::Token& token, core::UnixMillis now) {
  const auto account = platform::UserWithUid(token.account.uid);
  if (!account) {
    return fmt::format("its user {} (uid {}) has no account here", token.account.name,
                       token.account.uid);
  }
  if (account->name != token.account.name) {
    return fmt::format("it was made for {}, and uid {} is {} now", token.account.name,
                       token.account.uid, account->name);
  }
  const std::int64_t days = (now - token.created) / 1000 / kDaySeconds;
  if (days < kOldTokenDays) return {};
  return fmt::format("it is {} days old, and tokens do not end by themselves", days);
}

void CheckTokens(const Installation& where, core::UnixMillis now, SecurityRows& rows) {
  const std::string path = where.state + "/" + std::string(api::kTokenFile);
  struct stat status {};
  if (::stat(where.At(path).c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      rows.push_back({"tokens", "tokens", Standing::kGood, "there are none", ""});
    }
    return;  // CheckFiles has said that it cannot be looked at
  }
  if (!S_ISREG(status.st_mode)) {
    rows.push_back({"tokens", "tokens", Standing::kWrong,
                    fmt::format("{} is no file: nobody's token is known", where.At(path)),
                    fmt::format("rm -r {}", ShellWord(where.At(path)))});
    return;
  }
  const auto tokens = api::ReadTokens(where.At(path));
  if (!tokens) {
    rows.push_back({"tokens", "tokens", Standing::kNote,
                    fmt::format("they cannot be read: {}", tokens.error().message), ""});
    return;
  }
  const auto admins = std::count_if(tokens->begin(), tokens->end(),
                                    [](const api::Token& token) { return token.account.admin; });
  rows.push_back({"tokens", "tokens", tokens->empty() ? Standing::kGood : Standing::kNote,
                  tokens->empty() ? std::string("there are none")
                                  : fmt::format("{} in all, {} of admins; none ends by itself: "
                                                "revoke what nobody uses",
                                                tokens->size(), admins),
                  tokens->empty() ? "" : "sharewell token list"});
  std::size_t named = 0, more = 0;
  for (const api::Token& token : *tokens) {
    const std::string trouble = TroubleOf(token, now);
    if (trouble.empty()) continue;
    if (++named > kMostNamed) {
      ++more;
      continue;
    }
    rows.push_back({"tokens", "token " + token.id, Standing::kWrong,
                    fmt::format("{}{}", trouble, token.account.admin ? "; it is an admin's" : ""),
                    "sharewell token revoke " + token.id});
  }
  if (more > 0) {
    rows.push_back({"tokens", "more tokens", Standing::kWrong,
                    fmt::format("{} more are old, or of nobody", more), "sharewell token list"});
  }
}

void CheckCertificate(const Installation& where, const std::string& path, core::UnixMillis now,
                      SecurityRows& rows) {
  const std::string renew =
      "renew it with whoever issued it (certbot renew), then systemctl restart sharewell";
  struct stat status {};
  if (::stat(where.At(path).c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    rows.push_back({"network", "certificate", Standing::kWrong,
                    fmt::format("{} is no file that can be read", where.At(path)), renew});
    return;
  }
  const auto end = http::CertificateEnd(where.At(path));
  if (!end) {
    rows.push_back({"network", "certificate", Standing::kWrong, end.error().message, renew});
    return;
  }
  const std::int64_t days = (*end - now / 1000) / kDaySeconds;
  const bool over = *end <= now / 1000;
  rows.push_back({"network", "certificate",
                  over || days < kSoonDays ? Standing::kWrong : Standing::kGood,
                  over ? fmt::format("{} is not valid any more", where.At(path))
                       : fmt::format("{} is valid for {} days", where.At(path), days),
                  over || days < kSoonDays ? renew : ""});
}

void CheckListen(const Installation& where, core::UnixMillis now, SecurityRows& rows) {
  const std::string listen = FlagValue(where.serve_flags, "--listen");
  const std::string certificate = FlagValue(where.serve_flags, "--tls-cert");
  const std::string key = FlagValue(where.serve_flags, "--tls-key");
  const auto endpoint = http::ParseEndpoint("--listen", listen);
  if (listen.empty() || listen == "none" || (endpoint && endpoint->Loopback())) {
    rows.push_back({"network", "server", Standing::kGood,
                    listen == "none" ? "listens at its socket alone"
                                     : "listens on loopback: this machine alone reaches it",
                    ""});
  } else if (certificate.empty() || key.empty()) {
    rows.push_back({"network", "server", Standing::kWrong,
                    fmt::format("--listen {} without TLS: whoever is on the way reads tokens, and "
                                "the server does not start so",
                                listen),
                    "give --tls-cert FILE and --tls-key FILE in SHAREWELL_SERVE_FLAGS "
                    "(/etc/default/sharewell), or --listen 127.0.0.1:10401"});
  } else {
    rows.push_back(
        {"network", "server", Standing::kGood, fmt::format("listens on {} with TLS", listen), ""});
  }
  if (!certificate.empty()) CheckCertificate(where, certificate, now, rows);
  if (!key.empty()) {
    // A group for keys (ssl-cert) may read it; nobody else.
    CheckPlace(where, {"network", "TLS key", key, 037, "600"}, rows);
  }
  const std::string agents = FlagValue(where.monitor_flags, "--listen");
  const auto metrics = http::ParseEndpoint("--listen", agents);
  if (agents.empty() || agents == "none" || !metrics) return;
  if (metrics->Loopback()) {
    rows.push_back({"network", "agent", Standing::kGood, "serves its metrics on loopback", ""});
    return;
  }
  rows.push_back({"network", "agent", Standing::kWrong,
                  fmt::format("serves its metrics on {}, without TLS or tokens: whoever reaches it "
                              "sees which jobs run and what they use",
                              agents),
                  fmt::format("give --listen 127.0.0.1:{} in SHAREWELL_MONITOR_FLAGS, or let a "
                              "firewall pass Prometheus alone",
                              metrics->port)});
}

}  // namespace

void CheckAccess(const Installation& where, core::UnixMillis now, SecurityRows& rows) {
  CheckLimits(where, rows);
  CheckTokens(where, now, rows);
  CheckListen(where, now, rows);
}

}  // namespace sharewell::cli
