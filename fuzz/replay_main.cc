// Gives every fuzzer each file of its folder of the corpus, without libFuzzer. A fuzzer without
// inputs is an error: a replay that replays nothing proves nothing. The name of an input is printed
// before it is tried, so that what ends the program is the last one named.
//
//   replay_fuzzers CORPUS [NAME...]
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

struct Replayed {
  std::string_view name;
  int (*try_input)(const std::uint8_t* data, std::size_t size);
};

#include "replayed.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  if (argc < 2) {
    std::fprintf(stderr, "usage: replay_fuzzers CORPUS [NAME...]\n");
    return 2;
  }
  const std::vector<std::string_view> wanted(argv + 2, argv + argc);
  std::size_t replayed = 0;
  bool failed = false;
  for (const Replayed& fuzzer : kReplayed) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), fuzzer.name) == wanted.end())
      continue;
    std::vector<fs::path> inputs;
    std::error_code error;
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(argv[1]) / fuzzer.name, error)) {
      if (entry.is_regular_file()) inputs.push_back(entry.path());
    }
    if (error || inputs.empty()) {
      std::fprintf(stderr, "%.*s has no inputs in %s\n", static_cast<int>(fuzzer.name.size()),
                   fuzzer.name.data(), argv[1]);
      failed = true;
    }
    std::sort(inputs.begin(), inputs.end());
    for (const fs::path& path : inputs) {
      std::ifstream file(path, std::ios::binary);
      const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
      std::fprintf(stderr, "%s (%zu bytes)\n", path.c_str(), bytes.size());
      const std::vector<std::uint8_t> data(bytes.begin(), bytes.end());
      fuzzer.try_input(data.data(), data.size());
    }
    replayed += inputs.size();
  }
  std::printf("%zu inputs replayed\n", replayed);
  return failed ? 1 : 0;
}
