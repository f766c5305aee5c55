#include "engine/kubernetes/api/kube_access.h"

#include <gmock/gmock.h>

#include <map>

#include "engine/kubernetes/api/plain_yaml.h"
#include "platform/files/test_folder.h"

namespace sharewell::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kConfig = R"(apiVersion: v1
kind: Config
current-context: lab
clusters:
- name: here
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority-data: Q0EtUEVN   # "CA-PEM"
- cluster: {server: "https://far", certificate-authority: far.pem}
  name: far
- {name: blind, cluster: {server: "https://x", insecure-skip-tls-verify: true}}
users:
- name: bob
  user:
    token: bobs-secret
- name: cert
  user: {client-certificate-data: Q0VSVA==, client-key: key.pem}
- name: file
  user: {tokenFile: token, token: older}
- name: cloud
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: aws
      args: [eks, get-token]
- {name: old, user: {auth-provider: {name: gcp}}}
- {name: basic, user: {username: u, password: hush}}
- {name: empty, user: {}}
contexts:
- {name: lab, context: {cluster: here, user: bob, namespace: team}}
- {name: by-certificate, context: {cluster: far, user: cert}}
- {name: by-file, context: {cluster: here, user: file}}
- {name: cloud, context: {cluster: here, user: cloud}}
- {name: old, context: {cluster: here, user: old}}
- {name: basic, context: {cluster: here, user: basic}}
- {name: empty, context: {cluster: here, user: empty}}
- {name: blind, context: {cluster: blind, user: bob}}
- {name: torn, context: {cluster: gone, user: bob}}
)";

core::Result<std::string> Named(const std::string& path) { return "<" + path + ">"; }

std::string Why(const std::string& text, const std::string& context = "") {
  const auto access = ParseKubeconfig(text, context, Named);
  return access ? "" : access.error().message;
}

TEST(KubeAccess, ReadsTheContextThatIsCurrentOrNamed) {
  const auto lab = ParseKubeconfig(kConfig, "", Named);
  ASSERT_TRUE(lab) << lab.error().message;
  EXPECT_EQ(lab->server, "https://10.0.0.1:6443");
  EXPECT_EQ(lab->ca_pem, "CA-PEM");
  EXPECT_EQ(lab->token, "bobs-secret");
  EXPECT_EQ(lab->name_space, "team");
  EXPECT_EQ(lab->certificate_pem, "");
  const auto far = ParseKubeconfig(kConfig, "by-certificate", Named);
  ASSERT_TRUE(far) << far.error().message;
  EXPECT_EQ(far->ca_pem, "<far.pem>");
  EXPECT_EQ(far->certificate_pem, "CERT");
  EXPECT_EQ(far->key_pem, "<key.pem>");
  EXPECT_EQ(far->token, "");
  const auto file = ParseKubeconfig(kConfig, "by-file", Named);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->token_file, "token");
  EXPECT_EQ(file->token, "") << "as for kubectl, the file counts";
}

TEST(KubeAccess, RefusesWhatItCannotDoAndSaysWhatToDo) {
  EXPECT_THAT(Why(kConfig, "cloud"), HasSubstr("the program 'aws' (exec)"));
  EXPECT_THAT(Why(kConfig, "cloud"), HasSubstr("context 'cloud': user 'cloud'"));
  EXPECT_THAT(Why(kConfig, "cloud"), HasSubstr("make a service account"));
  EXPECT_THAT(Why(kConfig, "old"), HasSubstr("'gcp' (auth-provider)"));
  EXPECT_THAT(Why(kConfig, "basic"), HasSubstr("no passwords"));
  EXPECT_THAT(Why(kConfig, "basic"), Not(HasSubstr("hush")));
  EXPECT_THAT(Why(kConfig, "empty"), HasSubstr("no token and no client certificate"));
  EXPECT_THAT(Why(kConfig, "blind"), HasSubstr("insecure-skip-tls-verify"));
  EXPECT_THAT(Why(kConfig, "torn"), HasSubstr("there is no 'gone' among its clusters"));
  EXPECT_THAT(Why(kConfig, "nowhere"), HasSubstr("it has 'lab', 'by-certificate'"));
  EXPECT_THAT(Why("kind: Config"), HasSubstr("no current-context"));
  EXPECT_THAT(Why("[]"), HasSubstr("no kubeconfig"));
  EXPECT_THAT(Why(""), HasSubstr("no kubeconfig"));
}

TEST(KubeAccess, AFileThatIsNoPlainYamlIsRefusedByItsLine) {
  EXPECT_THAT(Why("a: b\nc: [d\n"), HasSubstr("line "));
  EXPECT_THAT(Why("a: &x [1]\nb: *x\n"), HasSubstr("line 1: anchors"));
  EXPECT_THAT(Why("a: b\n---\nc: d\n"), HasSubstr("second document"));
  EXPECT_THAT(Why(std::string(100, '[') + std::string(100, ']')), HasSubstr("too deep"));
  EXPECT_THAT(Why(std::string((1 << 20) + 1, ' ')), HasSubstr("1 MiB"));
  std::string many = "a: [";
  for (int i = 0; i < 200'000; ++i) many += "1,";
  EXPECT_THAT(Why(many + "1]"), HasSubstr("too many"));
  EXPECT_THAT(Why("clusters:\n- {name: a, cluster: {certificate-authority-data: '%%'}}\n"
                  "users: [{name: u, user: {token: t}}]\n"
                  "contexts: [{name: c, context: {cluster: a, user: u}}]\ncurrent-context: c\n"),
              HasSubstr("certificate-authority-data is no base64"));
}

TEST(KubeAccess, IsFoundByTheFlagTheVariableThePodOrTheHome) {
  const platform::TestFolder folder;
  std::map<std::string, std::string> variables;
  KubeAccessOptions options;
  options.account_folder = folder.path();
  options.environment = [&](const char* name) { return variables[name]; };
  const auto none = FindKubeAccess(options);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("--kubeconfig FILE"));

  variables["KUBERNETES_SERVICE_HOST"] = "fd00::1";
  variables["KUBERNETES_SERVICE_PORT"] = "6443";
  EXPECT_FALSE(FindKubeAccess(options)) << "a pod without a service account";
  folder.Write("ca.crt", "CA");
  folder.Write("token", "t");
  folder.Write("namespace", "sharewell-system\n");
  const auto pod = FindKubeAccess(options);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->server, "https://[fd00::1]:6443");
  EXPECT_EQ(pod->ca_pem, "CA");
  EXPECT_EQ(pod->token_file, folder.Path("token"));
  EXPECT_EQ(pod->token, "");
  EXPECT_EQ(pod->name_space, "sharewell-system");

  folder.Write("far.pem", "FAR");
  folder.Write("key.pem", "KEY");
  variables["KUBECONFIG"] = folder.Write("config", kConfig);
  options.context = "by-certificate";
  const auto by_variable = FindKubeAccess(options);
  ASSERT_TRUE(by_variable) << by_variable.error().message;
  EXPECT_EQ(by_variable->ca_pem, "FAR") << "beside the kubeconfig";
  options.context = "by-file";
  EXPECT_EQ(FindKubeAccess(options)->token_file, folder.Path("token"));
  variables["KUBECONFIG"] += ":/other";
  EXPECT_THAT(FindKubeAccess(options).error().message, HasSubstr("several files"));
  options.kubeconfig = folder.Path("nothing");
  EXPECT_FALSE(FindKubeAccess(options));
}

}  // namespace
}  // namespace sharewell::engine
