// ScriptedKube: a KubeDriver for tests. Requests go to a function and are kept; a watch gets the
// bytes that the test feeds it.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/kubernetes/api/kube_driver.h"
#include "engine/kubernetes/watch_lines.h"

namespace sharewell::engine {

class ScriptedKube : public KubeDriver {
 public:
  // Of one watch. shared_ptr: the test feeds it, the reflector may have closed it already.
  struct Feed {
    std::string path;
    int status = 0;  // 0: the head has not come yet
    WatchLines lines;
    std::optional<core::Seconds> retry_after;
    bool ended = false, closed = false;
    std::string why;

    void Say(std::string_view bytes) {
      if (status == 0) status = 200;
      lines.Add(bytes);
    }
    void End(std::string reason = {}) {
      ended = true;
      why = std::move(reason);
    }
    void Refuse(int code, std::string_view body, std::optional<core::Seconds> later = {}) {
      status = code;
      lines.Add(body);
      lines.Add("\n");
      retry_after = later;
      ended = true;
    }
  };

  std::function<core::Result<KubeAnswer>(const KubeRequest&)> on_ask;
  std::vector<KubeRequest> asked;
  std::vector<std::shared_ptr<Feed>> feeds;
  // Called by WaitForLines: a test may move its clock there.
  std::function<void(core::Seconds)> on_wait;

  Feed& LastFeed() { return *feeds.back(); }
  // The last one of that path ("/api/v1/pods") that is not closed.
  Feed* FeedOf(std::string_view path) {
    const auto it = std::find_if(feeds.rbegin(), feeds.rend(), [&](const auto& feed) {
      return !feed->closed && feed->path.substr(0, feed->path.find('?')) == path;
    });
    return it == feeds.rend() ? nullptr : it->get();
  }

  core::Result<KubeAnswer> Ask(const KubeRequest& request, core::Seconds) override {
    asked.push_back(request);
    return on_ask(request);
  }
  std::vector<core::Result<KubeAnswer>> AskAll(std::span<const KubeRequest> requests,
                                               core::Seconds limit) override {
    std::vector<core::Result<KubeAnswer>> out;
    for (const KubeRequest& request : requests) out.push_back(Ask(request, limit));
    return out;
  }
  std::unique_ptr<KubeWatch> Watch(const std::string& path) override {
    feeds.push_back(std::make_shared<Feed>());
    feeds.back()->path = path;
    return std::make_unique<Scripted>(feeds.back());
  }
  void WaitForLines(core::Seconds at_most) override {
    if (on_wait) on_wait(at_most);
  }
  void Wake() override {}

 private:
  class Scripted : public KubeWatch {
   public:
    explicit Scripted(std::shared_ptr<Feed> feed) : feed_(std::move(feed)) {}
    ~Scripted() override { feed_->closed = true; }
    Scripted(const Scripted&) = delete;
    Scripted& operator=(const Scripted&) = delete;
    bool Take(std::vector<std::string>& lines, std::string& why) override {
      feed_->lines.Take(lines);
      why = feed_->why;
      return !feed_->ended;
    }
    int status() const override { return feed_->status; }
    std::optional<core::Seconds> retry_after() const override { return feed_->retry_after; }

   private:
    std::shared_ptr<Feed> feed_;
  };
};

}  // namespace sharewell::engine
