// The data files that the program carries inside itself, byte for byte as they lie in data/, and
// the description of its API, the scripts for Slurm, and what it runs with the user's Python.
#pragma once

#include <string_view>

namespace sharewell::platform {

std::string_view EmbeddedProfilerLibrary();  // what process/profiler_start.cc became
std::string_view EmbeddedModel();            // data/h200/model.json
std::string_view EmbeddedOpenApi();          // docs/openapi.json
std::string_view EmbeddedGpus();             // data/gpus.csv
std::string_view EmbeddedH200Cores();        // data/h200/cores.csv
std::string_view EmbeddedH200Inception();    // data/h200/inception.csv
std::string_view EmbeddedH200Kernels();      // data/h200/kernels.csv
std::string_view EmbeddedH200Operators();    // data/h200/operators.csv
std::string_view EmbeddedH200Packing();      // data/h200/packing.csv
std::string_view EmbeddedH200Profiles();     // data/h200/profiles.csv
std::string_view EmbeddedH200Profiles2();    // data/h200/profiles-2.csv
std::string_view EmbeddedH200Profiles3();    // data/h200/profiles-3.csv
std::string_view EmbeddedH200Profiles4();    // data/h200/profiles-4.csv
std::string_view EmbeddedH200Profiles5();    // data/h200/profiles-5.csv
std::string_view EmbeddedH200Profiles9();    // data/h200/profiles-9.csv
std::string_view EmbeddedH200Pairs();        // data/h200/pairs.csv
std::string_view EmbeddedH200Pairs2();       // data/h200/pairs-2.csv
std::string_view EmbeddedH200Triples();      // data/h200/triples.csv
std::string_view EmbeddedH200Shares();       // data/h200/shares.csv
std::string_view EmbeddedH200Groups();       // data/h200/groups.csv
std::string_view EmbeddedH200Groups2();      // data/h200/groups-2.csv
std::string_view EmbeddedReproducePage();    // data/papers/reproduce.md.in
std::string_view EmbeddedSlurmLua();         // packaging/slurm/job_submit.lua
std::string_view EmbeddedSlurmCliFilter();   // packaging/slurm/cli_filter.lua
std::string_view EmbeddedSlurmProlog();      // packaging/slurm/prolog.sh
std::string_view EmbeddedSlurmEpilog();      // packaging/slurm/epilog.sh
std::string_view EmbeddedSlurmTaskProlog();  // packaging/slurm/task_prolog.sh
std::string_view EmbeddedSlurmWatchdog();    // packaging/slurm/watchdog.sh
std::string_view EmbeddedOperators();        // tools/lab/operators.py
std::string_view EmbeddedOperatorRuns();     // tools/lab/operator_runs.py
std::string_view EmbeddedOperatorClock();    // tools/lab/operator_clock.py
std::string_view EmbeddedHostProbe();        // tools/lab/host_probe.py
std::string_view EmbeddedFeeds();            // zoo/feeds.py

}  // namespace sharewell::platform
