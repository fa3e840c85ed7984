#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"
#include "client/src/exchange/exchange.h"
#include "client/src/exchange/exchange_scope.h"
#include "client/src/exchange/shared_segment.h"
#include "client/src/group/named_members.h"
#include "client/src/group/rank_names.h"
#include "client/src/group/share_or_fail.h"
#include "muster/codec.h"
#include "muster/parallel_exchange.h"

namespace muster {
namespace {

using internal::Exchange;
using internal::ExchangePeerInfo;

absl::StatusOr<ExchangePeerInfo> PeerInfoOf(const TensorView& tensor, const std::vector<int>& ranks,
                                            const Group& group) {
  const int own = group.ranks()[group.rank()];
  ExchangePeerInfo info;
  info.set_offers(std::count(ranks.begin(), ranks.end(), own) > 0);
  absl::Status status = internal::CheckExchangeRanks(ranks, group);
  if (info.offers()) status.Update(CheckShape(tensor));
  if (!status.ok()) return status;
  info.mutable_ranks()->Assign(ranks.begin(), ranks.end());
  info.set_num_bytes(tensor.num_bytes);
  info.set_data_type(static_cast<int32_t>(tensor.type));
  info.mutable_shape()->Assign(tensor.shape.begin(), tensor.shape.end());
  return info;
}

absl::StatusOr<std::unique_ptr<internal::SharedSegment>> Copy(const TensorView& tensor,
                                                              uint64_t total) {
  return internal::SharedSegment::Create(
      {absl::string_view(static_cast<const char*>(tensor.data), tensor.num_bytes)}, total);
}

// Returns the tensor of the rank with this index in the group, in memory that `scope` owns.
absl::StatusOr<TensorView> TakeOne(const Exchange& exchange, int index,
                                   internal::ExchangeScope* scope) {
  const auto ticket = Decode<internal::SegmentTicket>(exchange.tickets()[index]);
  if (!ticket.ok()) return ticket.status();
  const auto bytes = internal::OpenSegment(*ticket);
  if (!bytes.ok()) return bytes.status();
  scope->Hold(*bytes);
  const ExchangePeerInfo& info = exchange.infos()[index];
  return TensorView{static_cast<DataType>(info.data_type()),
                    {info.shape().begin(), info.shape().end()},
                    (*bytes)->bytes().data(),
                    (*bytes)->bytes().size()};
}

absl::Status TakeAll(const Exchange& exchange, const Group& group, const TensorView& mine,
                     internal::ExchangeScope* scope, std::vector<TensorView>* values) {
  for (const int index : exchange.Indexes()) {
    const absl::StatusOr<TensorView> tensor =
        index == group.rank() ? mine : TakeOne(exchange, index, scope);
    if (!tensor.ok()) {
      return internal::WithMember(
          group, index,
          internal::Reworded(tensor.status(),
                             absl::StrCat("the tensor of ", internal::NameOfMember(group, index),
                                          ": ", tensor.status().message())));
    }
    values->push_back(*tensor);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorExchange> GetTensorsParallel(const TensorView& tensor,
                                                  const std::vector<int>& ranks, const Group& group,
                                                  const CallOptions& options) {
  Exchange exchange(group, "GetTensorsParallel", options);
  absl::Status status = exchange.ShareInfos(PeerInfoOf(tensor, ranks, group));
  if (status.ok()) status = internal::CheckEqualTensors(exchange.infos(), group);
  if (!status.ok()) return status;
  // Stays open until the first rank has opened it.
  std::unique_ptr<internal::SharedSegment> segment;
  status = exchange.Put([&]() -> absl::StatusOr<std::string> {
    auto copy = Copy(tensor, exchange.total_bytes());
    if (!copy.ok()) return copy.status();
    segment = *std::move(copy);
    const auto ticket = segment->Ticket();
    if (!ticket.ok()) return ticket.status();
    return Encode(*ticket);
  });
  if (!status.ok()) return status;
  auto scope = std::make_unique<internal::ExchangeScope>(group, options.timeout);
  std::vector<TensorView> values;
  status = exchange.Take([&] { return TakeAll(exchange, group, tensor, scope.get(), &values); });
  if (!status.ok()) return status;
  return TensorExchange(std::move(values), std::move(scope));
}

}  // namespace muster
