// The journal of a sweep or a co-location: one JSON line for each thing that is finished, durable
// when Append returns, so that a second start goes on where the first one ended, however it did.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "measure/grid/sweep_result.h"

namespace sharewell::measure {

struct JournalEntry {
  std::string key;       // GridCell::key
  std::string label;     // for people
  bool done = false;     // false: it failed
  std::string why = {};  // it failed
  bool out_of_memory = false;
  core::UnixMillis time = 0;
  std::vector<RunSummary> runs = {};  // one for each job that ran together

  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

std::string WriteEntry(const JournalEntry& entry);  // one line, without its end
core::Result<JournalEntry> ReadEntry(std::string_view line);

class Journal {
 public:
  // FOLDER/cells.jsonl; made where it is not there, with the folder. A last line that was torn by a
  // crash is cut off; any other line that is none of ours is an error that says which. Another
  // program that has it open is one too.
  static core::Result<std::unique_ptr<Journal>> Open(const std::string& folder);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  const JournalEntry* Find(const std::string& key) const;  // the latest of that key; null: none
  core::Result<void> Append(const JournalEntry& entry);

 private:
  Journal(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  core::Result<void> Load();

  std::string path_;
  int fd_;
  std::map<std::string, JournalEntry> entries_;
};

}  // namespace sharewell::measure
