// Server: all the parts of `sharewell serve`, put together. The one place that knows them all.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/units.h"
#include "http/http_server.h"
#include "policy/options.h"
#include "server/settings/settings_file.h"
#include "server/settings/state_folder.h"

namespace sharewell::server {

// A Slurm cluster that keeps running the jobs, while Sharewell decides.
struct SlurmOptions {
  std::string partition;   // empty: all
  bool user_mode = false;  // places one's own jobs, which needs no admin rights
  bool dry_run = false;    // decide and log, touch nothing
};

// A Kubernetes cluster whose pods are bound here.
struct KubernetesOptions {
  std::string scheduler = "sharewell";  // pods with this schedulerName
  std::string name_space = {};          // of this namespace alone; empty: of all
  std::string kubeconfig = {};          // empty: $KUBECONFIG, the service account, ~/.kube/config
  std::string context = {};             // empty: the kubeconfig's current one
  // Where the Lease is by which one of several replicas leads; empty: there is but this one.
  std::string lease_namespace = {};
};

struct ServerOptions {
  std::string store;  // as store::Open has it
  // Where `sharewell monitor` on the nodes of a cluster writes; empty: `store`.
  std::string agents_store;
  std::string state;                    // the folder for jobs, logs and tokens
  OtherRuns runs = OtherRuns::kRefuse;  // of another store, in that folder
  std::string policy = "sharewell";
  std::string gpus;  // declared, simulated ones; empty: those that are here
  std::string node;
  std::optional<SlurmOptions> slurm;  // absent: jobs run on this machine
  std::vector<http::ListenAddress> addresses;
  std::optional<std::uint32_t> admin_group;
  SettingsFile settings;
  core::Ratio max_slowdown = 1.25;
  double match_patience = policy::Options().match_patience;
  core::Seconds grace{20};
  core::Seconds pause_gap{60};  // between two pauses of a job, at least
  std::string trained = {};     // a model file to predict by; empty: the one in the program
  // What goes wrong and comes right again while it runs. Any thread.
  std::function<void(const std::string&)> log = [](const std::string&) {};
  std::optional<KubernetesOptions> kubernetes = {};  // with this or `slurm` no job runs here

  const std::string& AgentsStore() const { return agents_store.empty() ? store : agents_store; }
};

class Server {
 public:
  // Everything is ready and jobs of an earlier server are found again when it returns.
  static core::Result<std::unique_ptr<Server>> Start(const ServerOptions& options);
  ~Server();  // jobs run on
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  bool HasGpus() const;
  // What keeps it from doing its work, in words with what to do; empty: nothing does. Any thread.
  std::string Problem() const;
  // Where a browser finds the dashboard, "http://127.0.0.1:10401/"; empty: nowhere.
  std::string Dashboard() const;
  std::vector<std::string> Greeting() const;  // what it is and what was assumed, for people

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace sharewell::server
