#include "muster/lease.h"

#include "absl/strings/str_cat.h"
#include "client/c/boundary.h"
#include "client/c/handles.h"
#include "muster/c.h"

namespace muster::internal::c {
namespace {

absl::StatusOr<LeaseScope> ScopeOf(muster_lease_scope scope) {
  if (scope == MUSTER_ONCE_PER_NODE) return LeaseScope::kNode;
  if (scope == MUSTER_ONCE_PER_JOB) return LeaseScope::kJob;
  return absl::InvalidArgumentError(absl::StrCat("muster_acquire_lease: the scope is ",
                                                 static_cast<int>(scope),
                                                 ", expected one of muster_lease_scope's values"));
}

absl::Status Fail(Lease& lease, muster_code code, const char* why) {
  if (code < MUSTER_CANCELLED || code > MUSTER_UNAUTHENTICATED) {
    return absl::InvalidArgumentError(absl::StrCat("muster_lease_fail: the code is ",
                                                   static_cast<int>(code),
                                                   ", expected an error of muster_code"));
  }
  return lease.Fail(absl::Status(static_cast<absl::StatusCode>(code), why));
}

absl::Status Result(const Lease& lease, const void** data, size_t* size) {
  const absl::StatusOr<std::string>& result = lease.result();
  if (!result.ok()) return result.status();
  *data = result->c_str();
  if (size != nullptr) *size = result->size();
  return absl::OkStatus();
}

}  // namespace
}  // namespace muster::internal::c

using namespace muster::internal::c;

extern "C" {

muster_status* muster_acquire_lease(muster_job* job, const char* name, muster_lease_scope scope,
                                    const muster_call_options* options, muster_lease** lease) {
  return RunForC([&]() -> absl::Status {
    absl::Status checked =
        CheckNotNull("muster_acquire_lease", {{"job", job}, {"name", name}, {"lease", lease}});
    if (!checked.ok()) return checked;
    const auto once = ScopeOf(scope);
    if (!once.ok()) return once.status();
    const absl::StatusOr<Options> read = ReadOptions(options);
    if (!read.ok()) return read.status();
    return StoreHandle(job->job->AcquireLease(name, *once, read->call), lease);
  });
}

int muster_lease_held(const muster_lease* lease) { return lease != nullptr && lease->lease.held(); }
uint64_t muster_lease_token(const muster_lease* lease) {
  return lease == nullptr ? 0 : lease->lease.token();
}

muster_status* muster_lease_result(const muster_lease* lease, const void** data, size_t* size) {
  return RunForC([&] {
    absl::Status checked = CheckNotNull("muster_lease_result", {{"lease", lease}, {"data", data}});
    return checked.ok() ? Result(lease->lease, data, size) : checked;
  });
}

muster_status* muster_lease_complete(muster_lease* lease, const void* data, size_t size) {
  return RunForC([&] {
    absl::Status checked = CheckNotNull("muster_lease_complete", {{"lease", lease}});
    checked.Update(CheckBytes("muster_lease_complete", "data", data, size));
    return checked.ok() ? lease->lease.Complete(Bytes(data, size)) : checked;
  });
}

muster_status* muster_lease_fail(muster_lease* lease, muster_code code, const char* why) {
  return RunForC([&] {
    absl::Status checked = CheckNotNull("muster_lease_fail", {{"lease", lease}, {"why", why}});
    return checked.ok() ? Fail(lease->lease, code, why) : checked;
  });
}

void muster_lease_release(muster_lease* lease) {
  if (lease != nullptr) lease->lease.Release();
}

void muster_lease_free(muster_lease* lease) { delete lease; }

}  // extern "C"
