#include "catalogue/projects_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "core/text/quoted.h"
#include "platform/files/mapped_file.h"

namespace sharewell::catalogue {
namespace {

constexpr std::size_t kMostProjects = 1000, kMostUsers = 10'000, kMostLetters = 64;
constexpr const char* kReclaim = "reclaim";
constexpr double kWhole = 1 + 1e-9;  // tenths do not sum to one exactly

bool IsProjectName(std::string_view name) {
  return !name.empty() && name.size() <= kMostLetters &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

void ReadShare(TomlTable& table, core::Project& project) {
  const toml::node* node = table.table().get("share");
  if (node == nullptr) {
    return table.Fail("share", fmt::format("project '{}' has no share: write share = 0.5 for half "
                                           "of the GPUs",
                                           project.name));
  }
  const auto share = node->is_number() ? node->value<double>() : std::nullopt;
  if (!share || !std::isfinite(*share) || *share <= 0 || *share > 1) {
    const bool percent = share && *share > 1 && *share <= 100;
    return table.FailAt(
        *node,
        fmt::format("share must be a part of all GPUs, above 0 and at most 1: write share = {:g}{}",
                    percent ? *share / 100 : 0.5,
                    percent ? fmt::format(" for {:g} %", *share) : " for half of them"));
  }
  project.share = *share;
}

void ReadUsers(TomlTable& table, core::Project& project) {
  const auto users = table.Texts("users", kMostUsers);
  if (table.error()) return;
  if (!users || users->empty()) {
    return table.Fail("users",
                      fmt::format("project '{}' has no users: write users = [\"ann\", \"bob\"], or "
                                  "take the project out",
                                  project.name));
  }
  std::set<std::string> seen;
  for (const std::string& user : *users) {
    if (user.empty()) {
      return table.Fail("users", "users has an empty name; write the names of accounts");
    }
    if (!seen.insert(user).second) {
      return table.Fail("users", fmt::format("user {} stands twice in project '{}'; leave one out",
                                             core::Quoted(user), project.name));
    }
  }
  project.users = *users;
}

// reclaim stands among the projects, so none has that name.
bool ReadReclaim(TomlTable& all) {
  const toml::node* node = all.table().get(kReclaim);
  if (node == nullptr) return false;
  if (!node->is_boolean()) {
    all.FailAt(*node,
               node->is_table()
                   ? "'reclaim' says whether projects take back what others borrowed, so no "
                     "project has that name: take another one"
                   : "reclaim must be true or false: with reclaim = true projects below their "
                     "share take back what others borrowed");
    return false;
  }
  return *node->value<bool>();
}

}  // namespace

core::Projects ProjectsIn(TomlTable& top) {
  const toml::table* given = top.Table("projects");
  if (given == nullptr) return {};
  TomlTable all(*given, top.file(), "[projects]", top.error());
  const bool reclaims = ReadReclaim(all);
  if (top.error()) return {};
  std::vector<core::Project> named;
  double sum = 0;
  for (const auto& [name, node] : all.InOrder()) {
    if (name == kReclaim) continue;
    const toml::table* table = node->as_table();
    if (table == nullptr) {
      all.FailAt(*node,
                 fmt::format("{} must be a table: write [projects.NAME]", core::Quoted(name)));
      return {};
    }
    if (name == core::kDefaultProject) {
      all.FailAt(
          *node,
          "'default' is the project of the users of no other, with the share that the others "
          "leave: lower their shares to give it more, or take another name");
    } else if (!IsProjectName(name)) {
      all.FailAt(*node,
                 fmt::format("{} is no name of a project: write up to {} letters, digits, '-', '_' "
                             "and '.'",
                             core::Quoted(name), kMostLetters));
    } else if (named.size() == kMostProjects) {
      all.FailAt(*node, fmt::format("more than {} projects; leave some out", kMostProjects));
    }
    core::Project project{name, 0, {}, reclaims};
    TomlTable inner(*table, top.file(), fmt::format("[projects.{}]", name), top.error());
    inner.AllowOnly({"share", "users"});
    ReadShare(inner, project);
    ReadUsers(inner, project);
    if (top.error()) return {};
    sum += project.share;
    if (sum > kWhole) {
      inner.Fail("share", fmt::format("the shares sum to {:g}, and there is one whole: with {:g} "
                                      "for '{}' they would fit, or lower another",
                                      sum, std::max(0.0, 1 - (sum - project.share)), name));
      return {};
    }
    named.push_back(std::move(project));
  }
  if (reclaims && named.empty()) {
    all.Fail(kReclaim,
             "reclaim says what projects do, and there are none: write [projects.NAME] with share "
             "and users, or take reclaim out");
    return {};
  }
  return core::WithDefault(std::move(named));
}

core::Result<core::Projects> ParseProjects(std::string_view text, const std::string& name) {
  const auto root = ParseToml(text, name);
  RETURN_IF_ERROR(root);
  std::optional<core::Error> error;
  TomlTable top(*root, name, "the file of projects", error);
  top.AllowOnly({"projects", "limits", "sharing", "prices"});
  core::Projects projects = ProjectsIn(top);
  if (error) return tl::unexpected(*std::move(error));
  if (projects.empty()) {
    return core::UsageError(
        "{}: there are no projects in it; write [projects.NAME] with share = 0.5 and users = "
        "[\"ann\"]",
        name);
  }
  return projects;
}

core::Result<core::Projects> ReadProjects(const std::string& path) {
  const auto file = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(file);
  return ParseProjects(file->text(), path);
}

}  // namespace sharewell::catalogue
