// GET /projects: the projects of the server, what each has in use, and whose they are.
#include <algorithm>

#include "api/api_impl.h"
#include "api/json_answer.h"
#include "api/project_use.h"

namespace sharewell::api {

// Who is in which project is told of whoever asks alone; names and figures are everybody's, as jobs
// and users are.
void AddProjectsRoute(ApiImpl& api) {
  api.Read("/api/v1/projects", [&api](const http::HttpRequest&, const ApiImpl::Who& who) {
    const core::Projects& projects = api.options.projects;
    const auto uses = UseOfProjects(projects, api.service);
    std::vector<core::ProjectId> mine;
    if (who && !projects.empty()) mine = core::ProjectsOf(projects, who->name);
    return SchemaAnswer([&](json::Writer& writer) {
      writer.Field("reclaim", core::Reclaim(projects));
      writer.Key("projects");
      writer.List([&] {
        for (std::size_t p = 0; p < projects.size(); ++p) {
          writer.Object([&] {
            writer.Field("name", projects[p].name);
            writer.Field("share", projects[p].share);
            writer.Field("gpus_of_share", uses[p].gpus_of_share);
            writer.Field("gpus_in_use", uses[p].gpus_in_use);
            writer.Field("running", uses[p].running);
            writer.Field("waiting", uses[p].waiting);
            writer.Field("yours",
                         std::find(mine.begin(), mine.end(), core::ProjectId(p)) != mine.end());
          });
        }
      });
    });
  });
}

}  // namespace sharewell::api
