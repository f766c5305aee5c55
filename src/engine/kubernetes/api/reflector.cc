#include "engine/kubernetes/api/reflector.h"

#include <algorithm>

#include "core/numbers/random.h"
#include "core/text/quoted.h"
#include "engine/kubernetes/control/kube_status.h"
#include "json/value.h"

namespace sharewell::engine {
namespace {

using core::FailedError;
using core::Quoted;
using core::Result;
using core::Seconds;

constexpr Seconds kFirstPause{0.5};
// A server may ask for patience, but not for ever.
constexpr Seconds kMostRetryAfter{60};
// A watch that ends in order, sooner than this and without a line, is a failure: it would be asked
// for again and again.
constexpr Seconds kTooShort{1};
// A watch that lasted so long was a good one, although nothing happened in it.
constexpr Seconds kGoodWhile{30};
// How much longer than asked for a watch may last before it is given up as dead.
constexpr Seconds kOverdue{30};
// A server that always knows one page more would never let a list end: of 500 objects each, these
// are 5 million.
constexpr int kMostPages = 10'000;

std::uint64_t HashOfText(std::string_view text) {
  std::uint64_t h = 0;
  for (const char c : text) h = core::HashOf({h, static_cast<unsigned char>(c)});
  return h;
}

// The text at `key`; false: there is none, or an empty one.
bool TextAt(json::Value of, std::string_view key, std::string& out) {
  const std::string_view text = of[key].Text().value_or("");
  if (text.empty()) return false;
  out = text;
  return true;
}

// Of "metadata": what an object is known by.
template <class Object>
bool ReadIdentity(json::Value object, Object& out) {
  const json::Value metadata = object["metadata"];
  std::string name, name_space;
  if (!TextAt(metadata, "name", name) || !TextAt(metadata, "uid", out.uid) ||
      !TextAt(metadata, "resourceVersion", out.version)) {
    return false;
  }
  out.key = TextAt(metadata, "namespace", name_space) ? name_space + '/' + name : name;
  return true;
}

}  // namespace

Reflector::Reflector(KubeDriver& driver, ReflectorOptions options)
    : driver_(driver), options_(std::move(options)) {}

Result<void> Reflector::Look(Seconds now, std::vector<KubeChange>& out) {
  if (!watch_) {
    if (now < next_) return {};
    if (version_.empty()) RETURN_IF_ERROR(List(now, out));
    Follow(now);
  }
  return TakeLines(now, out);
}

void Reflector::Pause(Seconds now, std::optional<Seconds> at_least) {
  pause_ = std::min(std::max(2 * pause_, kFirstPause), options_.longest_pause);
  const double spread = core::Uniform(core::HashOf({HashOfText(options_.name), pauses_++}));
  next_ = now + std::max((0.5 + 0.5 * spread) * pause_,
                         std::min(at_least.value_or(Seconds(0)), kMostRetryAfter) * (1 + spread));
  current_ = false;
  watch_.reset();
}

void Reflector::Forget() {
  version_.clear();
  listing_.reset();
}

// ---- lists

Result<void> Reflector::List(Seconds now, std::vector<KubeChange>& out) {
  if (!listing_) {
    listing_ = std::make_unique<Listing>();
    ++lists_;
  }
  do {
    std::string path = options_.path;
    path += listing_->whole ? "?limit=0" : fmt::format("?limit={}", options_.page);
    if (!options_.selector.empty()) path += '&' + options_.selector;
    if (!listing_->next_page.empty()) path += "&continue=" + KubeEscaped(listing_->next_page);
    const auto answer = driver_.Ask(
        {.method = "GET", .path = std::move(path), .body = {}, .content_type = {}}, options_.limit);
    if (!answer) {
      Pause(now);
      return tl::unexpected(
          core::Error(answer.error()).Within(fmt::format("{}: cannot be listed", options_.name)));
    }
    if (answer->status != 200) return ListFailed(now, *answer);
    if (auto read = ReadPage(answer->body); !read) {
      Forget();
      Pause(now);
      return tl::unexpected(std::move(read.error())
                                .Within(fmt::format("{}: the list cannot be read", options_.name)));
    }
  } while (!listing_->next_page.empty());
  std::vector<Object> objects = std::move(listing_->objects);
  listing_.reset();
  Compare(std::move(objects), out);
  current_ = true;
  return {};
}

Result<void> Reflector::ReadPage(const std::string& body) {
  const auto parsed = json::Document::Parse(body);
  if (!parsed) return FailedError("it is no JSON: {}", Quoted(body));
  const json::Value list = parsed->root(), metadata = list["metadata"];
  std::string version, next;
  if (!TextAt(metadata, "resourceVersion", version) || !list.Has("items")) {
    return FailedError("it lacks metadata.resourceVersion or items: {}", Quoted(body));
  }
  if (TextAt(metadata, "continue", next) && (++listing_->pages == kMostPages || listing_->whole)) {
    return FailedError("it has a next page where there can be none");
  }
  const json::Value items = list["items"];  // Go writes null for none
  if (!items.is_null() && !items.is_list()) return FailedError("its items are no list");
  for (const json::Value item : items.items()) {
    Object object;
    if (!ReadIdentity(item, object)) {
      return FailedError("an item has no name, uid or resourceVersion: {}", Quoted(item.Line()));
    }
    const auto seen = seen_.find(object.key);
    // One that is known as it is need not be kept.
    if (seen == seen_.end() || seen->second.uid != object.uid ||
        seen->second.version != object.version) {
      object.json = item.Line();
    }
    listing_->objects.push_back(std::move(object));
  }
  listing_->next_page = std::move(next);
  // Every page of a list names the point of its first one.
  if (listing_->next_page.empty()) version_ = std::move(version);
  return {};
}

Result<void> Reflector::ListFailed(Seconds now, const KubeAnswer& answer) {
  const bool forgotten = answer.status == 410 && !listing_->next_page.empty();
  if (forgotten) {
    // The pages read so far are older than what the server still knows. The fresh token that it
    // offers would join pages of different times, between which changes are lost.
    listing_ = std::make_unique<Listing>();
    listing_->whole = true;
    ++lists_;
  } else if (answer.status != 429 && answer.status < 500) {
    listing_.reset();
  }
  Pause(now, answer.retry_after);
  return tl::unexpected(KubeRefused(fmt::format("{}: cannot be listed", options_.name), answer));
}

void Reflector::Compare(std::vector<Object> objects, std::vector<KubeChange>& out) {
  std::map<std::string_view, const Object*> listed;
  for (const Object& object : objects) listed[object.key] = &object;
  for (auto it = seen_.begin(); it != seen_.end();) {
    const auto now = listed.find(it->first);
    if (now != listed.end() && now->second->uid == it->second.uid) {
      ++it;
      continue;
    }
    out.push_back({KubeChange::Kind::kGone, it->first, it->second.uid, {}});
    it = seen_.erase(it);
  }
  for (Object& object : objects) {
    if (!object.json.empty()) Put(std::move(object), out);
  }
}

// ---- watches

void Reflector::Follow(Seconds now) {
  // Spread, so that watches that began together do not end together.
  const double spread = core::Uniform(HashOfText(options_.name));
  const Seconds lasting = options_.watch_for * (1 + 0.2 * spread);
  std::string path =
      fmt::format("{}?watch=1&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={:.0f}",
                  options_.path, KubeEscaped(version_), std::max(lasting.value, 1.0));
  if (!options_.selector.empty()) path += '&' + options_.selector;
  watch_ = driver_.Watch(path);
  watched_since_ = now;
  heard_ = false;
  next_ = overdue_ = now + lasting + kOverdue;
}

Result<void> Reflector::TakeLines(Seconds now, std::vector<KubeChange>& out) {
  std::vector<std::string> lines;
  std::string why;
  bool goes_on = watch_->Take(lines, why);
  const int status = watch_->status();
  if (goes_on && status == 0 && now - watched_since_ >= options_.limit) {
    goes_on = false;
    why = "the server does not begin it";
  } else if (goes_on && now >= overdue_) {
    goes_on = false;
    why = "the server does not end it";
  }
  // Only a watch that was begun has answered; a refusal is one line too.
  if (status == 200) {
    current_ = true;
    for (const std::string& line : lines) {
      if (auto taken = TakeLine(line, out); !taken) {
        Pause(now);
        return tl::unexpected(
            std::move(taken.error()).Within(fmt::format("{}: the watch", options_.name)));
      }
      heard_ = true;
      pause_ = Seconds(0);
    }
    lines.clear();
  }
  if (goes_on) {
    // The head of the answer is waited for by the clock alone.
    next_ = status == 0 ? std::min(overdue_, watched_since_ + options_.limit) : overdue_;
    return {};
  }
  return WatchEnded(now, lines.empty() ? std::string() : lines.back(), why);
}

Result<void> Reflector::WatchEnded(Seconds now, const std::string& last, const std::string& why) {
  const int status = watch_->status();
  if (status == 200 && why.empty() && (heard_ || now - watched_since_ >= kTooShort)) {
    watch_.reset();
    pause_ = Seconds(0);
    next_ = now;
    Follow(now);
    return {};
  }
  const auto retry_after = watch_->retry_after();
  // 401 and 403 end when somebody gives the right; of all else that a server says to the point
  // itself a list is the cure.
  const bool resumes = status == 0 || status == 200 || status == 401 || status == 403 ||
                       status == 429 || status >= 500;
  if (!resumes) Forget();
  if (now - watched_since_ >= kGoodWhile) pause_ = Seconds(0);
  Pause(now, retry_after);
  if (status != 0 && status != 200) {
    return tl::unexpected(KubeRefused(fmt::format("{}: cannot be watched", options_.name),
                                      {.status = status, .body = last, .retry_after = {}}));
  }
  return tl::unexpected(core::Error{
      core::ErrorKind::kAbsent, fmt::format("{}: the watch broke off: {}", options_.name,
                                            why.empty() ? "the server ended it at once" : why)});
}

Result<void> Reflector::TakeLine(std::string_view line, std::vector<KubeChange>& out) {
  const auto parsed = json::Document::Parse(line);
  const json::Value event = json::RootOf(parsed), object = event["object"];
  const std::string_view type = event["type"].Text().value_or("");
  if (!event["type"].is_text() || !event.Has("object")) {
    Forget();
    return FailedError("a line cannot be read: {}", Quoted(line));
  }
  if (type == "ERROR") {
    const std::string said = object.Line();
    const KubeStatus status = ReadKubeStatus(said);
    Forget();
    return FailedError("the server ended it ({}: {})", status.code,
                       status.message.empty() ? Quoted(said) : status.message);
  }
  Object changed;
  if (type == "BOOKMARK") {
    std::string version;
    if (TextAt(object["metadata"], "resourceVersion", version)) {
      version_ = std::move(version);
      return {};
    }
  } else if ((type == "ADDED" || type == "MODIFIED" || type == "DELETED") &&
             ReadIdentity(object, changed)) {
    std::string version = changed.version;
    changed.json = object.Line();
    if (type == "DELETED") {
      RETURN_IF_ERROR(Gone(std::move(changed), out));
    } else {
      Put(std::move(changed), out);
    }
    version_ = std::move(version);
    return {};
  }
  Forget();
  return FailedError("a line is not understood: {}", Quoted(line));
}

void Reflector::Put(Object object, std::vector<KubeChange>& out) {
  Seen& seen = seen_[object.key];
  if (seen.uid == object.uid && seen.version == object.version) return;
  if (!seen.uid.empty() && seen.uid != object.uid) {
    out.push_back({KubeChange::Kind::kGone, object.key, seen.uid, {}});
  }
  seen = {object.uid, std::move(object.version)};
  out.push_back({KubeChange::Kind::kPut, std::move(object.key), std::move(object.uid),
                 std::move(object.json)});
}

Result<void> Reflector::Gone(Object object, std::vector<KubeChange>& out) {
  const auto seen = seen_.find(object.key);
  if (seen == seen_.end()) return {};
  if (seen->second.uid != object.uid) {
    // The end of one that was never told, while another has its name: changes were missed.
    Forget();
    return FailedError("{} ends with a uid that it did not have", Quoted(object.key));
  }
  seen_.erase(seen);
  out.push_back({KubeChange::Kind::kGone, std::move(object.key), std::move(object.uid),
                 std::move(object.json)});
  return {};
}

}  // namespace sharewell::engine
