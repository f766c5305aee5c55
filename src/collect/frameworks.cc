// Which framework a process runs, by the files that it has mapped.
#include <algorithm>
#include <optional>

#include "collect/environment.h"
#include "collect/host/files.h"
#include "collect/host/scan.h"

namespace sharewell::collect {
namespace {

constexpr std::size_t kMostVersionBytes = 60;

struct KnownPackage {
  std::string_view folder, shown;
  std::string_view dist_infos[3];  // what its *.dist-info folders begin with
};
constexpr KnownPackage kPackages[] = {
    {"torch", "PyTorch", {"torch-", "", ""}},
    {"jaxlib", "JAX", {"jax-", "jaxlib-", ""}},
    {"tensorflow", "TensorFlow", {"tensorflow-", "tensorflow_cpu-", "tensorflow_rocm-"}},
    {"paddle", "PaddlePaddle", {"paddlepaddle_gpu-", "paddlepaddle-", ""}},
    {"mxnet", "MXNet", {"mxnet-", "mxnet_cu", ""}},
};

struct KnownLibrary {
  std::string_view file, fact;
  std::string_view dist_info;  // of its wheel, followed by the CUDA it is for
};
constexpr KnownLibrary kLibraries[] = {{"libcudart", "cuda", "nvidia_cuda_runtime"},
                                       {"libcudnn", "cudnn", "nvidia_cudnn"},
                                       {"libnccl", "nccl", "nvidia_nccl"}};

// A process of a container sees other files than we do; below a captured tree there is no such way
// in.
class ProcessFiles {
 public:
  ProcessFiles(const std::string& root, int pid)
      : files_(root), prefix_(fmt::format("/proc/{}/root", pid)) {}

  std::optional<std::string> Read(const std::string& path) {
    auto text = files_.Read(prefix_ + path);
    if (!text) text = files_.Read(path);
    return text ? std::optional(std::string(*text)) : std::nullopt;
  }
  std::vector<std::string> Names(const std::string& path) {
    auto names = files_.Names(prefix_ + path);
    return names.empty() ? files_.Names(path) : names;
  }
  HostFiles& files() { return files_; }

 private:
  HostFiles files_;
  std::string prefix_;
};

// "torch-2.3.0.dist-info" of "torch-": "2.3.0".
std::string DistVersion(const std::vector<std::string>& names, std::string_view prefix) {
  constexpr std::string_view kSuffix = ".dist-info";
  if (prefix.empty()) return {};
  for (const std::string& name : names) {
    if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) continue;
    std::string_view version = std::string_view(name).substr(prefix.size());
    version.remove_suffix(kSuffix.size());
    // "nvidia_cudnn" is followed by "_cu12-9.1.0.70".
    if (version.starts_with('_'))
      version.remove_prefix(std::min(version.find('-'), version.size()));
    if (version.starts_with('-')) version.remove_prefix(1);
    if (!version.empty() && version.front() >= '0' && version.front() <= '9') {
      return std::string(version.substr(0, kMostVersionBytes));
    }
  }
  return {};
}

std::string PackageVersion(ProcessFiles& files, const KnownPackage& package,
                           const std::string& base) {
  const auto source = files.Read(fmt::format("{}/{}/version.py", base, package.folder));
  if (source) {
    const std::string version = PythonString(*source, "__version__");
    if (!version.empty()) return version;
  }
  const auto names = files.Names(base);
  for (const std::string_view prefix : package.dist_infos) {
    if (std::string version = DistVersion(names, prefix); !version.empty()) return version;
  }
  return {};
}

// "python3.11" of ".../bin/python3.11", or of "libpython3.11.so.1.0".
std::string PythonVersion(std::string_view path) {
  const auto at = path.rfind("python");
  if (at == std::string_view::npos) return {};
  std::string_view version = path.substr(at + 6);
  version = version.substr(0, std::min(version.find_first_not_of("0123456789."), version.size()));
  while (version.ends_with('.')) version.remove_suffix(1);
  return version.find('.') == std::string_view::npos ? std::string() : std::string(version);
}

template <class List>
void AddOnce(List& list, std::string_view key, std::string_view value) {
  for (auto& [known, had] : list) {
    if (known != key) continue;
    if (value.size() > had.size() && value.starts_with(had)) had = std::string(value);
    return;
  }
  list.emplace_back(std::string(key), std::string(value));
}

}  // namespace

MappedFrameworks ParseMapsForFrameworks(std::string_view maps) {
  MappedFrameworks found;
  Lines lines(maps);
  for (std::string_view line; lines.Next(line);) {
    const auto slash = line.find('/');
    if (slash == std::string_view::npos) continue;
    const std::string_view path = line.substr(slash);
    for (const std::string_view kind : {"/site-packages/", "/dist-packages/"}) {
      const auto at = path.find(kind);
      if (at == std::string_view::npos) continue;
      const std::string_view base = path.substr(0, at + kind.size() - 1);
      const std::string_view inside = path.substr(at + kind.size());
      const std::string_view folder = inside.substr(0, inside.find('/'));
      for (const KnownPackage& package : kPackages) {
        if (folder == package.folder) AddOnce(found.packages, folder, base);
      }
      // The wheels of NVIDIA lie beside the framework's.
      if (folder == "nvidia") AddOnce(found.packages, folder, base);
    }
    const std::string_view file = path.substr(path.rfind('/') + 1);
    for (const KnownLibrary& library : kLibraries) {
      if (!file.starts_with(library.file)) continue;
      const std::string_view rest = file.substr(library.file.size());
      // "libcudart.so.12.1.105"; "libcudart-d0da41ae.so.11.0" of some wheels; not "libcudnn_ops".
      if (!rest.starts_with('.') && !rest.starts_with('-')) continue;
      const auto version = rest.find(".so.");
      AddOnce(found.libraries, library.file,
              version == std::string_view::npos ? std::string_view()
                                                : rest.substr(version + 4, kMostVersionBytes));
    }
  }
  return found;
}

std::string PythonString(std::string_view source, std::string_view name) {
  Lines lines(source);
  for (std::string_view line; lines.Next(line);) {
    if (!line.starts_with(name)) continue;
    const std::string_view rest = line.substr(name.size());
    const auto equals = rest.find('=');
    if (equals == std::string_view::npos ||
        (rest.front() != ' ' && rest.front() != '=' && rest.front() != ':')) {
      continue;
    }
    const auto open = rest.find_first_of("'\"", equals);
    if (open == std::string_view::npos) continue;
    const auto close = rest.find(rest[open], open + 1);
    if (close == std::string_view::npos) continue;
    return std::string(rest.substr(open + 1, std::min(close - open - 1, kMostVersionBytes)));
  }
  return {};
}

Facts FrameworkFacts(const std::string& root, int pid) {
  ProcessFiles files(root, pid);
  Facts facts;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) facts.emplace_back(std::string(name), CleanName(value));
  };
  const std::string exe = files.files().LinkTarget(fmt::format("/proc/{}/exe", pid));
  const auto text = files.files().Read(fmt::format("/proc/{}/maps", pid));
  const std::string maps(text.value_or(""));
  std::string python = PythonVersion(exe);
  if (python.empty()) {
    const auto at = maps.find("/libpython");
    if (at != std::string::npos) python = PythonVersion(maps.substr(at, 40));
  }
  add("python", python);
  const MappedFrameworks mapped = ParseMapsForFrameworks(maps);
  std::string cuda_of_torch;
  std::vector<std::string> wheels;
  for (const auto& [folder, base] : mapped.packages) {
    if (folder == "nvidia") wheels = files.Names(base);
    for (const KnownPackage& package : kPackages) {
      if (folder != package.folder) continue;
      const std::string version = PackageVersion(files, package, base);
      add("framework", std::string(package.shown) + (version.empty() ? "" : " ") + version);
      if (folder == "torch") {
        const auto source = files.Read(base + "/torch/version.py");
        if (source) cuda_of_torch = PythonString(*source, "cuda");
      }
    }
  }
  for (const auto& [library, said] : mapped.libraries) {
    for (const KnownLibrary& known : kLibraries) {
      if (library != known.file) continue;
      std::string version = said;
      // A wheel's file has the major number alone; the wheel's own name has all.
      if (version.find('.') == std::string::npos) {
        const std::string full = DistVersion(wheels, known.dist_info);
        if (!full.empty()) version = full;
      }
      if (version.find('.') == std::string::npos && known.fact == "cuda" &&
          !cuda_of_torch.empty()) {
        version = cuda_of_torch;
      }
      add(known.fact, version);
    }
  }
  return facts;
}

}  // namespace sharewell::collect
