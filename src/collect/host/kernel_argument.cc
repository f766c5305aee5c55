#include "collect/host/kernel_argument.h"

#include <fmt/format.h>

namespace sharewell::collect {

std::string AddKernelArgument(HostFiles& files, std::string_view argument) {
  if (files.Exists("/usr/sbin/grubby")) {
    return fmt::format("sudo grubby --update-kernel=ALL --args={} && sudo reboot", argument);
  }
  if (files.Exists("/usr/sbin/update-grub")) {
    return fmt::format(
        "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {}\"' | sudo tee -a /etc/default/grub && "
        "sudo update-grub && sudo reboot",
        argument);
  }
  return fmt::format("add {} to the kernel's command line in your boot loader, and reboot",
                     argument);
}

}  // namespace sharewell::collect
