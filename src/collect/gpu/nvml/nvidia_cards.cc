#include "collect/gpu/nvml/nvidia_cards.h"

#include <filesystem>
#include <fstream>

namespace sharewell::collect {
namespace {

std::string PciWord(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

}  // namespace

int NvidiaCards(const std::string& root) {
  int cards = 0;
  std::error_code error;
  std::filesystem::directory_iterator entry(std::filesystem::path(root) / "sys/bus/pci/devices",
                                            error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    // 0x0300 VGA, 0x0302 3D: a card's audio and USB parts are not counted.
    const std::string kind = PciWord(entry->path() / "class");
    cards +=
        static_cast<int>(PciWord(entry->path() / "vendor") == "0x10de" && kind.starts_with("0x03"));
  }
  return cards;
}

}  // namespace sharewell::collect
