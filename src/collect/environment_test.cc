#include "collect/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collect/host/test_host.h"

namespace sharewell::collect {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(MachineFacts, OfARecordedMachine) {
  EXPECT_THAT(
      MachineFacts("tests/fixtures/host/two_socket", "/data/imagenet"),
      ElementsAre(
          Pair("node", "node"), Pair("os", "Rocky Linux 9.4 (Blue Onyx)"),
          Pair("kernel", "5.14.0-427.el9.x86_64"), Pair("machine", "Dell Inc. PowerEdge XE9680"),
          Pair("cpu", "Intel(R) Xeon(R) Platinum 8480+"), Pair("sockets", "2"), Pair("cores", "4"),
          Pair("threads", "4"), Pair("numa nodes", "2"), Pair("memory", "251.6 GiB"),
          Pair("storage", "ext4 on sda (ST4000NM0035, hard disk)"), Pair("allowed cpus", "0-3")));
  EXPECT_THAT(MachineFacts("tests/fixtures/host/two_socket", "/home/ana"),
              Contains(Pair("storage", "nfs4 on server:/home")));
  EXPECT_THAT(MachineFacts("tests/fixtures/host/two_socket", "/database"),
              Contains(Pair("storage", "xfs on nvme0n1 (SAMSUNG MZQL21T9HCJR-00A07, SSD)")));
}

TEST(MachineFacts, SaysTheLimitsItRunsUnder) {
  const Facts facts = MachineFacts("tests/fixtures/host/cgroup_v1", "");
  EXPECT_THAT(facts, Contains(Pair("cpu limit", "1.5 cores")));
  EXPECT_THAT(facts, testing::Not(Contains(Pair("memory limit", testing::_))))
      << "no limit in v1 is a very large one";
  MadeHost host;
  host.Write("/proc/self/cgroup", "0::/a\n");
  host.Write("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
  host.Write("/sys/fs/cgroup/a/memory.max", "8589934592\n");
  host.Write("/.dockerenv", "");
  EXPECT_THAT(MachineFacts(host.root(), ""),
              ElementsAre(Pair("container", "docker"), Pair("memory limit", "8.0 GiB")));
}

TEST(MachineFacts, OfAnEmptyMachineAreNone) {
  MadeHost host;
  EXPECT_THAT(MachineFacts(host.root(), "/"), IsEmpty());
  host.Write("/proc/sys/kernel/hostname", "a\x1b[31mb\n");
  EXPECT_THAT(MachineFacts(host.root(), "/"), ElementsAre(Pair("node", "a [31mb")));
}

TEST(FrameworkFacts, ByTheFilesThatAProcessHasMapped) {
  MadeHost host;
  const std::string base = "/opt/venv/lib/python3.11/site-packages";
  host.Write("/proc/42/maps",
             "7f00-7f01 r-xp 00000000 08:01 1 /usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0\n"
             "7f02-7f03 r-xp 00000000 08:01 2 " +
                 base +
                 "/torch/lib/libtorch_cpu.so\n"
                 "7f04-7f05 r-xp 00000000 08:01 3 " +
                 base +
                 "/torch/lib/libtorch_cuda.so\n"
                 "7f06-7f07 r-xp 00000000 08:01 4 " +
                 base +
                 "/nvidia/cudnn/lib/libcudnn.so.9\n"
                 "7f06-7f07 r-xp 00000000 08:01 5 " +
                 base +
                 "/nvidia/cudnn/lib/libcudnn_ops.so.9\n"
                 "7f08-7f09 r-xp 00000000 08:01 6 /usr/local/cuda/lib64/libcudart.so.12.1.105\n"
                 "7f0a-7f0b rw-p 00000000 00:00 0 [heap]\n");
  host.Write(base + "/torch/version.py",
             "__all__ = ['__version__']\n__version__ = '2.3.0+cu121'\n"
             "cuda: Optional[str] = '12.1'\n");
  host.Write(base + "/nvidia_cudnn_cu12-9.1.0.70.dist-info/METADATA", "");
  EXPECT_THAT(FrameworkFacts(host.root(), 42),
              ElementsAre(Pair("python", "3.11"), Pair("framework", "PyTorch 2.3.0+cu121"),
                          Pair("cudnn", "9.1.0.70"), Pair("cuda", "12.1.105")));
  EXPECT_THAT(FrameworkFacts(host.root(), 43), IsEmpty());
}

TEST(FrameworkFacts, JaxAndTensorFlowByTheirPackages) {
  MadeHost host;
  const std::string base = "/usr/lib/python3/dist-packages";
  host.Write("/proc/7/maps", "1-2 r-xp 0 0:0 1 " + base +
                                 "/jaxlib/xla_extension.so\n"
                                 "1-2 r-xp 0 0:0 1 " +
                                 base + "/tensorflow/libtensorflow.so.2\n");
  host.Write(base + "/jax-0.4.30.dist-info/METADATA", "");
  EXPECT_THAT(FrameworkFacts(host.root(), 7),
              ElementsAre(Pair("framework", "JAX 0.4.30"), Pair("framework", "TensorFlow")));
}

TEST(FindMount, TakesTheNearest) {
  const std::string_view text =
      "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /data rw - xfs /dev/sda2 rw\n"
      "3 1 ../x / /evil rw - tmpfs none rw\nshort\n4 1 0:5 / /cut";
  EXPECT_EQ(FindMount(text, "/data/set").device, "8:2");
  EXPECT_EQ(FindMount(text, "/database").device, "8:1");
  EXPECT_EQ(FindMount(text, "/evil").device, "");
  EXPECT_EQ(FindMount("", "/x").type, "");
}

}  // namespace
}  // namespace sharewell::collect
