#include "server/metrics/job_families.h"

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace muster::metrics {
namespace {

// Names of enumerators, in the order of their enumerations.
constexpr std::array<const char*, core::kJobStates> kJobStateNames = {
    "forming", "running", "failed", "finished", "recovering", "reforming"};
constexpr std::array<const char*, core::kMemberStates> kMemberStateNames = {
    "attached", "joining", "running", "detached", "leaving", "left", "lost", "stopped", "awaited"};
constexpr std::array<const char*, core::kCollectiveKinds> kCollectiveNames = {
    "barrier", "broadcast", "gather", "all_gather"};
constexpr std::array<const char*, core::kLossCauses> kLossNames = {
    "exited",   "signaled",   "cut_off",      "stopped",
    "replaced", "left_early", "not_rejoined", "not_recovered"};
constexpr std::array<const char*, core::kWaitKinds> kWaitNames = {"place", "collective", "lease",
                                                                  "leave", "recovery"};

// Returns the family with one value for each name.
template <typename Number, size_t kCount>
Family OfEach(Family family, const char* label, const std::array<const char*, kCount>& names,
              const std::array<Number, kCount>& values) {
  for (size_t i = 0; i < kCount; ++i) {
    Add(&family, static_cast<double>(values[i]), {{label, names[i]}});
  }
  return family;
}

Family JobInfo(const core::Options& options) {
  Family family =
      Gauges("muster_job_info", "1, labelled with the job's name and whether the job is elastic.");
  const bool elastic = options.min_world_size != 0;
  Add(&family, 1, {{"job_id", options.job_id}, {"elastic", elastic ? "true" : "false"}});
  return family;
}

Family JobState(core::JobState state) {
  std::array<int, core::kJobStates> is{};
  is[static_cast<size_t>(state)] = 1;
  return OfEach(
      Gauges("muster_job_state", "1 for the current state of the job, 0 for all other states."),
      "state", kJobStateNames, is);
}

void AddState(const core::Metrics& m, Families* out) {
  out->push_back(JobState(m.state));
  out->push_back(Gauge("muster_epoch_number",
                       "Number of the current epoch, 0 before the first. It grows from epoch to "
                       "epoch, but does not count epochs.",
                       static_cast<double>(m.epoch.value_or(0))));
  out->push_back(Gauge("muster_world_size", "Ranks of the job; 0 while their number is unknown.",
                       m.world_size));
  out->push_back(
      OfEach(Gauges("muster_members", "Processes that the coordinator knows, by their state."),
             "state", kMemberStateNames, m.members));
  out->push_back(Gauge("muster_newcomers_waiting",
                       "Processes that wait for a place in the next epoch of an elastic job.",
                       m.newcomers_waiting));
  out->push_back(Gauge("muster_stop_requested", "1 once a rank has asked all to stop, 0 before.",
                       m.stop_requested));
}

void AddHeld(const core::Metrics& m, const core::Options& options, Families* out) {
  const core::Limits& limits = options.limits;
  const auto held = [out](const std::string& name, const std::string& what, double value,
                          double limit, const char* flag) {
    out->push_back(Gauge(name, absl::StrCat(what, "."), value));
    out->push_back(Gauge(absl::StrCat(name, "_limit"),
                         absl::StrCat("Limit of ", name, " (", flag, ")."), limit));
  };
  held("muster_known_members", "Processes that the coordinator knows",
       static_cast<double>(m.known_members), limits.max_members, "--max-members");
  held("muster_parked_calls", "Calls that wait for an answer", static_cast<double>(m.parked_calls),
       limits.max_waiters, "--max-waiters");
  held("muster_held_bytes", "Payloads and results that the coordinator holds, in bytes",
       static_cast<double>(m.held_bytes), static_cast<double>(limits.max_held_bytes),
       "--max-held-bytes");
  held("muster_lease_names", "Names of leased work whose holder or outcome is known",
       static_cast<double>(m.lease_names), limits.max_leases, "--max-leases");
  held("muster_store_keys", "Keys of the store, with those just deleted",
       static_cast<double>(m.store_keys), static_cast<double>(options.store.max_keys),
       "--max-store-keys");
}

void AddStore(const core::Metrics& m, Families* out) {
  out->push_back(Gauge("muster_store_clients", "Processes that have a stream to the store.",
                       static_cast<double>(m.store_clients)));
  out->push_back(Gauge("muster_store_waiting_operations",
                       "Operations on the store that wait for a key, an element, other processes "
                       "or a confirmation.",
                       static_cast<double>(m.store_waits)));
}

void AddCollectives(const core::Metrics& m, Families* out) {
  out->push_back(OfEach(Counters("muster_collective_arrivals_total",
                                 "Arrivals of ranks at collectives, including repeated sends."),
                        "kind", kCollectiveNames, m.counters.arrivals));
  out->push_back(
      OfEach(Counters("muster_collectives_completed_total", "Collectives that have completed."),
             "kind", kCollectiveNames, m.counters.completed));
  out->push_back(Gauge("muster_pending_collectives",
                       "Collectives that wait for some of their ranks.",
                       static_cast<double>(m.pending_collectives)));
  out->push_back(Gauge("muster_oldest_pending_collective_seconds",
                       "How long the first rank has waited in the collective that has been pending "
                       "for the longest time; 0 if no collective is pending.",
                       absl::ToDoubleSeconds(m.oldest_pending)));
  Family waits = Histograms("muster_collective_wait_seconds",
                            "How long the first rank of a completed collective has waited for the "
                            "last. Numbers in groups and labels are written as #.");
  for (const core::CollectiveWaits& of : m.collective_waits) {
    const char* kind = of.kind ? kCollectiveNames[static_cast<size_t>(*of.kind)] : "other";
    Add(&waits, of.waits, {{"kind", kind}, {"group", of.group}, {"label", of.label}});
  }
  out->push_back(std::move(waits));
}

void AddLeases(const core::Metrics& m, Families* out) {
  out->push_back(
      Gauge("muster_leases_held", "Leases that are held.", static_cast<double>(m.leases_held)));
  out->push_back(Gauge("muster_lease_waiters", "Requests that wait for a lease.",
                       static_cast<double>(m.lease_waiters)));
  Family waits = Histograms("muster_lease_wait_seconds",
                            "How long requests have waited for a lease, or for the outcome "
                            "of the work.");
  Add(&waits, m.counters.lease_waits, {});
  out->push_back(std::move(waits));
}

void AddEvents(const core::Metrics& m, Families* out) {
  const core::Counters& counters = m.counters;
  out->push_back(OfEach(Counters("muster_members_lost_total", "Members that were lost, by cause."),
                        "cause", kLossNames, counters.losses));
  out->push_back(OfEach(Counters("muster_calls_timed_out_total",
                                 "Calls that have timed out, by what they waited for."),
                        "call", kWaitNames, counters.timeouts));
  const auto counter = [out](const char* name, const char* help, uint64_t value) {
    out->push_back(Counter(name, help, static_cast<double>(value)));
  };
  counter("muster_epochs_formed_total", "Epochs that have formed.", counters.epochs_formed);
  counter("muster_epochs_broken_total", "Epochs that a loss has broken.", counters.epochs_broken);
  counter("muster_replacements_total",
          "Processes that have replaced lost ones in the whole life of an elastic job.",
          m.replacements);
  counter("muster_members_reattached_total", "Times that a known process has attached again.",
          counters.reattached);
  counter("muster_stall_warnings_total",
          "Warnings about a wait that is long, or longer than usual.", counters.stall_warnings);
}

void AddStragglers(const core::Metrics& m, Families* out) {
  Family last =
      Gauges("muster_straggler_last_ratio",
             "Share of the latest collectives of an operation in which the rank arrived last. The "
             "metrics of stragglers cover the ten ranks that the others waited for the longest.");
  Family median = Gauges(
      "muster_straggler_median_lateness_seconds",
      "How long after the median arrival the rank arrives: the median of the latest collectives.");
  Family p95 = Gauges("muster_straggler_p95_lateness_seconds",
                      "How long after the median arrival the rank arrives: the 95th percentile of "
                      "the latest collectives.");
  Family waited =
      Gauges("muster_straggler_waited_seconds",
             "How long the others have waited for the rank in the latest collectives together.");
  for (const core::Straggler& s : m.stragglers) {
    const Labels labels = {
        {"rank", absl::StrCat(s.rank)}, {"node", s.node_id}, {"operation", s.operation}};
    Add(&last, static_cast<double>(s.last) / static_cast<double>(s.collectives), labels);
    Add(&median, absl::ToDoubleSeconds(s.median), labels);
    Add(&p95, absl::ToDoubleSeconds(s.p95), labels);
    Add(&waited, absl::ToDoubleSeconds(s.waited_for), labels);
  }
  for (Family* family : {&last, &median, &p95, &waited}) out->push_back(std::move(*family));
}

}  // namespace

Families JobFamilies(const core::Metrics& metrics, const core::Options& options) {
  Families families = {JobInfo(options)};
  AddState(metrics, &families);
  AddHeld(metrics, options, &families);
  AddCollectives(metrics, &families);
  AddLeases(metrics, &families);
  AddStore(metrics, &families);
  AddEvents(metrics, &families);
  AddStragglers(metrics, &families);
  return families;
}

}  // namespace muster::metrics
