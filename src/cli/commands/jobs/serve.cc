#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "api/access/access.h"
#include "cli/args/store_flag.h"
#include "cli/args/values.h"
#include "cli/client/server_client.h"
#include "cli/client/sign_in_link.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "server/health_page.h"
#include "server/server.h"
#include "server/settings/daemon.h"
#include "server/settings/settings_file.h"
#include "store/agents_store.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;

constexpr const char* kNowhere = "none";
// Beside the monitor's 10400, so that both can run on one machine.
constexpr const char* kServeAt = "127.0.0.1:10401";

class ServeCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("--policy", options_.policy,
                   "scheduling policy (`sharewell policies` lists them)")
        ->type_name("POLICY")
        ->capture_default_str();
    app.add_option("--gpus", options_.gpus,
                   "use simulated GPUs instead of the real ones: 2xH200; none: CPU-only jobs")
        ->type_name("NxMODEL,...|none");
    app.add_option("--engine", engine_,
                   "who runs the jobs: this machine, or a Slurm or Kubernetes cluster whose jobs "
                   "are placed here")
        ->type_name("local|slurm|kubernetes")
        ->capture_default_str();
    app.add_option("--partition", slurm_.partition, "with --engine slurm: this partition alone")
        ->type_name("NAME");
    app.add_option("--mode", mode_,
                   "with --engine slurm: place everybody's jobs (admin), or one's own (user)")
        ->type_name("admin|user")
        ->capture_default_str();
    app.add_flag("--dry-run", slurm_.dry_run,
                 "with --engine slurm: decide and say what would be done, and change nothing")
        ->disable_flag_override();
    app.add_option("--scheduler-name", kubernetes_.scheduler,
                   "with --engine kubernetes: bind the pods with this schedulerName")
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--namespace", kubernetes_.name_space,
                   "with --engine kubernetes: bind pods of this namespace alone")
        ->type_name("NAME");
    app.add_option("--kubeconfig", kubernetes_.kubeconfig,
                   "with --engine kubernetes: how to reach the API server (default: $KUBECONFIG, "
                   "the pod's service account, ~/.kube/config)")
        ->type_name("FILE");
    app.add_option("--context", kubernetes_.context, "with --engine kubernetes: of the kubeconfig")
        ->type_name("NAME");
    app.add_option(
           "--lease", kubernetes_.lease_namespace,
           "with --engine kubernetes: run as one of several replicas, of which one leads by "
           "a Lease in this namespace")
        ->type_name("NAMESPACE");
    app.add_option("--agents-store", options_.agents_store,
                   "with --engine slurm or kubernetes: where `sharewell monitor` on the nodes "
                   "writes (default: $SHAREWELL_AGENTS_STORE, else the server's own store)")
        ->type_name("FILE|postgresql://USER@HOST/DATABASE");
    app.add_option("--store", options_.store, "a file, or postgresql://USER@HOST/DATABASE")
        ->type_name("FILE");
    app.add_option("--state", state_,
                   "folder for jobs, logs and tokens (default: the store's folder; for a database, "
                   "/var/lib/sharewell or ~/.local/state/sharewell)")
        ->type_name("DIR");
    app.add_option("--runs", runs_,
                   "what to do with runs of another store in the state folder: make them jobs of "
                   "this store, or end them (default: refuse to start)")
        ->type_name("adopt|end");
    app.add_option("--socket", socket_, "socket for the users of this machine")->type_name("FILE");
    app.add_option("--listen", listen_, "address for HTTP: on loopback, or anywhere with TLS")
        ->type_name("ADDRESS:PORT|none")
        ->capture_default_str();
    app.add_option("--health", health_,
                   "address that serves /healthz alone, to anybody: for probes")
        ->type_name("ADDRESS:PORT");
    app.add_option("--tls-cert", certificate_, "certificate chain (PEM)")->type_name("FILE");
    app.add_option("--tls-key", key_, "the certificate's key (PEM)")->type_name("FILE");
    app.add_option("--admin-group", admin_group_,
                   "group whose members are admins of all jobs and GPUs")
        ->type_name("GROUP");
    app.add_option(
           "--config", config_,
           "settings, such as what each user may take (default: "
           "/etc/sharewell/sharewell.toml as root, else ~/.config/sharewell/sharewell.toml)")
        ->type_name("FILE");
    app.add_option("--max-slowdown", max_slowdown_,
                   "maximum slowdown by neighbours, for a job that sets none")
        ->type_name("FACTOR")
        ->capture_default_str();
    app.add_option("--patience", patience_,
                   "match: how long a job waits for the GPU model that suits it, in its durations")
        ->type_name("X|forever")
        ->capture_default_str();
    app.add_option("--grace", grace_, "time between SIGTERM and SIGKILL for a job that is stopped")
        ->type_name("TIME")
        ->capture_default_str();
    app.add_option("--pause-gap", pause_gap_, "shortest time between two pauses of a job")
        ->type_name("TIME")
        ->capture_default_str();
    app.add_option("--trained", options_.trained,
                   "predict by a model of your own, made by `sharewell-lab train`")
        ->type_name("FILE");
    app.add_option("--for", for_, "stop the server after this time (default: when it is told to)")
        ->type_name("TIME");
  }

  Result<ExitCode> Run() override {
    RETURN_IF_ERROR(ReadFlags());
    // Before any thread is started, so that none of them is interrupted.
    const HoldInterrupts held;
    std::unique_ptr<server::HealthPage> health;
    if (!health_.empty()) {
      const auto endpoint = http::ParseEndpoint("--health", health_);
      RETURN_IF_ERROR(endpoint);
      auto served = server::HealthPage::Serve(*endpoint);
      RETURN_IF_ERROR(served);
      health = std::move(*served);
    }
    auto server = server::Server::Start(options_);
    RETURN_IF_ERROR(server);
    if (health) health->SetProblem([&server] { return (*server)->Problem(); });
    const std::string here = socket_.empty() ? "" : " --server " + options_.addresses.front().path;
    SayDashboard((*server)->Dashboard(), here);
    for (const std::string& line : (*server)->Greeting()) SayLine(line);
    if (options_.slurm) {
      const std::string& partition = options_.slurm->partition;
      SayLine(
          fmt::format("try: {}{} --wrap 'sleep 10'; sharewell jobs{}. Ctrl-C stops the "
                      "server; jobs keep running",
                      options_.slurm->user_mode ? "sharewell sbatch --" : "sbatch --gres=gpu:1",
                      partition.empty() ? "" : " --partition=" + partition, here));
    } else if (options_.kubernetes) {
      SayLine(fmt::format(
          "try: kubectl apply -f pod.yaml (docs/kubernetes.md has one); sharewell jobs{}. Ctrl-C "
          "stops the server; pods keep running",
          here));
    } else
      SayLine(
          fmt::format("try: sharewell submit{}{} -- sleep 10; sharewell jobs{}. Ctrl-C stops the "
                      "server; jobs keep running",
                      here, (*server)->HasGpus() ? "" : " --gpus 0", here));
    server::WaitForSignal(left_);
    if (health) health->SetProblem({});
    server->reset();
    while (server::WaitForSignal(core::Seconds(0))) {
    }
    return kOk;
  }

 private:
  // A link that signs in is for eyes alone: what is no terminal may be a log that others read.
  void SayDashboard(const std::string& address, const std::string& here) const {
    if (address.empty()) return;
    const auto client = ::isatty(STDERR_FILENO) == 1
                            ? ServerClient::Find(options_.addresses.front().path)
                            : core::FailedError("no terminal");
    const auto signs_in = client ? AskSignInLink(*client) : tl::unexpected(client.error());
    SayLine(signs_in ? fmt::format("dashboard: {} ({})", signs_in->link, signs_in->Note())
                     : fmt::format("dashboard: {} (`sharewell dashboard{}` prints a link that "
                                   "signs you in)",
                                   address, here));
  }

  Result<void> ReadEngine() {
    if (engine_ != "local" && engine_ != "slurm" && engine_ != "kubernetes") {
      return UsageError("--engine: {} is not allowed; give local, slurm or kubernetes",
                        core::Quoted(engine_));
    }
    if (mode_ != "admin" && mode_ != "user") {
      return UsageError("--mode: {} is not allowed; give admin or user", core::Quoted(mode_));
    }
    slurm_.user_mode = mode_ == "user";
    if (engine_ == "kubernetes") return ReadKubernetes();
    const server::KubernetesOptions none;
    if (kubernetes_.scheduler != none.scheduler || !kubernetes_.name_space.empty() ||
        !kubernetes_.kubeconfig.empty() || !kubernetes_.context.empty() ||
        !kubernetes_.lease_namespace.empty()) {
      return UsageError(
          "--scheduler-name, --namespace, --kubeconfig, --context and --lease are for --engine "
          "kubernetes; give it too");
    }
    if (engine_ == "slurm") {
      if (!options_.gpus.empty()) {
        return UsageError("--gpus is for this machine; with --engine slurm the GPUs are Slurm's");
      }
      if (slurm_.dry_run && options_.store.empty()) {
        return UsageError(
            "--dry-run writes down what it would have done: give it a store of its own, as in "
            "--store dry.db, so that no server takes that for what happened");
      }
      options_.slurm = slurm_;
      return {};
    }
    if (slurm_.user_mode || slurm_.dry_run || !slurm_.partition.empty()) {
      return UsageError("--partition, --mode and --dry-run are for --engine slurm; give it too");
    }
    if (!options_.agents_store.empty()) {
      return UsageError("--agents-store is for --engine slurm or kubernetes; give one of them too");
    }
    return {};
  }

  Result<void> ReadKubernetes() {
    if (!options_.gpus.empty()) {
      return UsageError(
          "--gpus is for this machine; with --engine kubernetes the GPUs are the cluster's");
    }
    if (slurm_.user_mode || slurm_.dry_run || !slurm_.partition.empty()) {
      return UsageError("--partition, --mode and --dry-run are for --engine slurm");
    }
    if (kubernetes_.scheduler.empty() || kubernetes_.scheduler == "default-scheduler") {
      return UsageError(
          "--scheduler-name: {} is kube-scheduler's own; give a name that pods choose on purpose",
          core::Quoted(kubernetes_.scheduler));
    }
    options_.kubernetes = kubernetes_;
    return {};
  }

  Result<void> ReadFlags() {
    RETURN_IF_ERROR(ReadEngine());
    options_.store = StorePlace(options_.store);
    if (options_.agents_store.empty() && engine_ != "local") {
      options_.agents_store = store::AgentsStore();
    }
    if (options_.store.find("://") == std::string::npos) {
      options_.store = std::filesystem::absolute(options_.store).string();
    }
    options_.state = StatePlace(state_, options_.store);
    const auto runs = server::OtherRunsNamed(runs_);
    RETURN_IF_ERROR(runs);
    options_.runs = *runs;
    options_.node = server::HostName();
    options_.log = SayLine;
    const auto slowdown = ParseNumber("--max-slowdown", max_slowdown_, 1, 100);
    RETURN_IF_ERROR(slowdown);
    options_.max_slowdown = *slowdown;
    const auto patience = ParsePatience("--patience", patience_);
    RETURN_IF_ERROR(patience);
    options_.match_patience = *patience;
    const auto grace = ParseTime("--grace", grace_, 1);
    RETURN_IF_ERROR(grace);
    options_.grace = *grace;
    const auto gap = ParseTime("--pause-gap", pause_gap_, 1);
    RETURN_IF_ERROR(gap);
    options_.pause_gap = *gap;
    if (!for_.empty()) {
      const auto time = ParseTime("--for", for_, 3650);
      RETURN_IF_ERROR(time);
      left_ = *time;
    }
    if (!admin_group_.empty()) {
      const auto group = api::GroupNamed("--admin-group", admin_group_);
      RETURN_IF_ERROR(group);
      options_.admin_group = *group;
    }
    auto settings =
        server::ReadSettings(config_.empty() ? UsualConfig() : config_, !config_.empty());
    RETURN_IF_ERROR(settings);
    options_.settings = std::move(*settings);
    return ReadAddresses();
  }

  static std::string UsualConfig() {
    if (::geteuid() == 0) return "/etc/sharewell/sharewell.toml";
    const char* base = std::getenv("XDG_CONFIG_HOME");
    if (base != nullptr && base[0] == '/') return std::string(base) + "/sharewell/sharewell.toml";
    const char* home = std::getenv("HOME");
    return std::string(home != nullptr ? home : "/") + "/.config/sharewell/sharewell.toml";
  }

  Result<void> ReadAddresses() {
    http::ListenAddress local;
    local.kind = http::ListenKind::kUnix;
    local.path = socket_.empty() ? OwnSocket() : std::filesystem::absolute(socket_).string();
    // Root's is everybody's, and the kernel says who each one is; a user's own is theirs alone.
    local.mode = ::geteuid() == 0 ? 0666 : 0600;
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(local.path).parent_path(), ignored);
    options_.addresses.push_back(local);
    if (certificate_.empty() != key_.empty()) {
      return UsageError("TLS needs both: --tls-cert FILE and --tls-key FILE");
    }
    if (listen_ == kNowhere) return {};
    const auto endpoint = http::ParseEndpoint("--listen", listen_);
    RETURN_IF_ERROR(endpoint);
    http::ListenAddress address;
    address.endpoint = *endpoint;
    address.kind = certificate_.empty() ? http::ListenKind::kTcp : http::ListenKind::kTls;
    address.certificate = certificate_;
    address.key = key_;
    if (address.kind == http::ListenKind::kTcp && !endpoint->Loopback()) {
      return UsageError(
          "--listen {}: other machines could reach that, and without TLS anybody on the way reads "
          "tokens; give --tls-cert and --tls-key, or an address of loopback",
          core::Quoted(listen_));
    }
    options_.addresses.push_back(address);
    return {};
  }

  server::ServerOptions options_;
  std::string state_, runs_, socket_, health_, listen_ = kServeAt, certificate_, key_, admin_group_,
                                               for_, config_;
  std::string engine_ = "local", mode_ = "admin";
  server::SlurmOptions slurm_;
  server::KubernetesOptions kubernetes_;
  std::string patience_ = PatienceText();
  std::string max_slowdown_ = "1.25", grace_ = "20s", pause_gap_ = "60s";
  std::optional<core::Seconds> left_;  // absent: for ever
};

}  // namespace

std::unique_ptr<Command> NewServeCommand() { return std::make_unique<ServeCommand>(); }

}  // namespace sharewell::cli
