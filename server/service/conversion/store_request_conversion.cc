#include "server/service/conversion/store_request_conversion.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rpc/store_limits.h"
#include "server/service/conversion/request_reader.h"

namespace muster::service {
namespace {

constexpr size_t kIncarnationBytes = 16;

void RequireIncarnation(const std::string& in, const Field& field, RequestReader& r) {
  r.Require(in.size() == kIncarnationBytes, field, [&] {
    return absl::StrCat("has an incarnation of ", in.size(), " bytes; expected ",
                        kIncarnationBytes);
  });
}

// ---- How a stream begins ----

absl::StatusOr<core::StoreOpen> Read(v1::StoreOpen&& in) {
  RequestReader r("StoreOpen");
  core::StoreOpen out;
  out.job_id = in.job_id();
  out.incarnation = in.incarnation();
  out.protocol_version = in.protocol_version();
  if (in.has_rank()) out.rank = in.rank();
  out.node = in.node();
  out.launcher = in.launcher();
  out.attempt = in.attempt();
  out.was_served = in.was_served();
  out.highest_revision = in.highest_revision();
  out.next_operation = in.next_operation();
  uint64_t before = 0;
  for (const uint64_t id : in.unanswered()) {
    r.Require(id > before && id < in.next_operation(), "unanswered", [&] {
      return absl::StrCat("has operation ", id, " after operation ", before,
                          "; expected ascending ids below next_operation, ", in.next_operation());
    });
    before = id;
  }
  out.unanswered.assign(in.unanswered().begin(), in.unanswered().end());
  const core::Incarnation owner = ReadSecret(in.secret(), r);
  absl::StatusOr<core::StoreOpen> read = r.Result(std::move(out));
  if (!read.ok() || read->incarnation == owner) return read;
  return absl::PermissionDeniedError(
      "StoreOpen.secret does not belong to StoreOpen.incarnation: only the process that has the "
      "secret may be this client; a process that was started anew needs a new secret and the "
      "incarnation made of it");
}

absl::StatusOr<core::StoreClaim> Read(v1::StoreClaim&& in) {
  RequestReader r("StoreClaim");
  core::StoreClaim out;
  for (std::string& id : *in.mutable_joined()) {
    RequireIncarnation(id, "joined", r);
    out.joined.push_back(std::move(id));
  }
  for (std::string& id : *in.mutable_lost()) {
    RequireIncarnation(id, "lost", r);
    out.lost.push_back(std::move(id));
  }
  out.entries.reserve(in.entries_size());
  for (v1::ClaimedStoreEntry& entry : *in.mutable_entries()) {
    out.entries.push_back(
        {std::move(*entry.mutable_key()), {entry.revision(), entry.daemon_instance()}});
  }
  out.last = in.last();
  return r.Result(std::move(out));
}

// ---- Operations ----

core::StoreWait ReadWait(v1::StoreWait* in, RequestReader& r) {
  r.Require(static_cast<size_t>(in->keys_size()) <= kMaxStoreWaitKeys, "wait.keys", [&] {
    return absl::StrCat("has ", in->keys_size(), " keys; expected at most ", kMaxStoreWaitKeys);
  });
  core::StoreWait out;
  size_t bytes = 0;
  for (std::string& key : *in->mutable_keys()) {
    bytes += key.size();
    out.keys.push_back(std::move(key));
  }
  r.Require(bytes <= kMaxStoreWaitBytes, "wait.keys", [&] {
    return absl::StrCat("has ", bytes, " bytes; expected at most ", kMaxStoreWaitBytes);
  });
  return out;
}

core::StoreCompareAndSet ReadCompareAndSet(v1::StoreCompareAndSet* in) {
  core::StoreCompareAndSet out;
  out.key = std::move(*in->mutable_key());
  if (in->has_expected()) out.expected = std::move(*in->mutable_expected());
  out.value = Convert(std::move(*in->mutable_value()));
  return out;
}

core::StoreWatch ReadWatch(v1::StoreWatch* in) {
  core::StoreWatch out{std::move(*in->mutable_prefix()), {}};
  if (in->has_after_revision()) out.after_revision = in->after_revision();
  return out;
}

// Reads an operation of a key and a value.
template <typename Out, typename In>
Out ReadKeyAndValue(In* in) {
  return {std::move(*in->mutable_key()), Convert(std::move(*in->mutable_value()))};
}

decltype(core::StoreOperation::what) ReadWhat(v1::StoreOperation* in, RequestReader& r) {
  switch (in->operation_case()) {
    case v1::StoreOperation::kSet:
      return ReadKeyAndValue<core::StoreSet>(in->mutable_set());
    case v1::StoreOperation::kGet:
      return core::StoreGet{std::move(*in->mutable_get()->mutable_key())};
    case v1::StoreOperation::kWait:
      return ReadWait(in->mutable_wait(), r);
    case v1::StoreOperation::kAdd:
      return core::StoreAdd{std::move(*in->mutable_add()->mutable_key()), in->add().amount()};
    case v1::StoreOperation::kCompareAndSet:
      return ReadCompareAndSet(in->mutable_compare_and_set());
    case v1::StoreOperation::kAppend:
      return ReadKeyAndValue<core::StoreAppend>(in->mutable_append());
    case v1::StoreOperation::kDelete:
      return core::StoreDelete{std::move(*in->mutable_delete_()->mutable_key())};
    case v1::StoreOperation::kList:
      return core::StoreList{std::move(*in->mutable_list()->mutable_prefix()),
                             std::move(*in->mutable_list()->mutable_after())};
    case v1::StoreOperation::kCount:
      return core::StoreCount{std::move(*in->mutable_count()->mutable_prefix())};
    case v1::StoreOperation::kPush:
      return ReadKeyAndValue<core::StorePush>(in->mutable_push());
    case v1::StoreOperation::kPop:
      return core::StorePop{std::move(*in->mutable_pop()->mutable_key())};
    case v1::StoreOperation::kQueueLength:
      return core::StoreQueueLength{std::move(*in->mutable_queue_length()->mutable_key())};
    case v1::StoreOperation::kBarrier:
      return core::StoreBarrier{std::move(*in->mutable_barrier()->mutable_key()),
                                in->barrier().count()};
    case v1::StoreOperation::kWatch:
      return ReadWatch(in->mutable_watch());
    case v1::StoreOperation::OPERATION_NOT_SET:
      break;
  }
  r.RequirePresent(false, "operation");
  return core::StoreGet();
}

absl::StatusOr<core::StoreOperation> Read(v1::StoreOperation&& in) {
  RequestReader r("StoreOperation");
  core::StoreOperation out;
  out.id = in.id();
  if (in.has_wait_timeout()) out.wait_timeout = ReadDuration(in.wait_timeout(), "wait_timeout", r);
  out.what = ReadWhat(&in, r);
  return r.Result(std::move(out));
}

// ---- Entries ----

core::StoreArrivals ReadArrivals(const v1::StoreArrivals& in, RequestReader& r) {
  const uint64_t missing = in.complete_at() - in.arrived();
  r.Require(in.count() > 0 && in.arrived() <= in.complete_at() && missing <= in.count() &&
                in.count() <= in.complete_at(),
            "entry.arrivals", [&] {
              return absl::StrCat("has count ", in.count(), ", arrived ", in.arrived(),
                                  " and complete_at ", in.complete_at(), ", which is no round");
            });
  return {in.count(), in.arrived(), in.complete_at()};
}

core::StoreContent ReadContent(v1::StoreEntry* in, RequestReader& r) {
  switch (in->kind_case()) {
    case v1::StoreEntry::kValue:
      return Convert(std::move(*in->mutable_value()));
    case v1::StoreEntry::kQueue: {
      core::StoreQueue queue;
      for (std::string& element : *in->mutable_queue()->mutable_elements()) {
        queue.elements.push_back(Convert(std::move(element)));
      }
      return queue;
    }
    case v1::StoreEntry::kArrivals:
      return ReadArrivals(in->arrivals(), r);
    case v1::StoreEntry::kDeleted:
      return core::StoreTombstone();
    case v1::StoreEntry::KIND_NOT_SET:
      break;
  }
  r.RequirePresent(false, "entry.kind");
  return core::StoreTombstone();
}

core::StoreEntry ReadEntry(v1::StoreEntry* in, RequestReader& r) {
  core::StoreEntry out;
  out.content = ReadContent(in, r);
  for (v1::StoreResult& result : *in->mutable_results()) {
    RequireIncarnation(result.client(), "entry.results.client", r);
    core::StoreResult read;
    read.revision = result.revision();
    if (result.has_number()) read.number = result.number();
    if (result.has_value()) read.value = Convert(std::move(*result.mutable_value()));
    read.complete_at = result.complete_at();
    out.results[{result.client(), result.operation()}] = std::move(read);
  }
  return out;
}

absl::StatusOr<core::StoreEntries> Read(v1::StoreEntries&& in) {
  RequestReader r("StoreEntries");
  core::StoreEntries out;
  out.entries.reserve(in.entries_size());
  for (v1::FetchedStoreEntry& entry : *in.mutable_entries()) {
    core::FetchedStoreEntry read;
    read.key = std::move(*entry.mutable_key());
    read.version = {entry.revision(), entry.daemon_instance()};
    if (entry.revision() != 0) read.entry = ReadEntry(entry.mutable_entry(), r);
    out.entries.push_back(std::move(read));
  }
  return r.Result(std::move(out));
}

template <typename Message>
absl::StatusOr<core::StoreRequest> Wrap(absl::StatusOr<Message> read) {
  if (!read.ok()) return read.status();
  return core::StoreRequest{*std::move(read)};
}

}  // namespace

absl::StatusOr<core::StoreRequest> FromProto(v1::StoreRequest&& in) {
  switch (in.message_case()) {
    case v1::StoreRequest::kOpen:
      return Wrap(Read(std::move(*in.mutable_open())));
    case v1::StoreRequest::kClaim:
      return Wrap(Read(std::move(*in.mutable_claim())));
    case v1::StoreRequest::kOperation:
      return Wrap(Read(std::move(*in.mutable_operation())));
    case v1::StoreRequest::kCancel:
      return core::StoreRequest{core::StoreCancel{in.cancel().operation()}};
    case v1::StoreRequest::kConfirm:
      return core::StoreRequest{core::StoreConfirm{in.confirm().processed()}};
    case v1::StoreRequest::kEntries:
      return Wrap(Read(std::move(*in.mutable_entries())));
    case v1::StoreRequest::MESSAGE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("StoreRequest.message is missing");
}

}  // namespace muster::service
