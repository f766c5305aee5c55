#include "measure/imports/import_kernels.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <tuple>
#include <utility>

#include "core/text/quoted.h"
#include "import/kernel_table.h"
#include "import/kineto.h"
#include "import/ncu.h"
#include "platform/clock/wall_clock.h"
#include "platform/files/mapped_file.h"

namespace sharewell::measure {
namespace {

using core::ProfileRecord;
using core::Result;
using core::UsageError;

Result<ProfileRecord> Merged(store::Store& opened, const std::string& into, ProfileRecord fresh) {
  store::ProfileFilter filter;
  std::int64_t id = 0;
  const char* end = into.data() + into.size();
  const auto [rest, error] = std::from_chars(into.data(), end, id);
  if (error == std::errc() && rest == end) {
    filter.id = id;
  } else {
    filter.name = into;
  }
  auto found = opened.Profiles(filter);
  RETURN_IF_ERROR(found);
  if (found->empty()) {
    return UsageError("--into: there is no profile {}; `sharewell profiles list` shows them",
                      core::Quoted(into));
  }
  if (found->size() > 1) {
    return UsageError("--into: {} profiles are named {}; give the id of one ({} ...)",
                      found->size(), core::Quoted(into), found->front().id);
  }
  ProfileRecord record = std::move(found->front());
  PutKernels(std::move(fresh), record);
  return record;
}

Result<ProfileRecord> ReadKernels(const KernelImport& asked) {
  const auto file = platform::MappedFile::Open(asked.file);
  RETURN_IF_ERROR(file);
  auto read = asked.format == "ncu" ? imports::ReadNcuText(file->text(), asked.file)
                                    : imports::ReadKinetoText(file->text(), asked.file);
  RETURN_IF_ERROR(read);
  read->created = platform::UnixNow();
  read->source = "import " + asked.format;
  read->name = asked.name.empty() ? std::filesystem::path(asked.file).stem().string() : asked.name;
  read->profile.workload.name = read->name;
  if (!asked.gpu.empty()) read->profile.gpu = asked.gpu;
  return std::move(*read);
}

}  // namespace

core::KernelFigure PutKernels(ProfileRecord fresh, ProfileRecord& record) {
  record.kernels = std::move(fresh.kernels);
  std::erase_if(record.figures, [&](const core::Figure& old) {
    return std::any_of(fresh.figures.begin(), fresh.figures.end(),
                       [&](const core::Figure& figure) { return figure.metric == old.metric; });
  });
  for (core::Figure& figure : fresh.figures) record.figures.push_back(std::move(figure));
  std::stable_sort(record.figures.begin(), record.figures.end(),
                   [](const core::Figure& a, const core::Figure& b) {
                     return std::tie(a.metric, a.instance) < std::tie(b.metric, b.instance);
                   });
  if (record.profile.gpu.empty()) record.profile.gpu = fresh.profile.gpu;
  if (fresh.profile.kernel_time) record.profile.kernel_time = fresh.profile.kernel_time;
  if (fresh.profile.kernels) record.profile.kernels = fresh.profile.kernels;
  for (const std::string& note : fresh.notes) {
    const std::string full = fresh.source + ": " + note;
    if (std::find(record.notes.begin(), record.notes.end(), full) == record.notes.end()) {
      record.notes.push_back(full);
    }
  }
  return imports::WholeOf(record.kernels);
}

Result<ImportedKernels> ImportKernels(const KernelImport& asked, const OpenStore& open) {
  auto record = ReadKernels(asked);
  RETURN_IF_ERROR(record);
  const auto opened = open();
  RETURN_IF_ERROR(opened);
  if (!asked.into.empty()) {
    record = Merged(**opened, asked.into, std::move(*record));
    RETURN_IF_ERROR(record);
  }
  const auto id = (*opened)->Save(*record);
  RETURN_IF_ERROR(id);
  record->id = *id;
  const core::KernelFigure whole = imports::WholeOf(record->kernels);
  return ImportedKernels{std::move(*record), whole};
}

}  // namespace sharewell::measure
