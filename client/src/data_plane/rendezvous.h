#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_RENDEZVOUS_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_RENDEZVOUS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/src/group/numbered_group.h"
#include "muster/call_options.h"
#include "muster/group.h"
#include "muster/protobuf.h"

namespace muster::internal {

// The result of ExchangePeerInfos(): what every rank told its peers (Info is a message of
// peers.proto), in the group's order. The backend's creation uses the numbered group for its
// further collectives, and calls its Keep() after a success.
template <class Info>
struct Rendezvous {
  NumberedGroup numbered;
  std::vector<Info> infos;
};

// Does the same with encoded infos.
absl::StatusOr<Rendezvous<std::string>> ExchangePeerBytes(const Group& group,
                                                          absl::string_view backend,
                                                          const absl::StatusOr<std::string>& own,
                                                          const CallOptions& options);

// Gives every rank's info, which its peers need to reach it, to every rank:
//
//   auto rendezvous = ExchangePeerInfos<Address>(group, "gloo", MyAddress(), options);
//   if (!rendezvous.ok()) return rendezvous.status();
//
// It must be the first collective of every backend's creation, because it is where ranks find out
// that they chose different backends. A rank that cannot take part passes its error as `own`, so
// that the others learn of it instead of waiting.
//
// Errors: the error in `own`; FAILED_PRECONDITION, naming the ranks whose backends or SDK versions
// differ, or the rank that cannot take part and why; any error of a collective.
template <class Info>
absl::StatusOr<Rendezvous<Info>> ExchangePeerInfos(const Group& group, absl::string_view backend,
                                                   const absl::StatusOr<Info>& own,
                                                   const CallOptions& options) {
  const absl::StatusOr<std::string> bytes =
      own.ok() ? absl::StatusOr<std::string>(Encode(*own)) : own.status();
  auto exchanged = ExchangePeerBytes(group, backend, bytes, options);
  if (!exchanged.ok()) return exchanged.status();
  Rendezvous<Info> rendezvous = {std::move(exchanged->numbered), {}};
  for (const std::string& info_bytes : exchanged->infos) {
    absl::StatusOr<Info> info = Decode<Info>(info_bytes);
    if (!info.ok()) return info.status();
    rendezvous.infos.push_back(*std::move(info));
  }
  return rendezvous;
}

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_RENDEZVOUS_H_
