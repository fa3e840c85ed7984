// Communicator::Create(): chooses the backend and lets it connect the ranks.

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/data_plane/argument_check.h"
#include "client/src/data_plane/backend.h"
#include "client/src/data_plane/backend_registry.h"
#include "client/src/data_plane/rendezvous.h"
#include "client/src/data_plane/serial_backend.h"
#include "muster/communicator.h"
#include "muster/log.h"

namespace muster {
namespace {

using internal::ArgumentCheck;
using internal::Backend;
using internal::BackendChoice;

constexpr absl::string_view kSerial = "serial";

void LogChoice(const Group& group, absl::string_view backend, absl::string_view device,
               absl::string_view reason) {
  Log(LogLevel::kInfo,
      absl::StrCat("communicator of ", group.size(), " on rank ", group.rank(), ": backend ",
                   backend, device.empty() ? "" : " on ", device, ": ", reason));
}

// Returns whether the group needs no backend: it has one rank, and its data is in memory that the
// CPU can reach.
bool IsSerial(const Group& group, const absl::StatusOr<BackendChoice>& choice) {
  return group.size() == 1 && !(choice.ok() && choice->kind.device_memory);
}

// Returns an error if a named backend is not linked, even for a group of one. Otherwise the program
// would fail only when it grows.
absl::StatusOr<std::unique_ptr<Backend>> CreateSerial(const Group& group,
                                                      const absl::StatusOr<BackendChoice>& choice,
                                                      bool named) {
  if (named && !choice.ok()) return choice.status();
  LogChoice(group, kSerial, "", "the group has one rank");
  return internal::MakeSerialBackend();
}

// Tells the other ranks why this one cannot take part.
absl::Status Decline(const Group& group, const absl::Status& why, const CallOptions& options) {
  return internal::ExchangePeerBytes(group, "", why, options).status();
}

absl::StatusOr<std::unique_ptr<Backend>> CreateLinked(const Group& group,
                                                      const absl::StatusOr<BackendChoice>& choice,
                                                      const CommunicatorOptions& options) {
  if (!choice.ok()) {
    return Decline(group, choice.status(), CallOptions{options.timeout, options.cancellation});
  }
  absl::StatusOr<std::unique_ptr<Backend>> backend = choice->kind.create(group, options);
  if (backend.ok()) {
    LogChoice(group, choice->kind.name, (*backend)->device(), choice->reason);
  }
  return backend;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> Communicator::Create(
    const Group& group, const CommunicatorOptions& options) {
  const ArgumentCheck check("Communicator::Create", group.rank(), group.size());
  if (absl::Status status = check.Timeout(options.timeout); !status.ok()) return status;
  if (absl::Status status = check.NotAlone(group); !status.ok()) return status;
  CommunicatorOptions resolved = options;
  if (!resolved.timeout) resolved.timeout = group.default_timeout();

  const absl::StatusOr<BackendChoice> choice =
      internal::ChooseBackend(internal::RegisteredBackends(), options.backend);
  const bool serial = IsSerial(group, choice);
  absl::StatusOr<std::unique_ptr<Backend>> backend =
      serial ? CreateSerial(group, choice, internal::IsBackendNamed(options.backend))
             : CreateLinked(group, choice, resolved);
  if (!backend.ok()) return backend.status();
  return std::make_unique<Communicator>(
      group, resolved, serial ? std::string(kSerial) : choice->kind.name, *std::move(backend));
}

}  // namespace muster
