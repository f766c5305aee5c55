// KubeDriver: the one way to a Kubernetes API server: requests, and watches (streams of lines). A
// real one speaks HTTPS (kube_http.h); tests script one. Ask and AskAll wait, each no longer than
// its limit, so that they are made on a thread of their own. One thread, except Wake.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace sharewell::engine {

struct KubeRequest {
  std::string method;        // "GET", "POST", "PATCH", "PUT", "DELETE"
  std::string path;          // "/api/v1/nodes?limit=500": escaped where it has to be
  std::string body;          // JSON; empty: none
  std::string content_type;  // empty: "application/json"
};

struct KubeAnswer {
  int status = 0;  // of HTTP
  std::string body;
  std::optional<core::Seconds> retry_after;  // as the server asks for
};

// One watch under way. It is closed when it is destroyed, which must be before the driver is.
class KubeWatch {
 public:
  virtual ~KubeWatch() = default;
  // Whole lines that came since the last call, in order. False: it is over, and these were the
  // last; `why` says how it ended, and is empty where the server ended it in order. Of a line that
  // was cut off nothing is told, except where the status is not 200: then the body is one line.
  virtual bool Take(std::vector<std::string>& lines, std::string& why) = 0;
  // Of the answer's head; 0: it has not come yet.
  virtual int status() const = 0;
  // As the server asks for when it refuses the watch.
  virtual std::optional<core::Seconds> retry_after() const { return std::nullopt; }
};

class KubeDriver {
 public:
  virtual ~KubeDriver() = default;
  // An error: no answer came in time, or no server was reached. What was asked for may have
  // happened all the same.
  virtual core::Result<KubeAnswer> Ask(const KubeRequest& request, core::Seconds limit) = 0;
  // Many at once, in any order, over few connections; answers in the order of the requests.
  virtual std::vector<core::Result<KubeAnswer>> AskAll(std::span<const KubeRequest> requests,
                                                       core::Seconds limit) = 0;
  // Does not wait: what comes is taken from it. `path` has all of the query.
  virtual std::unique_ptr<KubeWatch> Watch(const std::string& path) = 0;
  // Until a line of a watch has come, one has ended, Wake() was called, or so long.
  virtual void WaitForLines(core::Seconds at_most) = 0;
  virtual void Wake() = 0;  // any thread
};

}  // namespace sharewell::engine
