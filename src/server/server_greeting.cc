// What a server says of itself when it begins.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/text/quoted.h"
#include "core/text/words.h"
#include "server/dashboard.h"
#include "server/server_parts.h"

namespace sharewell::server {
namespace {

// "2 nodes are up, with 4 H200 and 8 V100"
std::string NodesThatAreUp(const core::Cluster& cluster) {
  std::vector<std::string> counts;
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    counts.push_back(
        fmt::format("{} {}", cluster.CountOf(core::GpuModelId(m)), cluster.models()[m].name));
  }
  return fmt::format("{} up, with {}", core::Count(cluster.nodes().size(), "node is", "nodes are"),
                     counts.empty() ? "no GPU" : fmt::format("{}", fmt::join(counts, " and ")));
}

void GreetFromKubernetes(const KubernetesOptions& with, const core::Cluster& cluster,
                         bool hears_agents, std::vector<std::string>& lines) {
  lines.push_back(
      fmt::format("Kubernetes, pods with schedulerName {}{}: {}", with.scheduler,
                  with.name_space.empty() ? "" : ", namespace " + core::Quoted(with.name_space),
                  NodesThatAreUp(cluster)));
  if (hears_agents) return;
  lines.push_back(
      "agents on other machines are not heard, as the store is a file: what pods do there is "
      "not seen, and they share GPUs by what is predicted of them; --agents-store "
      "postgresql://USER@HOST/DATABASE hears them");
}

void GreetFromSlurm(const SlurmOptions& with, const std::string& version,
                    const core::Cluster& cluster, bool hears_agents,
                    std::vector<std::string>& lines) {
  lines.push_back(fmt::format(
      "{}{}: {}", version,
      with.partition.empty() ? "" : fmt::format(", partition {}", core::Quoted(with.partition)),
      NodesThatAreUp(cluster)));
  if (!hears_agents) {
    lines.push_back(
        "agents on the nodes are not heard, as the store is a file: jobs share GPUs by what is "
        "predicted of them alone; --store postgresql://USER@HOST/DATABASE hears them");
  }
  if (with.dry_run) {
    lines.push_back("dry run: it says what it would do, and changes nothing in Slurm");
  }
  if (with.user_mode) {
    lines.push_back(
        "user mode: only jobs that you submitted with `sharewell sbatch` are placed; they share "
        "GPUs with each other alone, and SM shares are not enforced");
  }
}

std::string GpusInWords(const std::vector<control::GpuView>& gpus) {
  if (gpus.empty()) return "no GPU: CPU-only jobs run here";
  const bool simulated = std::any_of(gpus.begin(), gpus.end(),
                                     [](const control::GpuView& gpu) { return gpu.simulated; });
  return core::Count(gpus.size(), "GPU") + (simulated ? " (simulated)" : "");
}

void GreetFromAddresses(const std::vector<http::ListenAddress>& addresses,
                        const http::HttpServer& http, std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const http::ListenAddress& address = addresses[i];
    http::Endpoint at = address.endpoint;
    at.port = http.Port(i);
    if (address.kind != http::ListenKind::kUnix && at.port == 0) continue;  // told below
    lines.push_back(address.kind == http::ListenKind::kUnix
                        ? "socket for users of this machine: " + address.path
                        : fmt::format("{}://{}/api/v1",
                                      address.kind == http::ListenKind::kTls ? "https" : "http",
                                      at.Text()));
  }
  for (const std::string& missing : http.Missing()) {
    lines.push_back(missing + "; until then it is tried again every few seconds");
  }
}

}  // namespace

std::string DashboardAddress(const ServerOptions& options, const http::HttpServer& http) {
  if (DashboardFiles().empty()) return {};
  for (std::size_t i = 0; i < options.addresses.size(); ++i) {
    const http::ListenAddress& address = options.addresses[i];
    if (address.kind == http::ListenKind::kUnix) continue;
    http::Endpoint at = address.endpoint;
    at.port = http.Port(i);
    if (at.port == 0) continue;  // another program holds it
    if (address.kind == http::ListenKind::kTcp) return fmt::format("http://{}/", at.Text());
    // A certificate is for a name; "all addresses" is none.
    return fmt::format("https://{}:{}/", options.node, at.port);
  }
  return {};
}

std::string Server::Dashboard() const { return DashboardAddress(parts_->options, *parts_->http); }

std::vector<std::string> Server::Greeting() const {
  const Parts& all = *parts_;
  std::vector<std::string> lines;
  std::string gpus = GpusInWords(all.machine.gpus);
  if (all.kube) {
    GreetFromKubernetes(*all.options.kubernetes, all.machine.cluster,
                        store::IsPostgres(all.AgentsStore()), lines);
    gpus = "a Kubernetes cluster";
  } else if (all.slurm) {
    GreetFromSlurm(*all.options.slurm, all.slurm_commands.version, all.machine.cluster,
                   all.cluster_agents != nullptr, lines);
    gpus = "a Slurm cluster";
  }
  lines.push_back(
      fmt::format("serving {} with policy {}: {}", all.options.node, all.options.policy, gpus));
  for (const std::string& remark : all.machine.remarks) lines.push_back(remark);
  for (const std::string& remark : all.settings->remarks()) lines.push_back(remark);
  lines.push_back("jobs are kept in " + store::WithoutPassword(all.options.store));
  GreetFromAddresses(all.options.addresses, *all.http, lines);
  return lines;
}

}  // namespace sharewell::server
