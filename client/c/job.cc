#include "muster/job.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/c/boundary.h"
#include "client/c/handles.h"
#include "client/src/environment/process_placement.h"
#include "client/src/environment/read_job_options.h"
#include "muster/c.h"
#include "muster/exit_code.h"
#include "muster/or_die.h"
#include "muster/version.h"

namespace muster::internal::c {
namespace {

absl::Status SetVariable(const std::string& name, const char* value, Variables* variables) {
  const std::vector<std::string>& known = OptionVariables();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("muster_options_set: joining depends on no variable '", name, "'; there are ",
                     absl::StrJoin(known, ", ")));
  }
  if (value == nullptr) {
    variables->erase(name);
  } else {
    (*variables)[name] = value;
  }
  return absl::OkStatus();
}

absl::StatusOr<JobOptions> OptionsOf(const muster_options* options) {
  return options == nullptr ? JobOptions::FromEnvironment() : ReadJobOptions(options->variables);
}

// Returns a number of the place that the options' variables give this process, or -1 if they give
// none.
template <class F>
int Placed(const muster_options* options, F number) {
  if (options == nullptr) return -1;
  try {
    const absl::StatusOr<Placement> placement = ReadPlacement(options->variables);
    if (!placement.ok()) return -1;
    const auto number_found = number(*placement);
    return number_found ? static_cast<int>(number_found->value) : -1;
  } catch (const std::exception&) {
    return -1;
  }
}

// Calls a method of Job that takes only options.
template <class Method>
muster_status* WithOptions(absl::string_view call, muster_job* job,
                           const muster_call_options* options, Method method) {
  return RunForC([&]() -> absl::Status {
    if (absl::Status checked = CheckNotNull(call, {{"job", job}}); !checked.ok()) return checked;
    const absl::StatusOr<Options> read = ReadOptions(options);
    if (!read.ok()) return read.status();
    return (job->job.get()->*method)(read->call);
  });
}

absl::Status FillMember(const Job& job, int rank, muster_member* member) {
  const std::vector<Member>& members = job.members();
  if (rank < 0 || rank >= static_cast<int>(members.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("muster_member_of: there is no rank ", rank, " in a job of ", members.size()));
  }
  if (member->size < sizeof(size_t)) {
    return absl::InvalidArgumentError(absl::StrCat("muster_member.size is ", member->size,
                                                   "; initialize the struct with MUSTER_MEMBER"));
  }
  const Member& found = members[rank];
  muster_member filled = MUSTER_MEMBER;
  filled.size = member->size;
  filled.rank = found.rank;
  filled.local_rank = found.local_rank;
  filled.node_rank = found.node_rank;
  filled.previous_rank = found.previous_rank.value_or(-1);
  filled.pid = found.pid;
  filled.node_id = found.node_id.c_str();
  filled.hostname = found.hostname.c_str();
  filled.topology = found.topology.c_str();
  // A caller with an older header has fewer fields. With a newer one, the fields that this library
  // does not know stay as they are.
  std::memcpy(member, &filled, std::min(member->size, sizeof(filled)));
  return absl::OkStatus();
}

// Runs the function that the caller passed to muster_run_on_rank() and returns its result.
absl::StatusOr<std::string> RunWork(muster_work work, void* context) {
  if (work == nullptr) {
    return absl::InvalidArgumentError(
        "muster_run_on_rank: 'work' is NULL on the rank that runs it");
  }
  muster_values value{{""}};
  muster_status* const failed = work(context, &value);
  if (failed == nullptr) return std::move(value.values.front());
  absl::Status status = failed->status;
  muster_status_free(failed);
  return status;
}

// Returns a number of the job as an int, or -1 without a job.
template <class F>
int Number(const muster_job* job, F number) {
  return job == nullptr ? -1 : static_cast<int>(number(*job->job));
}

}  // namespace
}  // namespace muster::internal::c

using muster::Job;
using namespace muster::internal::c;

extern "C" {

const char* muster_version() { return MUSTER_VERSION; }

int muster_status_exit_code(const muster_status* status) {
  return status == nullptr ? 0 : muster::ExitCode(status->status);
}

void muster_or_die(const muster_status* status) {
  if (status != nullptr) muster::OrDie(status->status, muster::CallSite());
}

void muster_write_termination_reason(const char* reason) {
  if (reason != nullptr) muster::WriteTerminationReason(reason);
}

muster_status* muster_options_new(muster_options** options) {
  return RunForC([&] {
    absl::Status checked = CheckNotNull("muster_options_new", {{"options", options}});
    if (checked.ok()) *options = new muster_options();
    return checked;
  });
}

muster_status* muster_options_from_environment(muster_options** options) {
  return RunForC([&] {
    absl::Status checked = CheckNotNull("muster_options_from_environment", {{"options", options}});
    if (checked.ok()) *options = new muster_options{muster::internal::ProcessVariables()};
    return checked;
  });
}

muster_status* muster_options_set(muster_options* options, const char* variable,
                                  const char* value) {
  return RunForC([&] {
    absl::Status checked =
        CheckNotNull("muster_options_set", {{"options", options}, {"variable", variable}});
    return checked.ok() ? SetVariable(variable, value, &options->variables) : checked;
  });
}

int muster_options_rank(const muster_options* options) {
  return Placed(options,
                [](const muster::internal::Placement& placement) { return placement.rank; });
}
int muster_options_local_rank(const muster_options* options) {
  return Placed(options,
                [](const muster::internal::Placement& placement) { return placement.local_rank; });
}

void muster_options_free(muster_options* options) { delete options; }

muster_status* muster_cancellation_new(muster_cancellation** cancellation) {
  return RunForC([&] {
    absl::Status checked =
        CheckNotNull("muster_cancellation_new", {{"cancellation", cancellation}});
    if (checked.ok()) *cancellation = new muster_cancellation();
    return checked;
  });
}

void muster_cancel(muster_cancellation* cancellation) {
  if (cancellation != nullptr) cancellation->cancellation.Cancel();
}

void muster_cancellation_free(muster_cancellation* cancellation) { delete cancellation; }

muster_status* muster_join(const muster_options* options, muster_cancellation* cancellation,
                           muster_job** job) {
  return RunForC([&]() -> absl::Status {
    if (absl::Status checked = CheckNotNull("muster_join", {{"job", job}}); !checked.ok())
      return checked;
    return StoreHandle(Job::Join(OptionsOf(options),
                                 cancellation == nullptr ? nullptr : &cancellation->cancellation),
                       job);
  });
}

muster_status* muster_leave(muster_job* job, const muster_call_options* options) {
  return WithOptions("muster_leave", job, options, &Job::Leave);
}

void muster_job_free(muster_job* job) { delete job; }

int muster_rank(const muster_job* job) {
  return Number(job, [](const Job& joined) { return joined.rank(); });
}
int muster_world_size(const muster_job* job) {
  return Number(job, [](const Job& joined) { return joined.world_size(); });
}
int muster_local_rank(const muster_job* job) {
  return Number(job, [](const Job& joined) { return joined.local_rank(); });
}
int muster_local_world_size(const muster_job* job) {
  return Number(job, [](const Job& joined) { return joined.local_world_size(); });
}
int muster_node_rank(const muster_job* job) {
  return Number(job, [](const Job& joined) { return joined.node_rank(); });
}
int muster_num_nodes(const muster_job* job) {
  return Number(job, [](const Job& joined) { return joined.num_nodes(); });
}

const char* muster_node_id(const muster_job* job, int rank) {
  if (job == nullptr) return nullptr;
  const std::vector<muster::Member>& members = job->job->members();
  if (rank < 0 || rank >= static_cast<int>(members.size())) return nullptr;
  return members[rank].node_id.c_str();
}

const char* muster_job_id(const muster_job* job) {
  return job == nullptr ? nullptr : job->job->id().c_str();
}

int muster_is_distributed(const muster_job* job) {
  return job != nullptr && job->job->is_distributed();
}

muster_status* muster_member_of(const muster_job* job, int rank, muster_member* member) {
  return RunForC([&] {
    absl::Status checked = CheckNotNull("muster_member_of", {{"job", job}, {"member", member}});
    return checked.ok() ? FillMember(*job->job, rank, member) : checked;
  });
}

muster_status* muster_health(const muster_job* job) {
  return RunForC([&] {
    absl::Status checked = CheckNotNull("muster_health", {{"job", job}});
    return checked.ok() ? job->job->health() : checked;
  });
}

muster_status* muster_await_failure(const muster_job* job, int64_t timeout_ms) {
  return RunForC([&] {
    absl::Status checked = CheckNotNull("muster_await_failure", {{"job", job}});
    return checked.ok() ? job->job->AwaitFailure(absl::Milliseconds(timeout_ms)) : checked;
  });
}

muster_status* muster_on_failure(const muster_job* job, muster_failure_callback callback,
                                 void* context, muster_subscription** subscription) {
  return RunForC([&]() -> absl::Status {
    absl::Status checked =
        CheckNotNull("muster_on_failure", {{"job", job},
                                           {"callback", reinterpret_cast<const void*>(callback)},
                                           {"subscription", subscription}});
    if (!checked.ok()) return checked;
    auto made = std::make_unique<muster_subscription>();
    made->subscription = job->job->OnFailure([callback, context](const absl::Status& why) {
      const muster_status shown(why);
      callback(context, &shown);
    });
    *subscription = made.release();
    return absl::OkStatus();
  });
}

void muster_subscription_free(muster_subscription* subscription) { delete subscription; }

muster_status* muster_values_set(muster_values* value, const void* data, size_t size) {
  return RunForC([&] {
    absl::Status checked = CheckNotNull("muster_values_set", {{"value", value}});
    checked.Update(CheckBytes("muster_values_set", "data", data, size));
    if (checked.ok()) value->values.assign(1, std::string(Bytes(data, size)));
    return checked;
  });
}

muster_status* muster_run_on_rank(muster_job* job, int rank, muster_work work, void* context,
                                  const muster_call_options* options, muster_values** value) {
  return RunForC([&]() -> absl::Status {
    absl::Status checked = CheckNotNull("muster_run_on_rank", {{"job", job}, {"value", value}});
    if (!checked.ok()) return checked;
    const absl::StatusOr<Options> read = ReadOptions(options);
    if (!read.ok()) return read.status();
    // Does the same as Job::RunOnRank(), but passes the bytes unchanged. Ranks in C++ may take part
    // in the same call, and they use a codec.
    Job& of = *job->job;
    absl::StatusOr<std::string> outcome = std::string();
    if (of.rank() == rank || of.prevents_block()) {
      outcome = muster::internal::RunAlone(of, [&] { return RunWork(work, context); });
    }
    outcome = muster::internal::ShareOutcome(of.world(), rank, outcome, "RunOnRank", read->call,
                                             read->site);
    if (!outcome.ok()) return outcome.status();
    *value = new muster_values{{*std::move(outcome)}};
    return absl::OkStatus();
  });
}

muster_status* muster_rejoin(muster_job* job, const muster_call_options* options) {
  return WithOptions("muster_rejoin", job, options, &Job::Rejoin);
}
uint64_t muster_epoch(const muster_job* job) { return job == nullptr ? 0 : job->job->epoch(); }
int muster_newcomers_waiting(const muster_job* job) {
  return Number(job, [](const Job& joined) { return joined.NewcomersWaiting(); });
}
int muster_resumed(const muster_job* job) { return job != nullptr && job->job->resumed(); }

muster_status* muster_request_stop(muster_job* job, const muster_call_options* options) {
  return WithOptions("muster_request_stop", job, options, &Job::RequestStop);
}
int muster_stop_requested(const muster_job* job) {
  return job != nullptr && job->job->StopRequested();
}

}  // extern "C"
