// The part of NVIDIA's data center GPU manager (DCGM 3 and 4) that we call: its structures and
// functions as its public documentation gives them, and a table of pointers to those that the
// library at hand has.
//
// The size of a field's value differs between versions, because it ends in a blob: what we declare
// is its beginning, and its own version says how long it is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sharewell::collect::dcgm {

// What every function answers, and what each value carries.
enum Code : int {
  kOk = 0,
  kBadParameter = -1,
  kError = -3,
  kNotSupported = -6,
  kInitError = -7,
  kUninitialized = -10,
  kTimeout = -11,
  kVersionMismatch = -12,
  kUnknownField = -13,
  kNoData = -14,
  kNotWatched = -16,
  kNoPermission = -17,
  kGpuIsLost = -18,
  kConnectionNotValid = -21,
  kGpuNotSupported = -22,
  kRequiresRoot = -29,
  kModuleNotLoaded = -33,
  kInUse = -34,
  kProfilingNotSupported = -36,
  kProfilingLibraryError = -37,
  kProfilingMultiPass = -38,
  kPaused = -54,
};

using Handle = std::uintptr_t;
using Group = std::uintptr_t;
using FieldGroup = std::uintptr_t;
using Field = unsigned short;

inline constexpr int kAutomatic = 1;   // an engine that collects by itself
inline constexpr int kEmptyGroup = 1;  // a group that begins without GPUs
inline constexpr int kGpuEntity = 1;
inline constexpr int kMostGpus = 32;
inline constexpr unsigned kLive = 1;  // ask the driver, not what was kept
inline constexpr Field kUuidField = 54;

inline constexpr unsigned short kDoubleType = 'd', kIntegerType = 'i', kTextType = 's';

// From these on, a number says why there is none: 1 above it not found, 2 not supported, 3 not
// permitted.
inline constexpr double kBlankDouble = 140737488355328.0;
inline constexpr std::int64_t kBlankInteger = 0x7ffffffffffffff0;
inline constexpr int kBlankNotSupported = 2, kBlankNotPermitted = 3;

union Number {
  std::int64_t integer;
  double real;
  char text[8];  // the first of 256
};

struct Value {  // dcgmFieldValue_v1, which callbacks get
  unsigned version;
  Field field;
  unsigned short type;
  int status;
  std::int64_t time;  // microseconds since 1970
  Number number;
};
static_assert(offsetof(Value, time) == 16 && offsetof(Value, number) == 24);

struct EntityValue {  // dcgmFieldValue_v2
  unsigned version;
  int entity_kind;
  unsigned entity;
  Field field;
  unsigned short type;
  int status;
  unsigned unused;
  std::int64_t time;
  Number number;
};
static_assert(offsetof(EntityValue, time) == 24 && offsetof(EntityValue, number) == 32);

struct Entity {
  int kind;
  unsigned id;
};

struct ConnectOptions {  // dcgmConnectV2Params_v2
  unsigned version;
  unsigned keep_after;  // 0: what we watch ends with the connection
  unsigned milliseconds;
  unsigned unix_socket;
};

constexpr unsigned VersionOf(std::size_t size, unsigned version) {
  return static_cast<unsigned>(size) | (version << 24);
}
inline constexpr unsigned kConnectVersion = VersionOf(sizeof(ConnectOptions), 2);
constexpr std::size_t SizeIn(unsigned version) { return version & 0xffffff; }

// 0: go on; below: enough.
using OnValues = int(int entity_kind, unsigned entity, Value* values, int count, void* user);

struct Api {
  int (*Init)() = nullptr;
  int (*StartEmbedded)(int mode, Handle* out) = nullptr;
  int (*StopEmbedded)(Handle) = nullptr;
  int (*Connect)(const char* address, ConnectOptions*, Handle* out) = nullptr;
  int (*Disconnect)(Handle) = nullptr;
  int (*Devices)(Handle, unsigned* ids, int* count) = nullptr;  // ids: kMostGpus
  int (*LatestOf)(Handle, Entity*, unsigned entities, Field*, unsigned fields, unsigned flags,
                  EntityValue* out) = nullptr;
  int (*NewGroup)(Handle, int kind, const char* name, Group* out) = nullptr;
  int (*AddToGroup)(Handle, Group, int entity_kind, unsigned entity) = nullptr;
  int (*FreeGroup)(Handle, Group) = nullptr;
  int (*NewFieldGroup)(Handle, int count, Field*, const char* name, FieldGroup* out) = nullptr;
  int (*FreeFieldGroup)(Handle, FieldGroup) = nullptr;
  int (*Watch)(Handle, Group, FieldGroup, long long microseconds, double keep_seconds,
               int keep_samples) = nullptr;
  int (*Unwatch)(Handle, Group, FieldGroup) = nullptr;
  int (*ValuesSince)(Handle, Group, FieldGroup, long long since, long long* next, OnValues*,
                     void* user) = nullptr;
  int (*PauseProfiling)(Handle) = nullptr;
  int (*ResumeProfiling)(Handle) = nullptr;
};

}  // namespace sharewell::collect::dcgm
