#include "report/watch/screen.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "report/jobs/job_tables.h"
#include "report/text/table.h"

namespace sharewell::report {

std::string TextOf(const ScreenLine& line) {
  std::string text;
  for (const Piece& piece : line.pieces) text += piece.text;
  return text;
}

namespace {

constexpr std::size_t kShortPiece = 24;  // a figure and its name
constexpr std::size_t kLongWord = 16;    // a longer one is cut after all

// At most `width` columns of a text that is wider, without a part of a word at its end.
std::string WordsWithin(std::string_view text, std::size_t width) {
  std::string cut(text.substr(0, BytesWithin(text, width)));
  if (cut.size() < text.size() && text[cut.size()] != ' ') {
    const std::size_t space = cut.rfind(' ');
    if (space != std::string::npos && cut.size() - space <= kLongWord) cut.resize(space);
  }
  while (cut.ends_with(' ')) cut.pop_back();
  return cut;
}

}  // namespace

std::vector<std::string> BrokenLine(std::string_view text, std::size_t width) {
  constexpr std::string_view kIndent = "  ";
  std::vector<std::string> lines;
  while (!text.empty() || lines.empty()) {
    const std::string_view indent = lines.empty() || width <= 2 * kIndent.size() ? "" : kIndent;
    const std::size_t room = std::max<std::size_t>(width, indent.size() + 1) - indent.size();
    if (DisplayWidth(text) <= room) {
      lines.push_back(std::string(indent) + std::string(text));
      break;
    }
    std::size_t end = BytesWithin(text, room);
    if (text[end] != ' ') {
      const std::size_t space = text.substr(0, end).rfind(' ');
      if (space != std::string_view::npos && end - space <= kLongWord) end = space;
    }
    if (end == 0) end = std::max<std::size_t>(BytesWithin(text, 2), 1);  // a wide character
    lines.push_back(std::string(indent) + std::string(text.substr(0, end)));
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return lines;
}

ScreenLine CutLine(ScreenLine line, std::size_t width) {
  if (DisplayWidth(TextOf(line)) <= width) return line;
  ScreenLine cut{.pieces = {}, .chosen = line.chosen};
  std::size_t left = width;
  for (Piece& piece : line.pieces) {
    const std::size_t its = DisplayWidth(piece.text);
    if (its >= left) {
      // Something is missing for certain: more than the width is there.
      const bool is_short = its <= kShortPiece && !cut.pieces.empty();
      const std::string words =
          left == 0 || is_short ? std::string() : WordsWithin(piece.text + "  ", left - 1);
      cut.pieces.push_back({words, piece.ink});
      left -= std::min(left, DisplayWidth(words));
      const bool behind_word = !words.empty() && left > 0;
      if (left > 0) cut.pieces.push_back({behind_word || left == 1 ? "…" : " …", piece.ink});
      break;
    }
    left -= its;
    cut.pieces.push_back(std::move(piece));
  }
  return cut;
}

std::string LoadBar(std::optional<core::Ratio> share, std::size_t width, bool ascii) {
  std::string bar;
  if (!share) {
    for (std::size_t i = 0; i < width; ++i) bar += ascii ? " " : "·";
    return bar;
  }
  const double part = std::clamp(*share, 0.0, 1.0);
  auto full = static_cast<std::size_t>(std::lround(part * static_cast<double>(width)));
  // Little is not nothing, and nearly all is not all.
  if (part > 0 && full == 0) full = 1;
  if (part < 1 && full == width && width > 1) full = width - 1;
  for (std::size_t i = 0; i < width; ++i) {
    if (ascii) {
      bar += i < full ? '#' : '.';
    } else {
      bar += i < full ? "█" : "░";
    }
  }
  return bar;
}

std::string HistoryLine(const std::vector<std::optional<core::Ratio>>& values, std::size_t width,
                        bool ascii) {
  constexpr std::array<std::string_view, 8> kHeights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::string_view kAscii = "_.-=+*%#";
  std::string line;
  const std::size_t shown = std::min(width, values.size());
  line.append(width - shown, ' ');
  for (std::size_t i = values.size() - shown; i < values.size(); ++i) {
    if (!values[i]) {
      line += ' ';
      continue;
    }
    const auto height =
        std::min(static_cast<std::size_t>(std::clamp(*values[i], 0.0, 1.0) * 8), std::size_t{7});
    if (ascii) {
      line += kAscii[height];
    } else {
      line += kHeights[height];
    }
  }
  return line;
}

std::string LeftIn(const std::string& text, std::size_t width) {
  std::string cut = CutTo(text, width);
  cut.append(width - std::min(width, DisplayWidth(cut)), ' ');
  return cut;
}

std::string RightIn(const std::string& text, std::size_t width) {
  const std::string cut = CutTo(text, width);
  return std::string(width - std::min(width, DisplayWidth(cut)), ' ') + cut;
}

std::string InAscii(std::string_view text) {
  std::string out;
  std::string_view rest = text;
  constexpr std::string_view kCut = "…";
  while (!rest.empty()) {
    const char c = rest.front();
    if (rest.starts_with(kCut)) {
      out += '~';
      rest.remove_prefix(kCut.size());
      continue;
    }
    rest.remove_prefix(1);
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else if (byte >= 0xc0) {
      out += '?';  // the first byte of a character; the others say nothing
    }
  }
  return out;
}

}  // namespace sharewell::report
