#include "platform/process/process_tree.h"

#include <dirent.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace sharewell::platform {

std::vector<int> ProcessTree(int root) {
  std::map<int, std::vector<int>> children;
  DIR* entries = ::opendir("/proc");
  while (const dirent* entry = entries == nullptr ? nullptr : ::readdir(entries)) {
    const int pid = std::atoi(entry->d_name);
    if (pid <= 0) continue;
    char text[512];
    const std::string path = "/proc/" + std::to_string(pid) + "/stat";
    std::FILE* file = std::fopen(path.c_str(), "re");
    if (file == nullptr) continue;
    const std::size_t n = std::fread(text, 1, sizeof text - 1, file);
    std::fclose(file);
    text[n] = 0;
    // The name may hold anything, brackets too: what follows the last one is ours to read.
    const char* after = std::strrchr(text, ')');
    char state = '?';
    int parent = 0;
    if (after == nullptr || std::sscanf(after + 1, " %c %d", &state, &parent) != 2) continue;
    if (state != 'Z' && state != 'X') children[parent].push_back(pid);
  }
  if (entries != nullptr) ::closedir(entries);
  std::vector<int> tree;
  const auto add = [&](int of) {
    const auto found = children.find(of);
    if (found == children.end()) return;
    std::sort(found->second.begin(), found->second.end());
    tree.insert(tree.end(), found->second.begin(), found->second.end());
    children.erase(found);  // a table that changed while it was read may have a ring
  };
  add(root);
  for (std::size_t i = 0; i < tree.size(); ++i) add(tree[i]);
  return tree;
}

}  // namespace sharewell::platform
