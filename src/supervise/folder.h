// The files of a job's folder as its supervisor writes them (docs/formats/jobs.md).
#pragma once

#include <sys/types.h>

namespace sharewell::supervise {

constexpr int kRefused = 3;  // the folder is void or was used before
constexpr int kCannot = 4;   // nothing can be written there

// Opens the folder, takes its lock for as long as this process lives, and reserves the room for all
// that is written later: the disk may be full when the command starts or ends. 0, or why not.
int Claim(const char* path, int& folder);
// From here on the command may have run, and no other supervisor will begin it. False: it must not.
bool Begin(int folder);
void WriteStarted(int folder, pid_t command);
void WriteEnding(int folder);  // its time limit is over
bool IsGone(int folder);       // somebody has removed it
// Whole and durable, or not at all.
bool WriteExit(int folder, const char* text, int size);

// How long it was paused up to `now_ms`, by the monotonic clock (engine/local/run/pause_file.h).
long long PausedMillis(int folder, long long now_ms);

}  // namespace sharewell::supervise
