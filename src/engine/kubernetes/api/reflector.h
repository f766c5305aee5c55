// Reflector: all objects of one kind, as the API server has them: a list, then a watch that is
// resumed where it broke off, and a new list only where the server has forgotten that point (410).
// Whoever uses it sees changes alone: what a new list lacks is told as gone. Bookmarks move the
// point on. Nothing here knows what kind of object it is.
//
// Failures are tried again later and later, up to `longest_pause`, spread by a hash of `name` so
// that many reflectors do not come back at once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kubernetes/api/kube_driver.h"

namespace sharewell::engine {

struct KubeChange {
  enum class Kind : std::uint8_t { kPut, kGone };
  Kind kind = Kind::kPut;
  std::string key;   // "namespace/name", or "name" where it has no namespace
  std::string uid;   // of what was put, or is gone
  std::string json;  // the whole object; of what is gone the last that was seen may be absent
};

struct ReflectorOptions {
  std::string name;      // "pods": for words and for spreading
  std::string path;      // "/api/v1/pods"
  std::string selector;  // "fieldSelector=spec.schedulerName%3Dsharewell"; empty: all
  int page = 500;        // objects in one answer of a list
  core::Seconds limit{30};
  core::Seconds watch_for{300};  // then the server ends the watch in order
  core::Seconds longest_pause{10};
};

class Reflector {
 public:
  // `driver` must outlive it.
  Reflector(KubeDriver& driver, ReflectorOptions options);

  // All that changed since the last call, appended in an order that can be applied. It waits only
  // while it lists. An object whose uid changed under one key is told as gone and put. An error:
  // what is kept may be old by now; the next call that is due tries again. One that is not due
  // does nothing.
  core::Result<void> Look(core::Seconds now, std::vector<KubeChange>& out);
  // When a Look is due although no line came.
  core::Seconds NextLook() const { return next_; }
  // Whether a whole list was read, and a watch follows it without a gap. Until it is true for the
  // first time nothing was told; where it turned false, a broken watch has not been resumed yet.
  bool IsCurrent() const { return current_; }
  // How often a list was begun: a figure for tests and metrics.
  std::int64_t lists() const { return lists_; }

 private:
  struct Seen {
    std::string uid, version;
  };
  // One object as a list or a watch told it.
  struct Object {
    std::string key, uid, version, json;
  };
  // A list that is being read. Nothing of it is told before its last page; a page that fails is
  // asked for again without the earlier ones.
  struct Listing {
    bool whole = false;  // in one answer, because the server forgot where the next page begins
    int pages = 0;
    std::string next_page;
    std::vector<Object> objects;
  };

  core::Result<void> List(core::Seconds now, std::vector<KubeChange>& out);
  core::Result<void> ReadPage(const std::string& body);
  core::Result<void> ListFailed(core::Seconds now, const KubeAnswer& answer);
  void Compare(std::vector<Object> objects, std::vector<KubeChange>& out);
  void Follow(core::Seconds now);
  core::Result<void> TakeLines(core::Seconds now, std::vector<KubeChange>& out);
  core::Result<void> TakeLine(std::string_view line, std::vector<KubeChange>& out);
  core::Result<void> WatchEnded(core::Seconds now, const std::string& last, const std::string& why);
  void Put(Object object, std::vector<KubeChange>& out);
  core::Result<void> Gone(Object object, std::vector<KubeChange>& out);
  // Tries again later: after a pause that grows, or after `at_least`.
  void Pause(core::Seconds now, std::optional<core::Seconds> at_least = std::nullopt);
  void Forget();  // the point to resume at: a list comes next

  KubeDriver& driver_;
  const ReflectorOptions options_;
  std::map<std::string, Seen> seen_;  // by key
  std::unique_ptr<KubeWatch> watch_;
  std::string version_;  // the point to resume at; empty: none, a list is needed
  core::Seconds next_, pause_;
  bool current_ = false;
  std::int64_t lists_ = 0;
  std::unique_ptr<Listing> listing_;       // null: none is being read
  core::Seconds watched_since_, overdue_;  // the watch; then the server should have ended it
  bool heard_ = false;                     // of this watch a line has come
  std::uint64_t pauses_ = 0;
};

}  // namespace sharewell::engine
