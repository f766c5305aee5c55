// Projects: users who share a part of the GPUs (docs/projects.md). Who is below its share goes
// before who is not; what a project does not use, the others borrow. Plain data, by ProjectId.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/snapshot.h"
#include "core/units.h"

namespace sharewell::core {

// The project of the users of no other.
inline constexpr std::string_view kDefaultProject = "default";

struct Project {
  std::string name;
  Ratio share = 0;  // of all GPUs, 0 to 1
  std::vector<std::string> users;
  // While it is below its share its jobs take back what others borrowed. Of all projects alike.
  bool reclaims = false;

  friend bool operator==(const Project&, const Project&) = default;
};

// By ProjectId; the first is kDefaultProject. Empty: there are none, and nobody's job counts.
using Projects = std::vector<Project>;

// The named ones, behind that of the users of none, which has what their shares leave. None of
// none.
Projects WithDefault(std::vector<Project> named);

// Those that name the user, rising; none do: the default one.
std::vector<ProjectId> ProjectsOf(const Projects& projects, std::string_view user);
// The one that `asked` names, if the user is of it; else the user's first.
ProjectId ProjectOf(const Projects& projects, std::string_view user, std::string_view asked);
std::optional<ProjectId> ProjectNamed(const Projects& projects, std::string_view name);
std::vector<Ratio> SharesOf(const Projects& projects);
// They take back what others borrowed.
bool Reclaim(const Projects& projects);

// The GPUs that each of so many projects has in use: of a GPU that several jobs share, each has an
// equal part.
std::vector<double> GpusInUse(const Snapshot& snapshot, std::size_t projects);

}  // namespace sharewell::core
