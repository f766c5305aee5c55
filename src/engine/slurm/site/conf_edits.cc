#include "engine/slurm/site/conf_edits.h"

#include <fmt/format.h>

#include <algorithm>

namespace sharewell::engine {
namespace {

constexpr std::size_t kDiffAround = 3;

// With their line breaks; the last may have none.
std::vector<std::string_view> DiffLines(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto at = text.find('\n');
    const std::size_t size = at == std::string_view::npos ? text.size() : at + 1;
    out.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return out;
}

// Whole lines [first, last) of the old text, and what they become.
struct DiffBlock {
  std::size_t first = 0, last = 0;
  std::string text;
};

std::string DiffText(char mark, std::string_view line) {
  std::string out(1, mark);
  out += line;
  if (!line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
  return out;
}

void SortEdits(std::vector<ConfEdit>& edits) {
  std::stable_sort(edits.begin(), edits.end(), [](const ConfEdit& a, const ConfEdit& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
}

std::vector<DiffBlock> BlocksOf(std::string_view text, const std::vector<ConfEdit>& edits,
                                const std::vector<std::string_view>& lines) {
  std::vector<std::size_t> starts;  // of each line, and the end
  std::size_t at = 0;
  for (const std::string_view line : lines) {
    starts.push_back(at);
    at += line.size();
  }
  starts.push_back(at);
  const auto line_of = [&](std::size_t offset) {
    return static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end() - 1, offset) -
                                    starts.begin() - 1);
  };
  struct Range {
    std::size_t first, last;
    std::vector<ConfEdit> edits;
  };
  std::vector<Range> ranges;
  for (const ConfEdit& edit : edits) {
    std::size_t first = 0, last = 0;
    const bool at_start = std::binary_search(starts.begin(), starts.end(), edit.begin);
    const bool at_end_of_broken = edit.begin == text.size() && !text.empty() && text.back() != '\n';
    if (edit.begin == edit.end && at_start && !at_end_of_broken && edit.text.ends_with('\n')) {
      first = last = static_cast<std::size_t>(
          std::lower_bound(starts.begin(), starts.end(), edit.begin) - starts.begin());
    } else if (!lines.empty()) {
      first = std::min(line_of(edit.begin), lines.size() - 1);
      last = edit.end > edit.begin ? line_of(edit.end - 1) + 1 : first + 1;
    }
    if (!ranges.empty() && first <= ranges.back().last) {
      ranges.back().last = std::max(ranges.back().last, last);
      ranges.back().edits.push_back(edit);
    } else {
      ranges.push_back({first, last, {edit}});
    }
  }
  std::vector<DiffBlock> out;
  for (Range& range : ranges) {
    const std::size_t begin = starts[range.first], end = starts[range.last];
    for (ConfEdit& edit : range.edits) {
      edit.begin -= begin;
      edit.end -= begin;
    }
    out.push_back({range.first, range.last,
                   EditedText(text.substr(begin, end - begin), std::move(range.edits))});
  }
  return out;
}

// "12,3": 3 lines from line 12 on (counted from 0 here); of none, the line before.
std::string DiffSpan(std::size_t first, std::size_t count) {
  return fmt::format("{},{}", count == 0 ? first : first + 1, count);
}

}  // namespace

std::string EditedText(std::string_view text, std::vector<ConfEdit> edits) {
  SortEdits(edits);
  std::string out;
  std::size_t at = 0;
  for (const ConfEdit& edit : edits) {
    out += text.substr(at, edit.begin - at);
    out += edit.text;
    at = edit.end;
  }
  out += text.substr(at);
  return out;
}

std::string UnifiedDiff(const std::string& path, std::string_view text,
                        std::vector<ConfEdit> edits) {
  SortEdits(edits);
  const auto lines = DiffLines(text);
  const auto blocks = BlocksOf(text, edits, lines);
  std::string out;
  std::size_t moved_by = 0;  // lines that earlier blocks added, less those they took (wraps)
  for (std::size_t i = 0; i < blocks.size();) {
    std::size_t until = i + 1;
    while (until < blocks.size() &&
           blocks[until].first - blocks[until - 1].last <= 2 * kDiffAround) {
      ++until;
    }
    const std::size_t first = blocks[i].first - std::min(blocks[i].first, kDiffAround);
    const std::size_t last = std::min(blocks[until - 1].last + kDiffAround, lines.size());
    std::string body;
    std::size_t old_count = 0, new_count = 0, at = first;
    const auto same = [&](std::size_t to) {
      for (; at < to; ++at, ++old_count, ++new_count) body += DiffText(' ', lines[at]);
    };
    for (; i < until; ++i) {
      same(blocks[i].first);
      for (; at < blocks[i].last; ++at, ++old_count) body += DiffText('-', lines[at]);
      for (const std::string_view line : DiffLines(blocks[i].text)) {
        body += DiffText('+', line);
        ++new_count;
      }
    }
    same(last);
    const std::size_t new_first = first + moved_by;
    out +=
        fmt::format("@@ -{} +{} @@\n", DiffSpan(first, old_count), DiffSpan(new_first, new_count));
    out += body;
    moved_by += new_count - old_count;
  }
  if (out.empty()) return out;
  return fmt::format("--- {0}\n+++ {0}\n", path) + out;
}

}  // namespace sharewell::engine
