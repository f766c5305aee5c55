// A small and strict reader of HTML for tests: what our pages are made of, and no more. It names
// every problem: a tag that is not closed, an attribute without quotes, an id that is there twice,
// a bare < or &, anything that a browser would run or fetch.
#pragma once

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sharewell::report::testing {

// Texts that people with bad intent, or bad luck, give to jobs, paths, labels and logs.
inline std::vector<std::string> Payloads() {
  return {"<script>alert(1)</script>",
          "</title></style></svg><script src=//evil.example/x.js></script>",
          "\"><img src=x onerror=alert(1)>",
          "' onmouseover='alert(1)",
          "]]><!--<svg/onload=alert(1)>-->",
          "&lt;script&gt; &amp; &#60;b&#62; &nosuch;",
          "javascript:alert(1)",
          "{{7*7}} ${7*7} `id`",
          "</pre></td></tr></table></details><iframe src='http://evil.example/'></iframe>",
          "https://evil.example/?<b>",
          std::string("nul\0in", 6) + "\x01\x1b[31m\x7f\r\n\tend",
          "\xff\xfe broken \xc3( \xed\xa0\x80",
          "\xe2\x80\xae"
          "drawkcab \xe2\x80\x8f \xef\xbf\xbf",
          std::string(20'000, 'x') + "<b>"};
}

class HtmlCheck {
 public:
  explicit HtmlCheck(std::string_view page) : rest_(page) {
    if (!page.starts_with("<!DOCTYPE html>\n")) Blame("no doctype");
    while (!rest_.empty() && problems_.size() < 20) Step();
    for (const std::string& tag : open_) Blame("not closed: " + tag);
  }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void Blame(const std::string& what) {
    problems_.push_back(what + " at: " + std::string(rest_.substr(0, 60)));
  }

  void Step() {
    if (rest_.front() != '<') return TakeText();
    if (rest_.starts_with("<!DOCTYPE html>")) return rest_.remove_prefix(15);
    const auto end = rest_.find('>');
    if (end == rest_.npos) {
      Blame("a < that opens nothing");
      rest_ = {};
      return;
    }
    TakeTag(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    if (!open_.empty() && open_.back() == "style" && !style_) TakeStyle();
  }

  // CSS is ours alone, so that nothing from outside may stand in it.
  void TakeStyle() {
    style_ = true;
    const auto end = rest_.find("</style>");
    const auto css = rest_.substr(0, end);
    for (const char* fetches : {"url(", "@import", "expression("}) {
      if (css.find(fetches) != css.npos) Blame("the style sheet fetches");
    }
    rest_.remove_prefix(std::min(end, rest_.size()));
  }

  void TakeText() {
    const auto text = rest_.substr(0, rest_.find('<'));
    CheckText(text);
    rest_.remove_prefix(text.size());
  }

  void CheckText(std::string_view text) {
    for (auto at = text.find('&'); at != text.npos; at = text.find('&', at + 1)) {
      bool known = false;
      for (const char* entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
        known = known || text.substr(at).starts_with(entity);
      }
      if (!known) Blame("an & that means nothing");
    }
    for (const char c : text) {
      if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') Blame("a control");
      if (c == '>' || c == 0x7f) Blame("a bare > or DEL");
    }
  }

  void TakeTag(std::string_view tag) {
    if (tag.starts_with('/')) {
      const std::string name(tag.substr(1));
      if (open_.empty() || open_.back() != name) {
        Blame("closes what is not open: " + name);
      } else {
        open_.pop_back();
      }
      return;
    }
    const bool closed = tag.ends_with('/');
    if (closed) tag.remove_suffix(1);
    const auto space = std::min(tag.find(' '), tag.size());
    const std::string name(tag.substr(0, space));
    static const std::set<std::string> known = {
        "html",   "head",       "meta",    "title",   "style", "body", "header", "nav",
        "main",   "footer",     "h1",      "h2",      "p",     "a",    "ul",     "li",
        "pre",    "div",        "table",   "thead",   "tbody", "tr",   "th",     "td",
        "figure", "figcaption", "details", "summary", "svg",   "rect", "line",   "circle",
        "text",   "polyline",   "dl",      "dt",      "dd"};
    if (!known.contains(name)) Blame("a tag that no page of ours has: " + name);
    TakeAttributes(tag.substr(space), name);
    if (!closed && name != "meta") open_.push_back(name);
  }

  void TakeAttributes(std::string_view text, const std::string& tag) {
    std::set<std::string> names;
    while (!text.empty()) {
      const auto equals = text.find("=\"");
      const auto end = equals == text.npos ? text.npos : text.find('"', equals + 2);
      if (text.front() != ' ' || end == text.npos) return Blame("a torn attribute in " + tag);
      const std::string name(text.substr(1, equals - 1));
      const auto value = text.substr(equals + 2, end - equals - 2);
      CheckAttribute(tag, name, value);
      if (!names.insert(name).second) Blame("an attribute twice: " + name);
      text.remove_prefix(end + 1);
    }
  }

  void CheckAttribute(const std::string& tag, const std::string& name, std::string_view value) {
    CheckText(value);
    if (name.starts_with("on") || name == "style" || name == "src") Blame("runs or fetches");
    if (name == "href" && !value.starts_with('#') &&
        !value.starts_with("data:text/csv;charset=utf-8;base64,")) {
      Blame("a link that leads out of the page, in " + tag);
    }
    if (name == "id" && !ids_.insert(std::string(value)).second) Blame("an id twice");
    if (value.find("http://") != value.npos && name != "aria-label") Blame("an address");
  }

  std::string_view rest_;
  std::vector<std::string> open_, problems_;
  std::set<std::string> ids_;
  bool style_ = false;
};

}  // namespace sharewell::report::testing
