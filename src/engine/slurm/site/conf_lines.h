// slurm.conf and gres.conf as Slurm itself reads them: comments, lines that go on behind a `\`,
// quotes, Include, keys in any case. Each line keeps where it stands, so that it can be changed in
// place (conf_edits.h) and named in a message. What Slurm would not read either is refused with
// file and line. Pure; any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace sharewell::engine {

// Of ASCII alone, as Slurm compares keys.
std::string LowerConf(std::string_view text);
bool SameConfWord(std::string_view a, std::string_view b);

struct ConfWord {
  std::string key;    // as it is written
  std::string value;  // without quotes and escapes
  // Of `key=value` and of the value with its quotes, in the file's text.
  std::size_t begin = 0, value_begin = 0, end = 0;

  friend bool operator==(const ConfWord&, const ConfWord&) = default;
};

struct ConfLine {
  std::string file;
  int line = 0;                    // where it begins, from 1
  std::size_t begin = 0, end = 0;  // in the file's text, with its last line break
  std::vector<ConfWord> words;     // at least one

  // Of several words of that key the last, as Slurm has it; nullptr: none.
  const ConfWord* Find(std::string_view key) const;
  std::string ValueOf(std::string_view key) const;  // empty: none
  bool BeginsWith(std::string_view key) const { return SameConfWord(words.front().key, key); }
  std::string Place() const;  // "/etc/slurm/slurm.conf:12"

  friend bool operator==(const ConfLine&, const ConfLine&) = default;
};

struct ConfText {
  std::string top;                           // the file that was asked for
  std::map<std::string, std::string> files;  // all that were read, by path
  std::vector<ConfLine> lines;               // in the order in which they count

  // A setting of the whole cluster, not of a node or a partition; of several the last.
  const ConfWord* Setting(std::string_view key, const ConfLine** line = nullptr) const;
  std::string SettingValue(std::string_view key) const;  // empty: not set
};

// A file's text; absent: it cannot be read.
using ConfFileText = std::function<std::optional<std::string>(const std::string& path)>;

// `top` and what it includes. A relative name in an Include is looked for beside the file that has
// it, and %c in it is the cluster's name.
core::Result<ConfText> ReadConf(const std::string& top, const ConfFileText& text_of);

// A value as it is written, so that it is read as the same: quoted where it must be. REQUIRES: no
// line break, and no `"` beside blanks.
std::string WrittenConfValue(std::string_view value);

// "NodeName", "PartitionName" and the like: what stands behind them on the line belongs to them.
bool IsConfRecord(std::string_view key);

}  // namespace sharewell::engine
