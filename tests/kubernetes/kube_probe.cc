// kube_probe KUBECONFIG COMMAND...: our way to an API server by itself, for transport_test.py. What
// happens is told as lines of JSON, until the input ends:
//
//   reflect PATH [PAGE [PAUSE]]  every change that a reflector tells, every error, and whether it
//   is current lease NAME IDENTITY   whether it leads, whenever that changes ask METHOD PATH [BODY
//   [TYPE]]  one answer, and done burst COUNT PATH      so many at once, how long they took, and
//   done
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/kubernetes/api/kube_access.h"
#include "engine/kubernetes/api/kube_http.h"
#include "engine/kubernetes/api/kube_lease.h"
#include "engine/kubernetes/api/reflector.h"

namespace {

namespace core = sharewell::core;
namespace engine = sharewell::engine;
using core::Seconds;

Seconds Now() {
  return Seconds(
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

Seconds Wall() {
  return Seconds(
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
}

void Say(const nlohmann::json& what) {
  std::puts(what.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

bool InputEnded() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  char byte = 0;
  return ::poll(&input, 1, 0) > 0 && ::read(STDIN_FILENO, &byte, 1) <= 0;
}

int Reflect(engine::KubeHttp& driver, const std::string& path, int page, Seconds pause) {
  engine::ReflectorOptions options{.name = path, .path = path, .selector = "", .page = page};
  options.longest_pause = pause;
  engine::Reflector reflector(driver, options);
  bool current = false;
  while (!InputEnded()) {
    std::vector<engine::KubeChange> changes;
    const auto looked = reflector.Look(Now(), changes);
    for (const auto& change : changes) {
      Say({{"change", change.kind == engine::KubeChange::Kind::kPut ? "put" : "gone"},
           {"key", change.key},
           {"uid", change.uid},
           {"bytes", change.json.size()}});
    }
    if (!looked) Say({{"error", looked.error().message}});
    if (current != reflector.IsCurrent()) {
      current = reflector.IsCurrent();
      Say({{"current", current}, {"lists", reflector.lists()}, {"requests", driver.requests()}});
    }
    const Seconds left = reflector.NextLook() - Now();
    driver.WaitForLines(std::clamp(left, Seconds(0.005), Seconds(0.2)));
  }
  return 0;
}

int Lease(engine::KubeHttp& driver, const std::string& name, const std::string& identity) {
  engine::KubeLease lease(driver, {.name = name, .identity = identity}, Now, Wall);
  bool leads = false;
  while (!InputEnded()) {
    if (const auto stepped = lease.Step(); !stepped) Say({{"error", stepped.error().message}});
    if (leads != lease.IsLeader(Now())) {
      leads = !leads;
      Say({{"leads", leads}, {"holder", lease.holder()}, {"at", Now().value}});
    }
    driver.WaitForLines(Seconds(0.02));
  }
  if (const auto released = lease.Release(); !released) {
    Say({{"error", released.error().message}});
  }
  return 0;
}

int Ask(engine::KubeHttp& driver, const engine::KubeRequest& request) {
  const auto answer = driver.Ask(request, Seconds(60));
  if (!answer) {
    Say({{"error", answer.error().message}});
    return 3;
  }
  Say({{"status", answer->status}, {"body", answer->body}});
  return 0;
}

int Burst(engine::KubeHttp& driver, int count, const std::string& path) {
  const std::vector<engine::KubeRequest> requests(static_cast<std::size_t>(count),
                                                  engine::KubeRequest{"GET", path, "", ""});
  const Seconds began = Now();
  const auto answers = driver.AskAll(requests, Seconds(120));
  int good = 0;
  for (const auto& answer : answers) good += answer && answer->status == 200 ? 1 : 0;
  Say({{"good", good}, {"seconds", (Now() - began).value}});
  return good == count ? 0 : 1;
}

int Run(const std::vector<std::string>& words) {
  const auto access = engine::FindKubeAccess({.kubeconfig = words.at(0)});
  if (!access) {
    Say({{"error", access.error().message}});
    return 2;
  }
  const auto made = engine::NewKubeHttp(*access);
  if (!made) {
    Say({{"error", made.error().message}});
    return 2;
  }
  engine::KubeHttp& driver = **made;
  const std::string& command = words.at(1);
  if (command == "reflect") {
    return Reflect(driver, words.at(2), words.size() > 3 ? std::stoi(words[3]) : 500,
                   Seconds(words.size() > 4 ? std::stod(words[4]) : 10));
  }
  if (command == "lease") return Lease(driver, words.at(2), words.at(3));
  if (command == "burst") return Burst(driver, std::stoi(words.at(2)), words.at(3));
  if (command == "ask") {
    return Ask(driver, {words.at(2), words.at(3), words.size() > 4 ? words[4] : "",
                        words.size() > 5 ? words[5] : ""});
  }
  return 2;
}

}  // namespace

int main(int count, char** words) {
  try {
    return Run(std::vector<std::string>(words + 1, words + count));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kube_probe: %s\n", error.what());
    return 2;
  }
}
