// [projects] of sharewell.toml (docs/projects.md): whether they reclaim, and of each its share and
// its users.
#pragma once

#include <string>
#include <string_view>

#include "catalogue/toml_table.h"
#include "core/projects.h"
#include "core/result.h"

namespace sharewell::catalogue {

// The tables of the top table `top`, in their order in the file, with the default project first;
// none: there are no projects. What is wrong becomes the table's error.
core::Projects ProjectsIn(TomlTable& top);

// A file of projects alone, or a whole sharewell.toml, of which nothing else is read. `name` stands
// in errors, with the line. One without projects is refused.
core::Result<core::Projects> ParseProjects(std::string_view text, const std::string& name);
core::Result<core::Projects> ReadProjects(const std::string& path);

}  // namespace sharewell::catalogue
