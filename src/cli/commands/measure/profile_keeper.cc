#include "cli/commands/measure/profile_keeper.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>

#include "cli/args/store_flag.h"
#include "cli/terminal.h"
#include "platform/files/write_file.h"
#include "report/measure/profile_record.h"
#include "store/postgres/password.h"

namespace sharewell::cli {
namespace {

// Batches between two times that samples are made durable: the disk under test is left in peace.
constexpr int kSyncEvery = 30;

}  // namespace

core::Result<ProfileKeeper> ProfileKeeper::Open(const std::string& place) {
  ProfileKeeper keeper;
  if (place == "none") return keeper;
  RETURN_IF_ERROR(CheckStoreIsMeant(place));
  keeper.place_ = StorePlace(place);
  auto opened = store::Open(keeper.place_);
  if (opened) {
    keeper.store_ = std::move(*opened);
  } else if (opened.error().kind == core::ErrorKind::kUsage) {
    return tl::unexpected(opened.error());
  } else {
    keeper.open_error_ = opened.error().message;
    WriteError(keeper.open_error_ + "; the profile will be written to a file instead");
  }
  return keeper;
}

void ProfileKeeper::SetNode(const measure::Facts& machine) {
  for (const auto& [name, value] : machine) {
    if (name == "node") node_ = value;
  }
  char host[256] = "";
  if (node_.empty() && ::gethostname(host, sizeof host - 1) == 0) node_ = host;
}

void ProfileKeeper::Sample(const core::Batch& batch) {
  if (store_ == nullptr) return;
  auto kept = store_->Append(node_, batch);
  if (kept && ++unsynced_ >= kSyncEvery) {
    unsynced_ = 0;
    kept = store_->Sync();
  }
  if (!kept && sample_error_.empty()) sample_error_ = kept.error().message;
}

std::string ProfileKeeper::Keep(core::ProfileRecord& record) {
  if (place_.empty()) return {};
  if (store_ == nullptr) return KeepInFile(record, open_error_);
  const auto id = store_->Save(record);
  if (!id) return KeepInFile(record, id.error().message);
  record.id = *id;
  std::string text =
      fmt::format("stored as profile {} in {}\n", *id, store::WithoutPassword(place_));
  if (auto ok = store_->Sync(); !ok && sample_error_.empty()) sample_error_ = ok.error().message;
  if (!sample_error_.empty()) {
    text += fmt::format("not all samples were stored: {}\n", sample_error_);
  }
  return text;
}

std::string ProfileKeeper::KeepInFile(const core::ProfileRecord& record,
                                      const std::string& why) const {
  std::string plain;
  for (const char c : record.name.substr(0, 60)) {
    plain += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  }
  const std::string file = fmt::format("profile-{}-{}.json", plain, record.created);
  const auto written = platform::WriteFile(file, report::ProfileRecordsJson({record}));
  if (written) {
    return fmt::format("not stored: {}\nwritten to {} instead\n", why, file);
  }
  return fmt::format("not stored: {}\nnor written: {}\n", why, written.error().message);
}

}  // namespace sharewell::cli
