#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/kubernetes/inject.h"
#include "cli/commands/kubernetes/publish_gpus.h"
#include "cli/commands/kubernetes/webhook.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"

namespace sharewell::cli {
namespace {

// As Kubernetes takes it for a schedulerName: it stands in YAML without quotes.
bool IsSchedulerName(const std::string& name) {
  return !name.empty() && name.size() <= 63 &&
         std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
         });
}

class KubernetesCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("action", action_, "what to do")
        ->type_name("inject|publish-gpus|webhook")
        ->required();
    app.add_option("--scheduler-name", scheduler_,
                   "inject, webhook: the name that `sharewell serve` was given")
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--model", model_,
                   "inject: predict what the pods need from this model file, and write it into "
                   "them")
        ->type_name("FILE");
    app.add_option("--listen", webhook_.listen, "webhook: address for the API server")
        ->type_name("ADDRESS:PORT")
        ->capture_default_str();
    app.add_option("--scheduler-account", webhook_.account,
                   "webhook: the user of the API server that the scheduler is (default: the "
                   "service account sharewell of the webhook's namespace)")
        ->type_name("USER");
    app.add_option("--node", publish_.node, "publish-gpus: this machine's name in Kubernetes")
        ->type_name("NAME");
    app.add_flag("--print", publish_.print, "publish-gpus: print the annotation; change nothing")
        ->disable_flag_override();
    app.add_option("--kubeconfig", publish_.kubeconfig,
                   "how to reach the API server (default: $KUBECONFIG, the pod's service account, "
                   "~/.kube/config)")
        ->type_name("FILE");
    app.add_option("--context", publish_.context, "of the kubeconfig")->type_name("NAME");
  }

  core::Result<ExitCode> Run() override {
    if (!IsSchedulerName(scheduler_)) {
      return core::UsageError(
          "--scheduler-name: {} is no name of a scheduler; use letters, digits, '-'",
          core::Quoted(scheduler_));
    }
    const std::vector<std::string> actions = {"inject", "publish-gpus", "webhook"};
    if (action_ == "inject") return InjectFromInput(scheduler_, model_);
    if (action_ == "publish-gpus") return PublishGpus(publish_);
    if (action_ == "webhook") {
      webhook_.scheduler = scheduler_;
      webhook_.kubeconfig = publish_.kubeconfig;
      webhook_.context = publish_.context;
      return RunWebhook(webhook_);
    }
    return core::UsageError("kubernetes: {} is not allowed; give inject, publish-gpus or webhook{}",
                            core::Quoted(action_), core::DidYouMean(action_, actions));
  }

 private:
  std::string action_, scheduler_ = "sharewell", model_;
  PublishGpusFlags publish_;
  WebhookFlags webhook_;
};

}  // namespace

std::unique_ptr<Command> NewKubernetesCommand() { return std::make_unique<KubernetesCommand>(); }

}  // namespace sharewell::cli
