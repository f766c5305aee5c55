// For tests: a program that does as nvidia-cuda-mps-control.
#pragma once

#include <sys/stat.h>

#include <string>

#include "platform/files/test_folder.h"

namespace sharewell::platform {

// With -d a daemon that leaves its number, without it commands. It knows --multiuser-server where a
// file PROGRAM.everybody is; the words that a daemon was started with are in PROGRAM.words.
constexpr const char* kTestMpsControl = R"sh(#!/bin/sh
pid="$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid"
# Waits for ever, under its own name, without a child that would outlive it.
if [ "$1" = serve ]; then
  exec > /dev/null 2>&1 < /dev/null
  mkfifo "$pid.wait"
  read -r never <> "$pid.wait"
  exit 0
fi
if [ "$1" = --help ]; then
  echo "usage: -d  start the daemon"
  [ -e "$0.everybody" ] && echo "  -M, --multiuser-server  serve all users"
  exit 0
fi
if [ "$1" = -d ]; then
  if [ "$2" = --multiuser-server ] && ! [ -e "$0.everybody" ]; then
    echo "unknown option $2"
    exit 1
  fi
  echo "$*" > "$0.words"
  "$0" serve &
  echo $! > "$pid"
  exit 0
fi
read word rest
# A zombie that nobody reaps is no daemon.
[ -e "$pid" ] && state="$(cut -d' ' -f3 "/proc/$(cat "$pid")/stat" 2> /dev/null)" || exit 1
[ "$state" != Z ] || exit 1
case "$word" in quit) kill "$(cat "$pid")"; rm -f "$pid" "$pid.wait";; esac
)sh";

// Its path.
inline std::string WriteMpsControl(const TestFolder& folder,
                                   const std::string& text = kTestMpsControl) {
  std::string program = folder.Write("control", text);
  ::chmod(program.c_str(), 0755);
  return program;
}

}  // namespace sharewell::platform
