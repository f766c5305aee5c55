#include "engine/kubernetes/api/kube_access.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "engine/kubernetes/api/plain_yaml.h"
#include "platform/files/mapped_file.h"

namespace sharewell::engine {
namespace {

using core::Quoted;
using core::Result;
using core::UsageError;

constexpr const char* kOutside =
    "make a service account and a kubeconfig with its token, as deploy/kubernetes/README.md says";

Result<std::string> ReadSmallFile(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && found.st_size > static_cast<off_t>(kMostYaml)) {
    return UsageError("{}: it is longer than 1 MiB", Quoted(path));
  }
  auto file = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(file);
  return std::string(file->text());
}

bool Exists(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0;
}

std::optional<std::string> FromBase64Lines(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0, padding = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    if (c == '=') {
      if (++padding > 2) return std::nullopt;
      continue;
    }
    std::uint32_t value = 0;
    if (c >= 'A' && c <= 'Z') {
      value = static_cast<std::uint32_t>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      value = static_cast<std::uint32_t>(c - 'a') + 26;
    } else if (c >= '0' && c <= '9') {
      value = static_cast<std::uint32_t>(c - '0') + 52;
    } else if (c == '+' || c == '/') {
      value = c == '+' ? 62 : 63;
    } else {
      return std::nullopt;
    }
    if (padding > 0) return std::nullopt;
    bits = bits << 6 | value;
    if (++count % 4 != 1) {
      const int left = 6 - 2 * ((count - 1) % 4);
      out += static_cast<char>(bits >> left & 0xff);
    }
  }
  return count % 4 == 1 ? std::nullopt : std::optional(out);
}

// The entry of a list of {name: ..., KEY: {...}}.
Result<const PlainYaml*> Entry(const PlainYaml& config, const char* list, const char* key,
                               const std::string& name) {
  std::vector<std::string> names;
  for (const PlainYaml& one : config.At(list).list) {
    if (one.TextAt("name") == name) return &one.At(key);
    names.push_back(one.TextAt("name"));
  }
  std::string known;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 8); ++i) {
    known += (i == 0 ? "" : ", ") + Quoted(names[i]);
  }
  return UsageError("there is no {} among its {}; it has {}", Quoted(name), list,
                    known.empty() ? "none" : known);
}

using FileReader = std::function<Result<std::string>(const std::string&)>;

// "KEY-data" in base64, or the file that "KEY" names; empty where there is neither.
Result<std::string> Pem(const PlainYaml& of, const std::string& key, const FileReader& read) {
  if (const std::string& data = of.TextAt(key + "-data"); !data.empty()) {
    auto bytes = FromBase64Lines(data);
    if (!bytes) return UsageError("{}-data is no base64", key);
    return std::move(*bytes);
  }
  const std::string& path = of.TextAt(key);
  if (path.empty()) return std::string();
  auto bytes = read(path);
  if (!bytes) return tl::unexpected(std::move(bytes.error()).Within(key));
  return bytes;
}

Result<void> CheckCluster(const PlainYaml& cluster) {
  if (cluster.TextAt("insecure-skip-tls-verify") == "true") {
    return UsageError(
        "insecure-skip-tls-verify is set: whoever is on the way could take the token and bind "
        "pods; take it out and give certificate-authority or certificate-authority-data");
  }
  if (!cluster.TextAt("tls-server-name").empty()) {
    return UsageError(
        "tls-server-name is not supported; give a server by a name or address that its "
        "certificate has");
  }
  if (!cluster.TextAt("proxy-url").empty()) {
    return UsageError("proxy-url is not supported; set HTTPS_PROXY instead");
  }
  return {};
}

Result<void> CheckUser(const PlainYaml& user) {
  if (user.At("exec").kind != PlainYaml::Kind::kNull) {
    return UsageError(
        "its credentials come from the program {} (exec), and we run no program that a file "
        "names; {}",
        Quoted(user.At("exec").TextAt("command")), kOutside);
  }
  if (user.At("auth-provider").kind != PlainYaml::Kind::kNull) {
    return UsageError("its credentials come from {} (auth-provider), which is not supported; {}",
                      Quoted(user.At("auth-provider").TextAt("name")), kOutside);
  }
  if (!user.TextAt("username").empty() || !user.TextAt("password").empty()) {
    return UsageError("API servers since 1.19 take no passwords; {}", kOutside);
  }
  for (const char* key : {"as", "as-groups", "as-uid", "as-user-extra"}) {
    if (user.At(key).kind != PlainYaml::Kind::kNull) {
      return UsageError("to act as another ({}) is not supported; {}", key, kOutside);
    }
  }
  return {};
}

Result<KubeAccess> ReadKubeconfig(const std::string& path, const std::string& context) {
  const auto text = ReadSmallFile(path);
  RETURN_IF_ERROR(text);
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const auto whole = [&](const std::string& file) {
    return file.starts_with('/') ? file : folder + file;
  };
  auto access = ParseKubeconfig(
      *text, context, [&](const std::string& file) { return ReadSmallFile(whole(file)); });
  if (!access) return tl::unexpected(std::move(access.error()).Within(Quoted(path)));
  if (!access->token_file.empty()) access->token_file = whole(access->token_file);
  return access;
}

Result<KubeAccess> InCluster(const KubeAccessOptions& options, const std::string& host,
                             const std::string& port) {
  KubeAccess access;
  const bool six = host.find(':') != std::string::npos;
  access.server =
      fmt::format("https://{}:{}", six ? "[" + host + "]" : host, port.empty() ? "443" : port);
  auto ca = ReadSmallFile(options.account_folder + "/ca.crt");
  if (!ca) return tl::unexpected(std::move(ca.error()).Within("the service account"));
  access.ca_pem = std::move(*ca);
  access.token_file = options.account_folder + "/token";
  if (const auto space = ReadSmallFile(options.account_folder + "/namespace")) {
    access.name_space = space->substr(0, space->find_first_of(" \r\n"));
  }
  return access;
}

}  // namespace

Result<KubeAccess> ParseKubeconfig(std::string_view text, const std::string& context,
                                   const FileReader& read) {
  const auto config = ParsePlainYaml(text);
  RETURN_IF_ERROR(config);
  if (config->kind != PlainYaml::Kind::kMap) {
    return UsageError("it is no kubeconfig; `kubectl config view --raw --minify` prints one");
  }
  const std::string wanted = context.empty() ? config->TextAt("current-context") : context;
  if (wanted.empty()) return UsageError("it has no current-context; name one with --context");
  const auto chosen = Entry(*config, "contexts", "context", wanted);
  RETURN_IF_ERROR(chosen);
  const auto within = [&](core::Error error, const std::string& what, const char* key) {
    return tl::unexpected(std::move(error).Within(
        fmt::format("context {}: {} {}", Quoted(wanted), what, Quoted((*chosen)->TextAt(key)))));
  };
  const auto cluster = Entry(*config, "clusters", "cluster", (*chosen)->TextAt("cluster"));
  if (!cluster) return within(cluster.error(), "cluster", "cluster");
  const auto user = Entry(*config, "users", "user", (*chosen)->TextAt("user"));
  if (!user) return within(user.error(), "user", "user");
  if (auto fine = CheckCluster(**cluster); !fine) return within(fine.error(), "cluster", "cluster");
  if (auto fine = CheckUser(**user); !fine) return within(fine.error(), "user", "user");

  KubeAccess access;
  access.server = (*cluster)->TextAt("server");
  access.name_space = (*chosen)->TextAt("namespace");
  auto ca = Pem(**cluster, "certificate-authority", read);
  if (!ca) return within(ca.error(), "cluster", "cluster");
  access.ca_pem = std::move(*ca);
  auto certificate = Pem(**user, "client-certificate", read);
  if (!certificate) return within(certificate.error(), "user", "user");
  access.certificate_pem = std::move(*certificate);
  auto key = Pem(**user, "client-key", read);
  if (!key) return within(key.error(), "user", "user");
  access.key_pem = std::move(*key);
  access.token_file = (*user)->TextAt("tokenFile");
  if (access.token_file.empty()) access.token = (*user)->TextAt("token");
  if (access.token.empty() && access.token_file.empty() && access.certificate_pem.empty()) {
    return within({core::ErrorKind::kUsage,
                   fmt::format("it has no token and no client certificate; {}", kOutside)},
                  "user", "user");
  }
  return access;
}

Result<KubeAccess> FindKubeAccess(const KubeAccessOptions& options) {
  const auto variable = [&](const char* name) {
    if (options.environment) return options.environment(name);
    const char* value = ::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  std::string path = options.kubeconfig;
  if (path.empty()) {
    path = variable("KUBECONFIG");
    if (path.find(':') != std::string::npos) {
      return UsageError(
          "$KUBECONFIG names several files, which we do not merge; give one with --kubeconfig, or "
          "write them into one: kubectl config view --raw --flatten");
    }
  }
  if (!path.empty()) return ReadKubeconfig(path, options.context);
  if (const std::string host = variable("KUBERNETES_SERVICE_HOST"); !host.empty()) {
    return InCluster(options, host, variable("KUBERNETES_SERVICE_PORT"));
  }
  const std::string home = variable("HOME");
  if (!home.empty() && Exists(home + "/.kube/config")) {
    return ReadKubeconfig(home + "/.kube/config", options.context);
  }
  return UsageError(
      "no Kubernetes cluster is named: this is no pod (KUBERNETES_SERVICE_HOST is not set) and "
      "there is no ~/.kube/config; give a kubeconfig with --kubeconfig FILE");
}

}  // namespace sharewell::engine
