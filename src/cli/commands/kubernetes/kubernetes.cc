#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/kubernetes/inject.h"
#include "cli/commands/kubernetes/publish_gpus.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"

namespace sharewell::cli {
namespace {

class KubernetesCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("action", action_, "what to do")->type_name("inject|publish-gpus")->required();
    app.add_option("--scheduler-name", scheduler_,
                   "inject: the name that `sharewell serve` was given")
        ->type_name("NAME")
        ->capture_default_str();
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
    const std::vector<std::string> actions = {"inject", "publish-gpus"};
    if (action_ == "inject") return InjectFromInput(scheduler_);
    if (action_ == "publish-gpus") return PublishGpus(publish_);
    return core::UsageError("kubernetes: {} is not allowed; give inject or publish-gpus{}",
                            core::Quoted(action_), core::DidYouMean(action_, actions));
  }

 private:
  std::string action_, scheduler_ = "sharewell";
  PublishGpusFlags publish_;
};

}  // namespace

std::unique_ptr<Command> NewKubernetesCommand() { return std::make_unique<KubernetesCommand>(); }

}  // namespace sharewell::cli
