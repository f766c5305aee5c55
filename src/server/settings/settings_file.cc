#include "server/settings/settings_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "catalogue/gpu_catalogue.h"
#include "catalogue/projects_file.h"
#include "catalogue/toml_table.h"
#include "core/text/parse_number.h"
#include "core/text/quoted.h"
#include "platform/files/mapped_file.h"
#include "platform/files/trusted_path.h"

namespace sharewell::server {
namespace {

using core::Result;

constexpr double kMostCount = 1e9, kMostBytes = 1e18, kMostPrice = 1e6;
constexpr std::size_t kMostCurrency = 8;

const std::vector<std::string>& KeyNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const core::LimitKey& key : core::LimitKeys()) all.emplace_back(key.name);
    return all;
  }();
  return names;
}

bool IsCurrency(const std::string& text) {
  return !text.empty() && text.size() <= kMostCurrency &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c > 0x20 && c != 0x7f; });
}

// Absent: it is no value of that key.
std::optional<double> ValueIn(const toml::node& node, const core::LimitKey& key) {
  if (key.unit == core::LimitUnit::kTime) {
    // A bare number would be seconds here, and minutes elsewhere.
    const auto text = node.value_exact<std::string>();
    const bool bare = text && text->find_first_not_of("0123456789.") == std::string::npos;
    const auto time = text && !bare ? core::TimeFrom(*text) : std::nullopt;
    const bool is_time = time && time->value > 0 && time->value <= kMostCount;
    return is_time ? std::optional(time->value) : std::nullopt;
  }
  if (key.is_bytes()) {
    if (const auto text = node.value_exact<std::string>()) {
      const auto size = core::ParseMemory(*text);
      return size ? std::optional(size->value) : std::nullopt;
    }
    const auto whole = node.value_exact<std::int64_t>();
    if (!whole || *whole < 0 || static_cast<double>(*whole) > kMostBytes) return std::nullopt;
    return static_cast<double>(*whole);
  }
  const bool real = std::holds_alternative<double core::Limits::*>(key.member);
  const auto value = real && node.is_number() ? node.value<double>()
                     : node.is_integer()      ? node.value<double>()
                                              : std::nullopt;
  const bool fits = value && std::isfinite(*value) && *value >= 0 && *value <= kMostCount;
  return fits ? value : std::nullopt;
}

void ReadLimits(catalogue::TomlTable& table, GivenLimits& given) {
  for (std::size_t i = 0; i < core::LimitKeys().size(); ++i) {
    const core::LimitKey& key = core::LimitKeys()[i];
    const toml::node* node = table.table().get(key.name);
    if (node == nullptr) continue;
    given[i] = ValueIn(*node, key);
    if (given[i]) continue;
    const char* form = key.is_bytes() ? "a size such as \"64MiB\", \"2GB\", or whole bytes"
                       : key.unit == core::LimitUnit::kTime
                           ? "a time such as \"24h\", \"90m\" or \"7d\""
                           : "a number from 0 to 1000000000";
    table.FailAt(*node, fmt::format("{} must be {}", key.name, form));
  }
}

// Absent: nothing is said, or it is wrong.
std::optional<bool> UnknownAloneIn(catalogue::TomlTable& table) {
  const auto text = table.Text("unknown");
  if (!text) return std::nullopt;
  if (*text == "alone") return true;
  if (*text == "guest") return false;
  table.Fail("unknown",
             fmt::format("unknown must be \"guest\" or \"alone\", not {}", core::Quoted(*text)));
  return std::nullopt;
}

// [sharing] and [sharing.user.NAME].
void ReadSharing(catalogue::TomlTable& top, GivenSharing& sharing) {
  const toml::table* given = top.Table("sharing");
  if (given == nullptr) return;
  catalogue::TomlTable all(*given, top.file(), "[sharing]", top.error());
  all.AllowOnly({"unknown", "user"});
  sharing.unknown_alone = UnknownAloneIn(all);
  const toml::table* named = all.Table("user");
  if (named == nullptr) return;
  catalogue::TomlTable users(*named, top.file(), "[sharing.user]", top.error());
  for (const auto& [name, node] : users.InOrder()) {
    const toml::table* table = node->as_table();
    if (table == nullptr) {
      return users.FailAt(
          *node, fmt::format("{} must be a table: write [sharing.user.NAME]", core::Quoted(name)));
    }
    catalogue::TomlTable inner(*table, top.file(), "[sharing.user.NAME]", top.error());
    inner.AllowOnly({"unknown"});
    if (const auto alone = UnknownAloneIn(inner)) sharing.alone_of_user[name] = *alone;
  }
}

// [prices]: money for an hour of a GPU, by model, and in which currency. Aliases of a model are it.
void ReadPrices(catalogue::TomlTable& top, SettingsFile& settings) {
  const toml::table* given = top.Table("prices");
  if (given == nullptr) return;
  catalogue::TomlTable prices(*given, top.file(), "[prices]", top.error());
  const auto known = catalogue::GpuCatalogue::Builtin();
  for (const auto& [name, node] : prices.InOrder()) {
    if (name == "currency") {
      if (const auto currency = prices.Text("currency")) {
        if (!IsCurrency(*currency)) {
          prices.Fail("currency",
                      fmt::format("currency must be 1 to {} characters without blanks, such as "
                                  "\"EUR\", not {}",
                                  kMostCurrency, core::Quoted(*currency)));
        }
        settings.prices.currency = *currency;
      }
      continue;
    }
    const auto price = node->is_number() ? node->value<double>() : std::nullopt;
    if (!price || !std::isfinite(*price) || *price < 0 || *price > kMostPrice) {
      return prices.FailAt(
          *node, fmt::format("{} must be what an hour of this GPU costs, a number from 0 to {:.0f}",
                             core::Quoted(name), kMostPrice));
    }
    const core::GpuModel* model = known.Lookup(name);
    if (model == nullptr) settings.unknown_models.push_back(name);
    const std::string key = core::FoldedGpuName(model == nullptr ? name : model->name);
    if (!settings.prices.per_gpu_hour.emplace(key, *price).second) {
      return prices.FailAt(
          *node, fmt::format("{} is priced twice, under two of its names", core::Quoted(name)));
    }
  }
}

// [limits.user.NAME] and [limits.group.NAME].
void ReadNamed(catalogue::TomlTable& limits, const char* kind,
               std::map<std::string, GivenLimits>& tables) {
  const toml::table* named = limits.Table(kind);
  if (named == nullptr) return;
  catalogue::TomlTable all(*named, limits.file(), fmt::format("[limits.{}]", kind), limits.error());
  for (const auto& [name, node] : all.InOrder()) {
    const toml::table* table = node->as_table();
    if (table == nullptr) {
      all.FailAt(*node, fmt::format("{} must be a table: write [limits.{}.NAME]",
                                    core::Quoted(name), kind));
      return;
    }
    catalogue::TomlTable inner(*table, limits.file(), fmt::format("[limits.{}.NAME]", kind),
                               limits.error());
    inner.AllowOnly(KeyNames());
    ReadLimits(inner, tables.try_emplace(name, GivenLimits(KeyNames().size())).first->second);
  }
}

}  // namespace

Result<SettingsFile> ParseSettings(std::string_view text, const std::string& name) {
  SettingsFile settings;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return settings;
  const auto root = catalogue::ParseToml(text, name);
  RETURN_IF_ERROR(root);
  std::optional<core::Error> error;
  catalogue::TomlTable top(*root, name, "sharewell.toml", error);
  top.AllowOnly({"limits", "sharing", "projects", "prices"});
  settings.projects = catalogue::ProjectsIn(top);
  ReadSharing(top, settings.sharing);
  ReadPrices(top, settings);
  if (const toml::table* given = top.Table("limits")) {
    catalogue::TomlTable limits(*given, name, "[limits]", error);
    std::vector<std::string> keys = KeyNames();
    keys.insert(keys.end(), {"user", "group"});
    limits.AllowOnly(keys);
    ReadLimits(limits, settings.everybody);
    ReadNamed(limits, "user", settings.users);
    ReadNamed(limits, "group", settings.groups);
  }
  if (error) return tl::unexpected(*std::move(error));
  return settings;
}

Result<SettingsFile> ReadSettings(const std::string& path, bool named) {
  std::error_code unknown;
  if (!named && !std::filesystem::exists(path, unknown) && !unknown) return SettingsFile{};
  if (::geteuid() == 0) {
    if (auto ours = platform::OnlyRootMayChange(path); !ours) {
      return core::FailedError(
          "{}: whoever may change the settings of a server of root's decides what every user may "
          "take of it; chown root and chmod go-w it, or name another file (--config FILE)",
          ours.error().message);
    }
  }
  const auto file = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(file);
  return ParseSettings(file->text(), path);
}

}  // namespace sharewell::server
