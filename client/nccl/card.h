#ifndef MUSTER_CLIENT_NCCL_CARD_H_
#define MUSTER_CLIENT_NCCL_CARD_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/nccl/device.h"
#include "muster/group.h"

namespace muster::internal {

// What every rank tells the others before NCCL is called.
struct NcclCard {
  Device device;
  int nccl_version = 0;  // of the library that is loaded: 22809 for 2.28.9
  bool allow_shared_gpu = false;
};

std::string EncodeNcclCard(const NcclCard& card);
absl::StatusOr<NcclCard> DecodeNcclCard(absl::string_view bytes);

// FAILED_PRECONDITION, the same on all ranks, if two of them have one GPU and not all ranks allow
// that, or different NCCL versions. `cards` are in the group's order.
absl::Status CheckNcclCards(const Group& group, const std::vector<NcclCard>& cards);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_CARD_H_
