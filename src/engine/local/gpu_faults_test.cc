#include "engine/local/gpu_faults.h"

#include <gmock/gmock.h>

#include "platform/files/test_folder.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kMmuFault =
    "6,1042,81234567,-;NVRM: Xid (PCI:0000:4e:00): 31, pid=4711, name=python3, Ch 00000008, intr "
    "00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_0 faulted @ 0x7f00_00000000.";

TEST(GpuFaults, TheProcessIsNamedInARecord) {
  EXPECT_EQ(BlamedIn(kMmuFault, Seconds(80)), 4711);
  EXPECT_EQ(BlamedIn(kMmuFault, Seconds(82)), std::nullopt) << "long ago";
  EXPECT_EQ(BlamedIn("6,1,99000000,-;NVRM: Xid (PCI:0000:4e:00): 13, pid='12', name=a", Seconds(0)),
            12);
  for (const char* other :
       {"", ",", ",,", "6,1,2,-;usb 1-1: new device, pid=3",
        "6,1,99000000,-;NVRM: Xid (PCI:0000:4e:00): 79, pid=5, GPU has fallen off the bus.",
        "6,1,99000000,-;NVRM: Xid (PCI:0000:4e:00): 31, pid=<unknown>, name=<unknown>",
        "6,1,99000000,-;NVRM: Xid (PCI:0000:4e:00): 31, Ch 00000008",
        "NVRM: Xid (PCI:0000:4e:00): 31, pid=4711"}) {
    EXPECT_EQ(BlamedIn(other, Seconds(0)), std::nullopt) << other;
  }
}

TEST(GpuFaults, AllOfALog) {
  const platform::TestFolder folder;
  std::string log;
  for (int i = 0; i < 1000; ++i) log += "6,1,90000000,-;something else\n SUBSYSTEM=pci\n";
  log += std::string(kMmuFault) + "\n";
  for (int i = 0; i < 1000; ++i) log += "6,1,90000000,-;something else\n";
  const std::string path = folder.Write("kmsg", log);
  EXPECT_THAT(BlamedProcesses(path, Seconds(80)), ElementsAre(4711));
  EXPECT_THAT(BlamedProcesses(path, Seconds(85)), IsEmpty());
  EXPECT_THAT(BlamedProcesses(folder.Path("none"), Seconds(0)), IsEmpty());
}

}  // namespace
}  // namespace sharewell::engine
