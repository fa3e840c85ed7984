#ifndef MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_CARD_H_
#define MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_CARD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/group.h"
#include "muster/tensor.h"

namespace muster::internal {

// What every rank says before an exchange.
struct ExchangeCard {
  std::vector<int32_t> ranks;  // the caller's list
  bool offers = false;         // there is something of this rank to be seen
  bool through_folder = false;
  uint64_t num_bytes = 0;  // of what it offers, where it passes through shared memory
  DataType type = DataType::kUint8;
  std::vector<int64_t> shape;
  std::string token;  // the first rank's names the exchange's folder
};

std::string PackCard(const ExchangeCard& card);
absl::StatusOr<ExchangeCard> UnpackCard(absl::string_view bytes);

// INVALID_ARGUMENT if the list is empty, names a rank twice, or one that is not in the group.
absl::Status CheckExchangeRanks(const std::vector<int>& ranks, const Group& group);

// What is only seen with all cards, in the group's order, in hand. Every rank finds the same.
// INVALID_ARGUMENT: lists, or the choices of folder and shared memory, differ.
// FAILED_PRECONDITION: shared memory between nodes.
absl::Status CheckCards(const std::vector<ExchangeCard>& cards, const Group& group);

// INVALID_ARGUMENT names two ranks whose tensors differ in size or type.
absl::Status CheckEqualTensors(const std::vector<ExchangeCard>& cards, const Group& group);

// The index in the group of the exchange's first rank. CheckExchangeRanks() has held.
int FirstIndex(const std::vector<ExchangeCard>& cards, const Group& group);

// The bytes of shared memory that all ranks need together: the first needs none.
uint64_t TotalBytes(const std::vector<ExchangeCard>& cards, const Group& group);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_CARD_H_
