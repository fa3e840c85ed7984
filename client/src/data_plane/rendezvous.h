#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_RENDEZVOUS_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_RENDEZVOUS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/src/job/numbered_group.h"
#include "muster/call_options.h"
#include "muster/group.h"
#include "muster/protobuf.h"

namespace muster::internal {

// What every rank has told its peers (Info: a message of peers.proto), in the group's order, and
// the numbered group in which it was exchanged. What else a backend's creation needs to say goes
// through that one, which is to be kept where the creation ends well.
template <class Info>
struct Rendezvous {
  NumberedGroup numbered;
  std::vector<Info> infos;
};

// The same in bytes.
absl::StatusOr<Rendezvous<std::string>> ExchangePeerBytes(const Group& group,
                                                          absl::string_view backend,
                                                          const absl::StatusOr<std::string>& own,
                                                          const CallOptions& options);

// Gives every rank's info (what its peers need to reach it) to every rank. It must be the first
// collective of every backend's creation: it is where ranks learn that they chose different
// backends. A rank that cannot take part passes its error as its info, so that the others hear of
// it instead of waiting.
//
// Errors: `own`'s; FAILED_PRECONDITION naming the ranks and backends (or SDK versions) that differ,
// or the rank that cannot take part and why; those of Group.
template <class Info>
absl::StatusOr<Rendezvous<Info>> ExchangePeerInfos(const Group& group, absl::string_view backend,
                                                   const absl::StatusOr<Info>& own,
                                                   const CallOptions& options) {
  const absl::StatusOr<std::string> bytes =
      own.ok() ? absl::StatusOr<std::string>(Encode(*own)) : own.status();
  auto exchanged = ExchangePeerBytes(group, backend, bytes, options);
  if (!exchanged.ok()) return exchanged.status();
  Rendezvous<Info> rendezvous = {std::move(exchanged->numbered), {}};
  for (const std::string& one : exchanged->infos) {
    absl::StatusOr<Info> info = Decode<Info>(one);
    if (!info.ok()) return info.status();
    rendezvous.infos.push_back(*std::move(info));
  }
  return rendezvous;
}

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_RENDEZVOUS_H_
