#include "store/upsert.h"

#include <fmt/format.h>

namespace sharewell::store {
namespace {

void AddItem(std::string& list, const std::string& item) {
  if (!list.empty()) list += ", ";
  list += item;
}

}  // namespace

std::string ColumnsOf(const Table& table) {
  std::string columns;
  for (const char* column : table.key) AddItem(columns, column);
  for (const char* column : table.columns) AddItem(columns, column);
  return columns;
}

std::string OnConflict(const Table& table) {
  std::string key, update;
  for (const char* column : table.key) AddItem(key, column);
  for (const char* column : table.columns) {
    AddItem(update, fmt::format("{0} = excluded.{0}", column));
  }
  return fmt::format("ON CONFLICT({}) DO {}", key,
                     update.empty() ? "NOTHING" : "UPDATE SET " + update);
}

std::string UpsertSql(const Table& table) {
  std::string values;
  for (std::size_t i = 1; i <= table.key.size() + table.columns.size(); ++i) {
    AddItem(values, fmt::format("${}", i));
  }
  return fmt::format("INSERT INTO {}({}) VALUES({}) {}", table.name, ColumnsOf(table), values,
                     OnConflict(table));
}

}  // namespace sharewell::store
