#include "engine/local/run_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <concepts>

#include "json/submission_fields.h"

namespace sharewell::engine {
namespace {

using core::Quantity;
using engine::JobSpec;

// One function names all fields of the request but those of the submission, which has a list of
// its own; it is called with one that writes them and with one that reads.
template <class Request, class F>
void EachGivenField(Request& r, F&& field) {
  field("job", r.id.job);
  field("attempt", r.id.attempt);
  field("user", r.user.name);
  field("user_uid", r.user.uid);
  field("user_gid", r.user.gid);
  field("user_admin", r.user.admin);
  field("cores", r.cores);
  field("thread_share", r.thread_share);
  field("gpu_memory", r.gpu_memory);
  field("guest_memory", r.guest_memory);
  field("shares", r.shares);
}

template <class F>
void EachGpu(F&& field, auto& gpu) {
  field("given_index", gpu.index);
  field("given_uuid", gpu.uuid);
  field("given_model", gpu.model);
}

struct Writer {
  JobSpec& spec;
  bool plain = true;  // no text has a zero byte

  void operator()(std::string_view key, const std::string& text) {
    plain = plain && text.find('\0') == text.npos;
    spec.Put(key, text);
  }
  void operator()(std::string_view key, double number) { spec.Put(key, number); }
  void operator()(std::string_view key, core::Source source) {
    spec.Put(key, std::string(core::NameOf(source)));
  }
  template <std::integral T>
  void operator()(std::string_view key, T number) {
    spec.Put(key, fmt::format("{}", static_cast<std::int64_t>(number)));
  }
  template <class Tag>
  void operator()(std::string_view key, Quantity<Tag> quantity) {
    spec.Put(key, quantity.value);
  }
  template <class T>
  void operator()(std::string_view key, const std::optional<T>& value) {
    if (value) (*this)(key, *value);
  }
  template <class T>
  void operator()(std::string_view key, const std::vector<T>& values) {
    for (const T& value : values) (*this)(key, value);
  }
  void operator()(std::string_view key, const std::pair<std::string, std::string>& entry) {
    (*this)(key, entry.first + "=" + entry.second);
  }
  void operator()(std::string_view key, const std::pair<double, double>& point) {
    spec.Put(key, fmt::format("{} {}", point.first, point.second));
  }
  template <class T>
  void operator()(const json::Field& field, const T& value) {
    (*this)(std::string_view(field.spec), value);
  }
  // Its fields stand for it; its source is always there.
  void operator()(const json::Field&, const std::optional<core::Needs>& needs) {
    if (needs) json::EachField(*needs, *this);
  }
};

template <class T>
bool NumberFrom(std::string_view text, T& out) {
  return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc();
}

bool FromText(std::string_view text, std::string& out) {
  out = text;
  return true;
}
bool FromText(std::string_view text, double& out) { return NumberFrom(text, out); }
bool FromText(std::string_view text, bool& out) {
  out = text == "1";
  return true;
}
template <std::integral T>
bool FromText(std::string_view text, T& out) {
  return NumberFrom(text, out);
}
// A job that an older server started has a number there.
bool FromText(std::string_view text, core::Source& out) {
  const std::optional<core::Source> named = text == "2"   ? core::Source::kObserved
                                            : text == "1" ? core::Source::kPredicted
                                            : text == "0" ? core::Source::kAssumed
                                                          : core::SourceNamed(text);
  if (!named) return false;
  out = *named;
  return true;
}
template <class Tag>
bool FromText(std::string_view text, Quantity<Tag>& out) {
  return NumberFrom(text, out.value);
}
bool FromText(std::string_view text, std::pair<std::string, std::string>& out) {
  const std::size_t equals = std::min(text.find('='), text.size());
  out = {std::string(text.substr(0, equals)),
         std::string(text.substr(std::min(equals + 1, text.size())))};
  return true;
}
bool FromText(std::string_view text, std::pair<double, double>& out) {
  const std::size_t space = std::min(text.find(' '), text.size());
  return NumberFrom(text.substr(0, space), out.first) && space < text.size() &&
         NumberFrom(text.substr(space + 1), out.second);
}

// Of a spec's records, the `which`th of each key (GPUs), or all of them for a list.
struct Reader {
  const JobSpec& spec;
  std::size_t which = 0;

  template <class T>
  void operator()(std::string_view key, T& out) const {
    const auto all = spec.All(key);
    if (which < all.size()) FromText(all[which], out);
  }
  template <class T>
  void operator()(std::string_view key, std::optional<T>& out) const {
    T value{};
    const auto text = spec.Get(key);
    if (text && FromText(*text, value)) out = value;
  }
  template <class T>
  void operator()(std::string_view key, std::vector<T>& out) const {
    for (const std::string_view text : spec.All(key)) {
      T value{};
      if (FromText(text, value)) out.push_back(std::move(value));
    }
  }
  template <class T>
  void operator()(const json::Field& field, T& out) const {
    (*this)(std::string_view(field.spec), out);
  }
  void operator()(const json::Field&, std::optional<core::Needs>& needs) const {
    const auto source = spec.Get("needs_source");
    if (!source) return;
    core::Source all = core::Source::kAssumed;
    FromText(*source, all);
    needs.emplace().sources = core::SourcesByOne(all);
    json::EachField(*needs, *this);
  }
};

}  // namespace

bool PutRequest(const RunRequest& request, JobSpec& spec) {
  Writer writer{spec};
  EachGivenField(request, writer);
  json::EachField(request.asked, writer);
  for (const core::GivenGpu& gpu : request.gpus) EachGpu(writer, gpu);
  return writer.plain;
}

RunRequest RequestIn(const JobSpec& spec) {
  RunRequest request;
  EachGivenField(request, Reader{spec});
  json::EachField(request.asked, Reader{spec});
  request.gpus.resize(spec.All("given_uuid").size());
  for (std::size_t i = 0; i < request.gpus.size(); ++i) EachGpu(Reader{spec, i}, request.gpus[i]);
  return request;
}

}  // namespace sharewell::engine
