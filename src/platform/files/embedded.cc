#include "platform/files/embedded.h"

#include "platform/files/embed.h"

#define SHAREWELL_EMBED(symbol, file) SHAREWELL_EMBED_OF(symbol, SHAREWELL_DATA_DIR, file)

SHAREWELL_EMBED(sharewell_embedded_model, "h200/model.json");
SHAREWELL_EMBED_OF(sharewell_embedded_profiler, SHAREWELL_BUILD_DIR, "libsharewell-profiler.so");
SHAREWELL_EMBED(sharewell_embedded_openapi, "../docs/openapi.json");
SHAREWELL_EMBED(sharewell_embedded_gpus, "gpus.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_cores, "h200/cores.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_inception, "h200/inception.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_kernels, "h200/kernels.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_packing, "h200/packing.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_profiles, "h200/profiles.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_profiles_2, "h200/profiles-2.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_profiles_3, "h200/profiles-3.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_profiles_4, "h200/profiles-4.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_profiles_5, "h200/profiles-5.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_profiles_9, "h200/profiles-9.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_pairs, "h200/pairs.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_pairs_2, "h200/pairs-2.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_triples, "h200/triples.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_shares, "h200/shares.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_groups, "h200/groups.csv");
SHAREWELL_EMBED(sharewell_embedded_h200_groups_2, "h200/groups-2.csv");
SHAREWELL_EMBED(sharewell_embedded_reproduce_page, "papers/reproduce.md.in");
SHAREWELL_EMBED(sharewell_embedded_slurm_lua, "../packaging/slurm/job_submit.lua");
SHAREWELL_EMBED(sharewell_embedded_slurm_cli_filter, "../packaging/slurm/cli_filter.lua");
SHAREWELL_EMBED(sharewell_embedded_slurm_prolog, "../packaging/slurm/prolog.sh");
SHAREWELL_EMBED(sharewell_embedded_slurm_epilog, "../packaging/slurm/epilog.sh");
SHAREWELL_EMBED(sharewell_embedded_slurm_task_prolog, "../packaging/slurm/task_prolog.sh");
SHAREWELL_EMBED(sharewell_embedded_slurm_watchdog, "../packaging/slurm/watchdog.sh");
SHAREWELL_EMBED(sharewell_embedded_operators, "../tools/lab/operators.py");
SHAREWELL_EMBED(sharewell_embedded_operator_runs, "../tools/lab/operator_runs.py");
SHAREWELL_EMBED(sharewell_embedded_operator_clock, "../tools/lab/operator_clock.py");
SHAREWELL_EMBED(sharewell_embedded_host_probe, "../tools/lab/host_probe.py");
SHAREWELL_EMBED(sharewell_embedded_feeds, "../zoo/feeds.py");
SHAREWELL_EMBED(sharewell_embedded_h200_operators, "h200/operators.csv");

namespace sharewell::platform {

std::string_view EmbeddedProfilerLibrary() {
  return {sharewell_embedded_profiler_begin, sharewell_embedded_profiler_end};
}

std::string_view EmbeddedModel() {
  return {sharewell_embedded_model_begin, sharewell_embedded_model_end};
}

std::string_view EmbeddedOpenApi() {
  return {sharewell_embedded_openapi_begin, sharewell_embedded_openapi_end};
}

std::string_view EmbeddedGpus() {
  return {sharewell_embedded_gpus_begin, sharewell_embedded_gpus_end};
}

std::string_view EmbeddedH200Cores() {
  return {sharewell_embedded_h200_cores_begin, sharewell_embedded_h200_cores_end};
}

std::string_view EmbeddedH200Inception() {
  return {sharewell_embedded_h200_inception_begin, sharewell_embedded_h200_inception_end};
}

std::string_view EmbeddedH200Kernels() {
  return {sharewell_embedded_h200_kernels_begin, sharewell_embedded_h200_kernels_end};
}

std::string_view EmbeddedH200Packing() {
  return {sharewell_embedded_h200_packing_begin, sharewell_embedded_h200_packing_end};
}

std::string_view EmbeddedH200Profiles() {
  return {sharewell_embedded_h200_profiles_begin, sharewell_embedded_h200_profiles_end};
}

std::string_view EmbeddedH200Profiles2() {
  return {sharewell_embedded_h200_profiles_2_begin, sharewell_embedded_h200_profiles_2_end};
}

std::string_view EmbeddedH200Profiles3() {
  return {sharewell_embedded_h200_profiles_3_begin, sharewell_embedded_h200_profiles_3_end};
}

std::string_view EmbeddedH200Profiles4() {
  return {sharewell_embedded_h200_profiles_4_begin, sharewell_embedded_h200_profiles_4_end};
}

std::string_view EmbeddedH200Profiles5() {
  return {sharewell_embedded_h200_profiles_5_begin, sharewell_embedded_h200_profiles_5_end};
}

std::string_view EmbeddedH200Profiles9() {
  return {sharewell_embedded_h200_profiles_9_begin, sharewell_embedded_h200_profiles_9_end};
}

std::string_view EmbeddedH200Pairs() {
  return {sharewell_embedded_h200_pairs_begin, sharewell_embedded_h200_pairs_end};
}

std::string_view EmbeddedH200Pairs2() {
  return {sharewell_embedded_h200_pairs_2_begin, sharewell_embedded_h200_pairs_2_end};
}

std::string_view EmbeddedH200Shares() {
  return {sharewell_embedded_h200_shares_begin, sharewell_embedded_h200_shares_end};
}

std::string_view EmbeddedH200Groups() {
  return {sharewell_embedded_h200_groups_begin, sharewell_embedded_h200_groups_end};
}

std::string_view EmbeddedH200Groups2() {
  return {sharewell_embedded_h200_groups_2_begin, sharewell_embedded_h200_groups_2_end};
}

std::string_view EmbeddedH200Triples() {
  return {sharewell_embedded_h200_triples_begin, sharewell_embedded_h200_triples_end};
}

std::string_view EmbeddedReproducePage() {
  return {sharewell_embedded_reproduce_page_begin, sharewell_embedded_reproduce_page_end};
}

std::string_view EmbeddedSlurmLua() {
  return {sharewell_embedded_slurm_lua_begin, sharewell_embedded_slurm_lua_end};
}

std::string_view EmbeddedSlurmCliFilter() {
  return {sharewell_embedded_slurm_cli_filter_begin, sharewell_embedded_slurm_cli_filter_end};
}

std::string_view EmbeddedSlurmProlog() {
  return {sharewell_embedded_slurm_prolog_begin, sharewell_embedded_slurm_prolog_end};
}

std::string_view EmbeddedSlurmEpilog() {
  return {sharewell_embedded_slurm_epilog_begin, sharewell_embedded_slurm_epilog_end};
}

std::string_view EmbeddedSlurmTaskProlog() {
  return {sharewell_embedded_slurm_task_prolog_begin, sharewell_embedded_slurm_task_prolog_end};
}

std::string_view EmbeddedSlurmWatchdog() {
  return {sharewell_embedded_slurm_watchdog_begin, sharewell_embedded_slurm_watchdog_end};
}

std::string_view EmbeddedOperators() {
  return {sharewell_embedded_operators_begin, sharewell_embedded_operators_end};
}

std::string_view EmbeddedOperatorRuns() {
  return {sharewell_embedded_operator_runs_begin, sharewell_embedded_operator_runs_end};
}

std::string_view EmbeddedOperatorClock() {
  return {sharewell_embedded_operator_clock_begin, sharewell_embedded_operator_clock_end};
}

std::string_view EmbeddedHostProbe() {
  return {sharewell_embedded_host_probe_begin, sharewell_embedded_host_probe_end};
}

std::string_view EmbeddedFeeds() {
  return {sharewell_embedded_feeds_begin, sharewell_embedded_feeds_end};
}

std::string_view EmbeddedH200Operators() {
  return {sharewell_embedded_h200_operators_begin, sharewell_embedded_h200_operators_end};
}

}  // namespace sharewell::platform
