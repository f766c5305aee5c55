#include "engine/local/container.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "platform/files/test_folder.h"
#include "platform/process/child.h"
#include "platform/process/cpu_set.h"
#include "platform/process/find_program.h"

namespace sharewell::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = ContainerRuntime::Kind;

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

RunRequest Training() {
  RunRequest request;
  request.id = {17, 2};
  request.user = {"ann", 1000, 100, false};
  request.asked.image = "docker.io/pytorch/pytorch:2.7.0";
  request.asked.command = {"python3", "train.py", "--lr", "0.1; rm -rf /"};
  request.asked.folder = "/home/ann/a,b";
  request.gpus = {{0, "GPU-1", "H200"}, {1, "GPU-2", "H200"}};
  return request;
}

ContainerPlace Bounded() {
  ContainerPlace place;
  place.name = "sharewell.0badcafe.17.2";
  place.id_ranges = true;
  place.cpus = {0, 1, 2, 3, 8};
  place.memory = core::GiB(4);
  place.folders = {"/var/lib/s/jobs/17.2", "/var/lib/s/mps/1/pipe", "/", ""};
  place.environment = {{"TOKEN", "secret"}, {"PATH", "/usr/bin"}, {"9=x", "y"}, {"LANG", "C"}};
  return place;
}

TEST(Container, PodmanAndDocker) {
  const auto podman = ContainerCommand({Kind::kPodman, "/usr/bin/podman"}, Training(), Bounded());
  const std::string text = Joined(podman);
  EXPECT_EQ(text.find("--umask"), std::string::npos) << "the runtime's own, which is 022";
  RunRequest closed = Training();
  closed.asked.umask = 0027;
  EXPECT_THAT(Joined(ContainerCommand({Kind::kPodman, "podman"}, closed, Bounded())),
              HasSubstr(" --umask 0027 "));
  EXPECT_THAT(text, HasSubstr("/usr/bin/podman run --rm --init --name sharewell.0badcafe.17.2"));
  if (::geteuid() == 0) {
    EXPECT_THAT(text, HasSubstr("--userns keep-id --user 1000:100"));
  }
  EXPECT_THAT(text, HasSubstr("--cpuset-cpus 0-3,8 --memory 4294967296"));
  EXPECT_THAT(text, HasSubstr("--device nvidia.com/gpu=GPU-1 --device nvidia.com/gpu=GPU-2"));
  EXPECT_THAT(podman, Contains("type=bind,\"source=/home/ann/a,b\",\"target=/home/ann/a,b\""));
  EXPECT_THAT(podman, Contains("type=bind,source=/var/lib/s/mps/1/pipe,"
                               "target=/var/lib/s/mps/1/pipe"));
  EXPECT_THAT(podman, Not(Contains("type=bind,source=/,target=/")));
  EXPECT_THAT(text, HasSubstr("--env TOKEN --env LANG docker.io/pytorch/pytorch:2.7.0 python3"))
      << "the host's paths stay out, and no value is among the words";
  EXPECT_THAT(text, Not(HasSubstr("secret")));
  EXPECT_EQ(podman.back(), "0.1; rm -rf /") << "one word stays one word";

  ContainerPlace inside = Bounded();
  inside.in_cgroup = true;
  const std::string disabled =
      Joined(ContainerCommand({Kind::kPodman, "podman", "crun"}, Training(), inside));
  EXPECT_THAT(disabled, HasSubstr("podman --runtime crun"));
  EXPECT_THAT(disabled, HasSubstr("--cgroups disabled"));
  EXPECT_THAT(disabled, Not(HasSubstr("--memory")));
  RunRequest of_root = Training();
  of_root.user = {"root", 0, 0, true};
  if (::geteuid() == 0) {
    EXPECT_THAT(Joined(ContainerCommand({Kind::kPodman, "podman", "runc"}, of_root, inside)),
                HasSubstr("--cpuset-cpus"))
        << "root's runc makes a group of its own";
    const std::string users =
        Joined(ContainerCommand({Kind::kPodman, "podman", "runc"}, Training(), inside));
    EXPECT_THAT(users, HasSubstr("--runtime runc --cgroup-manager cgroupfs run"));
    EXPECT_THAT(users, Not(HasSubstr("--cpuset-cpus"))) << "the run's group bounds it";
  }

  const std::string docker =
      Joined(ContainerCommand({Kind::kDocker, "docker"}, Training(), inside));
  EXPECT_THAT(docker, HasSubstr("--gpus \"device=GPU-1,GPU-2\""));
  EXPECT_THAT(docker, HasSubstr("--cpuset-cpus 0-3,8")) << "its daemon is in no group of ours";
  EXPECT_THAT(docker, Not(HasSubstr("keep-id")));
}

TEST(Container, Apptainer) {
  RunRequest request = Training();
  const auto words = ContainerCommand({Kind::kApptainer, "apptainer"}, request, Bounded());
  const std::string text = Joined(words);
  EXPECT_THAT(text, HasSubstr("apptainer exec"));
  EXPECT_THAT(text, HasSubstr("--nv"));
  EXPECT_THAT(text, HasSubstr(" docker://docker.io/pytorch/pytorch:2.7.0 python3"));
  EXPECT_THAT(text, Not(HasSubstr("secret")));
  request.asked.image = "/images/torch.sif";
  request.gpus = {{0, "simulated-0", "H200"}};
  const auto file = ContainerCommand({Kind::kApptainer, "apptainer"}, request, Bounded());
  EXPECT_THAT(file, Contains("/images/torch.sif"));
  EXPECT_THAT(file, Not(Contains("--nv"))) << "there is no GPU to show";
}

TEST(Container, ImagesAreCheckedAndRuntimesFound) {
  for (const char* good : {"busybox", "localhost/a_b:1.2-x", "ghcr.io/a/b@sha256:00ff",
                           "docker://x/y", "/images/torch.sif"}) {
    EXPECT_TRUE(CheckImage(good)) << good;
  }
  const std::string bad[] = {"",
                             "-v/:/host",
                             "a b",
                             "a;b",
                             "$(x)",
                             "a\nb",
                             "\xff",
                             "a\"b",
                             std::string(513, 'a'),
                             std::string("a\0b", 3)};
  for (const std::string& image : bad) {
    const auto checked = CheckImage(image);
    ASSERT_FALSE(checked) << image;
    EXPECT_EQ(checked.error().kind, core::ErrorKind::kUsage);
  }
  platform::TestFolder folder;
  const auto none = FindContainerRuntime(folder.Path(""));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, core::ErrorKind::kAbsent);
  EXPECT_THAT(none.error().message, HasSubstr("podman, docker or apptainer"));
  for (const char* name : {"apptainer", "docker", "podman"}) {
    ::chmod(folder.Write(name, "#!/bin/sh\n").c_str(), 0755);
    const auto found = FindContainerRuntime(folder.Path(""));
    ASSERT_TRUE(found);
    EXPECT_THAT(found->program, HasSubstr(name)) << "podman before docker before apptainer";
  }
  for (const char* name : {"crun", "runc"}) {
    ::chmod(folder.Write(name, "#!/bin/sh\n").c_str(), 0755);
  }
  EXPECT_EQ(FindContainerRuntime(folder.Path(""), folder.Path(""))->oci, "crun");
  std::filesystem::create_directories(folder.Path("sys/fs/cgroup/unified"));
  folder.Write("sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n");
  EXPECT_EQ(FindContainerRuntime(folder.Path(""), folder.Path(""))->oci, "runc");
  EXPECT_THAT(ContainerRemoval({Kind::kPodman, "podman"}, "sharewell.0badcafe.17.2"),
              ElementsAre("podman", "rm", "--force", "sharewell.0badcafe.17.2"));
  EXPECT_TRUE(ContainerRemoval({Kind::kApptainer, "apptainer"}, "x").empty());
}

TEST(Container, OneThatIsWatchedSeesItsWatcherAndAsksForWhatItsImageSets) {
  ContainerPlace place = Bounded();
  place.watcher = "/var/lib/sharewell/watcher";
  const auto words = ContainerCommand({Kind::kPodman, "podman"}, Training(), place);
  EXPECT_THAT(std::vector<std::string>(words.begin(), words.begin() + 2),
              ElementsAre("/bin/sh", "-c"));
  EXPECT_THAT(std::vector<std::string>(words.begin() + 3, words.begin() + 8),
              ElementsAre("sharewell", "podman", Training().asked.image,
                          "/var/lib/sharewell/watcher", "podman"));
  const std::string text = Joined(words);
  EXPECT_THAT(text, HasSubstr("type=bind,source=/var/lib/sharewell/watcher,"
                              "target=/var/lib/sharewell/watcher,readonly"));
  EXPECT_THAT(text, HasSubstr("--env PYTHONPATH"));
  // Of apptainer's images nobody can tell what they set.
  EXPECT_EQ(ContainerCommand({Kind::kApptainer, "apptainer"}, Training(), place).front(),
            "apptainer");
}

// The shell around it, with a runtime that is a script.
TEST(Container, TheImagesOwnPathStaysBehindTheWatchers) {
  platform::TestFolder folder;
  const auto runtime = [&](const std::string& inspect) {
    const std::string path = folder.Write(
        "podman", "#!/bin/sh\nif [ \"$1\" = image ]; then " + inspect +
                      "; fi\nif [ \"$1\" = pull ]; then echo pulled >> " + folder.Path("pulls") +
                      "; exit 1; fi\necho \"path ${PYTHONPATH-unset}\" > " + folder.Path("said") +
                      "\n");
    ::chmod(path.c_str(), 0755);
    return path;
  };
  ContainerPlace place = Bounded();
  place.watcher = "/w w";
  const auto said = [&](const std::string& inspect) {
    platform::ChildOptions options;
    options.command = ContainerCommand({Kind::kPodman, runtime(inspect)}, Training(), place);
    auto child = platform::Child::Start(options);
    EXPECT_TRUE(child);
    while (child && !(*child)->Ended()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return platform::TestFolder::Read(folder.Path("said"));
  };
  EXPECT_EQ(said("printf 'PATH=/bin\\nPYTHONPATH=/opt/a b:/c\\n'; exit 0"),
            "path /w w:/opt/a b:/c\n");
  EXPECT_EQ(said("echo PATH=/bin; exit 0"), "path /w w\n");
  EXPECT_FALSE(std::filesystem::exists(folder.Path("pulls")));
  EXPECT_EQ(said("exit 125"), "path unset\n");  // it runs, and nobody watches
  EXPECT_TRUE(std::filesystem::exists(folder.Path("pulls")));
}

TEST(Container, WithoutRangesOfIdsRootInsideIsTheUserOutside) {
  platform::TestFolder folder;
  const core::Account ann{"ann", 1000, 100, false};
  const auto check = [&] { return CheckIdRanges(ann, folder.Path("bin"), folder.Path("")); };
  ASSERT_FALSE(check());
  EXPECT_THAT(check().error().message, HasSubstr("apt-get install uidmap"));
  std::filesystem::create_directories(folder.Path("bin"));
  std::filesystem::create_directories(folder.Path("etc"));
  for (const char* name : {"bin/newuidmap", "bin/newgidmap"}) {
    ::chmod(folder.Write(name, "#!/bin/sh\n").c_str(), 0755);
  }
  folder.Write("etc/subuid", "anna:100000:65536\nann:165536:65536\n");
  folder.Write("etc/subgid", "anna:100000:65536\n");
  ASSERT_FALSE(check());
  EXPECT_THAT(check().error().message, HasSubstr("/etc/subgid has no range of ids for 'ann'"));
  EXPECT_THAT(check().error().message, HasSubstr("usermod --add-subuids"));
  folder.Write("etc/subgid", "1000:165536:65536\n");
  EXPECT_TRUE(check());

  ContainerPlace place = Bounded();
  place.id_ranges = false;
  RunRequest request = Training();
  request.asked.terminal = true;
  const std::string text = Joined(ContainerCommand({Kind::kPodman, "podman"}, request, place));
  EXPECT_THAT(text, HasSubstr("--interactive --tty"));
  EXPECT_THAT(text, Not(HasSubstr("keep-id")));
  if (::geteuid() == 0) {
    EXPECT_THAT(text, HasSubstr("--user 0:0"));
  }
}

// A container of podman's, from an image made here: nothing is downloaded.
class PodmanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
    const auto runtime = FindContainerRuntime();
    const auto busybox = platform::FindProgram("busybox", path);
    if (!runtime || runtime->kind != Kind::kPodman || !busybox) {
      GTEST_SKIP() << "podman or busybox is not installed";
    }
    runtime_ = *runtime;
    // Images and containers of the test's own.
    folder_.Write("storage.conf", "[storage]\ndriver = \"vfs\"\ngraphroot = \"" +
                                      folder_.Path("graph") + "\"\nrootless_storage_path = \"" +
                                      folder_.Path("graph") + "\"\nrunroot = \"" +
                                      folder_.Path("run") + "\"\n");
    std::filesystem::create_directories(folder_.Path("image/bin"));
    for (const char* part : {"dev", "etc", "proc", "sys", "tmp"}) {
      std::filesystem::create_directories(folder_.Path("image/" + std::string(part)));
    }
    std::filesystem::copy_file(*busybox, folder_.Path("image/bin/busybox"));
    for (const char* name : {"cat", "grep", "id", "sh", "sleep"}) {
      std::filesystem::create_symlink("busybox", folder_.Path("image/bin/" + std::string(name)));
    }
    ASSERT_EQ(Run({"tar", "-C", folder_.Path("image"), "-cf", folder_.Path("image.tar"), "."}), 0);
    // Whether podman itself can run anything here, as it is; how we ask it is what is tested.
    std::vector<std::string> plain = {runtime_.program};
    if (!runtime_.oci.empty()) plain.insert(plain.end(), {"--runtime", runtime_.oci});
    plain.insert(plain.end(), {"run", "--rm", "--network", "host", "--ulimit", "nofile=256:256",
                               "--ulimit", "nproc=1024:1024"});
    if (::geteuid() == 0) plain.insert(plain.end(), {"--ipc", "host"});
    plain.insert(plain.end(), {kImage, "sh", "-c", "exit 7"});
    if (Run({runtime_.program, "import", folder_.Path("image.tar"), kImage}) != 0 ||
        Run(plain) != 7) {
      GTEST_SKIP() << "podman cannot run a container here: " << Said();
    }
    std::filesystem::create_directories(folder_.Path("work"));
  }
  std::unique_ptr<platform::Child> Start(std::vector<std::string> words) {
    platform::ChildOptions options;
    options.command = std::move(words);
    options.environment = {{"CONTAINERS_STORAGE_CONF", folder_.Path("storage.conf")},
                           {"GREETING", "good day"}};
    options.out = {platform::ChildOutput::To::kFile, folder_.Path("said")};
    options.err = options.out;
    std::filesystem::remove(folder_.Path("said"));
    auto child = platform::Child::Start(options);
    EXPECT_TRUE(child) << child.error().message;
    return child ? std::move(*child) : nullptr;
  }
  int Run(std::vector<std::string> words) {
    const auto child = Start(std::move(words));
    while (child && !child->Ended()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return child ? child->Ended()->code : -1;
  }
  std::string Said() const { return platform::TestFolder::Read(folder_.Path("said")); }
  static std::string NameOfRun(int run) {
    return fmt::format("sharewell-test.{}.{}", ::getpid(), run);
  }
  std::vector<std::string> In(const std::string& script) {
    RunRequest request;
    request.id = {::getpid(), ++runs_};
    request.user = {"", ::geteuid(), ::getegid(), false};
    request.asked.image = kImage;
    request.asked.folder = folder_.Path("work");
    request.asked.command = {"sh", "-c", script};
    ContainerPlace place;
    place.name = NameOfRun(runs_);
    place.id_ranges = CheckIdRanges(request.user).has_value();
    // Who is not root may have no right to bound them.
    if (::geteuid() == 0) place.cpus = {platform::AllowedCpus().back()};
    place.environment = {{"GREETING", "good day"}, {"PATH", "/nowhere"}};
    return ContainerCommand(runtime_, request, place);
  }

  static constexpr const char* kImage = "localhost/sharewell-test:1";
  platform::TestFolder folder_;
  ContainerRuntime runtime_;
  int runs_ = 0;
};

TEST_F(PodmanTest, RunsAJobInsideAndPassesItsEndOn) {
  const int code =
      Run(In("id -u; echo $GREETING > told; pwd; "
             "grep Cpus_allowed_list /proc/self/status; exit 7"));
  EXPECT_EQ(code, 7) << Said();
  const bool himself = ::geteuid() == 0 || CheckIdRanges({"", ::geteuid(), 0, false}).has_value();
  EXPECT_THAT(Said(), HasSubstr(std::to_string(himself ? ::geteuid() : 0) + "\n" +
                                folder_.Path("work") + "\n"));
  if (::geteuid() == 0) {
    EXPECT_THAT(Said(), HasSubstr(":\t" + std::to_string(platform::AllowedCpus().back()) + "\n"));
  }
  EXPECT_EQ(platform::TestFolder::Read(folder_.Path("work/told")), "good day\n");

  // In the first moments of a container podman itself takes the signal and leaves it behind, for
  // ContainerRemoval to end.
  int code_of_stopped = -1;
  for (const int wait_ms : {300, 1000, 5000}) {
    std::filesystem::remove(folder_.Path("work/ready"));
    const auto child =
        Start(In("trap 'echo saved > told; exit 3' TERM; echo > ready; "
                 "while true; do sleep 0.05; done"));
    ASSERT_NE(child, nullptr);
    for (int i = 0; i < 6000 && !std::filesystem::exists(folder_.Path("work/ready")); ++i) {
      ASSERT_FALSE(child->Ended()) << Said();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    ::kill(child->pid(), SIGTERM);
    for (int i = 0; i < 6000 && !child->Ended(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ASSERT_TRUE(child->Ended()) << Said();
    code_of_stopped = child->Ended()->code;
    EXPECT_EQ(Run(ContainerRemoval(runtime_, NameOfRun(runs_))), 0) << "whether it is gone or not";
    if (code_of_stopped == 3) break;
  }
  EXPECT_EQ(code_of_stopped, 3);
  EXPECT_EQ(platform::TestFolder::Read(folder_.Path("work/told")), "saved\n");
}

}  // namespace
}  // namespace sharewell::engine
