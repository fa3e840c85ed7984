#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"
#include "client/src/exchange/exchange.h"
#include "client/src/exchange/exchange_scope.h"
#include "client/src/exchange/shared_segment.h"
#include "client/src/group/named_members.h"
#include "client/src/group/rank_names.h"
#include "client/src/group/share_or_fail.h"
#include "client/src/workspace/safetensors_reader.h"
#include "client/src/workspace/safetensors_writer.h"
#include "muster/codec.h"
#include "muster/parallel_exchange.h"

namespace muster {
namespace {

using internal::Exchange;
using internal::ExchangePeerInfo;
using internal::SafetensorsImage;

std::string RandomToken() {
  std::random_device random;
  return absl::StrCat(absl::Hex(random(), absl::kZeroPad8), absl::Hex(random(), absl::kZeroPad8));
}

// The way of configurations from the ranks that offer them to the first rank.
class ExchangeMedium {
 public:
  virtual ~ExchangeMedium() = default;
  // Stores the value, and returns the ticket by which the first rank finds it.
  virtual absl::StatusOr<std::string> Put() = 0;
  // Returns the value that the rank with this index in the group has put.
  virtual absl::StatusOr<Configuration> Take(int index, const std::string& ticket) = 0;
  // Returns memory that must live as long as the values taken.
  virtual std::shared_ptr<const void> storage() = 0;
};

class SharedMemoryMedium final : public ExchangeMedium {
 public:
  SharedMemoryMedium(const SafetensorsImage* image, uint64_t total)
      : image_(image), total_(total) {}

  absl::StatusOr<std::string> Put() override {
    std::vector<absl::string_view> parts = {image_->header};
    parts.insert(parts.end(), image_->tensors.begin(), image_->tensors.end());
    auto segment = internal::SharedSegment::Create(parts, total_);
    if (!segment.ok()) return segment.status();
    segment_ = *std::move(segment);
    const auto ticket = segment_->Ticket();
    if (!ticket.ok()) return ticket.status();
    return Encode(*ticket);
  }

  absl::StatusOr<Configuration> Take(int, const std::string& ticket) override {
    const auto where = Decode<internal::SegmentTicket>(ticket);
    if (!where.ok()) return where.status();
    const auto bytes = internal::OpenSegment(*where);
    if (!bytes.ok()) return bytes.status();
    absl::StatusOr<Configuration> configuration = internal::ReadSafetensors((*bytes)->bytes());
    if (configuration.ok()) configuration->storage = *bytes;
    return configuration;
  }

  std::shared_ptr<const void> storage() override { return nullptr; }

 private:
  const SafetensorsImage* const image_;
  const uint64_t total_;
  std::unique_ptr<internal::SharedSegment> segment_;
};

class FolderMedium final : public ExchangeMedium {
 public:
  FolderMedium(const Group& group, const Configuration* mine, const std::string& folder,
               bool is_first)
      : group_(group),
        mine_(mine),
        folder_(folder),
        remover_(std::make_shared<internal::FolderRemover>(is_first ? folder : "")) {}

  absl::StatusOr<std::string> Put() override {
    const auto workspace = Workspace::Open(folder_, group_.ranks()[group_.rank()]);
    if (!workspace.ok()) return workspace.status();
    if (absl::Status status = workspace->Write(*mine_); !status.ok()) return status;
    return std::string();
  }

  absl::StatusOr<Configuration> Take(int index, const std::string&) override {
    const auto workspace = Workspace::OpenForReading(folder_);
    if (!workspace.ok()) return workspace.status();
    const int rank = group_.ranks()[index];
    absl::StatusOr<std::optional<Configuration>> read = workspace->Read(rank);
    if (!read.ok()) return read.status();
    if (read->has_value()) return **std::move(read);
    return absl::NotFoundError(absl::StrCat(
        workspace->FileOf(rank), " cannot be seen here; do all ranks share this folder?"));
  }

  std::shared_ptr<const void> storage() override { return remover_; }

 private:
  const Group group_;
  const Configuration* const mine_;
  const std::string folder_;
  const std::shared_ptr<internal::FolderRemover> remover_;
};

absl::StatusOr<ExchangePeerInfo> PeerInfoOf(const absl::StatusOr<SafetensorsImage>& image,
                                            const std::vector<int>& ranks, const Group& group,
                                            const ExchangeOptions& options) {
  absl::Status status = internal::CheckExchangeRanks(ranks, group);
  status.Update(image.status());
  if (!status.ok()) return status;
  ExchangePeerInfo info;
  info.mutable_ranks()->Assign(ranks.begin(), ranks.end());
  info.set_offers(image->size() > 0);
  info.set_through_folder(!options.folder.empty());
  info.set_num_bytes(image->size());
  info.set_token(RandomToken());
  return info;
}

// Returns the checked value that this rank offers. Empty if it offers none.
absl::StatusOr<SafetensorsImage> MakeImage(const std::optional<Configuration>& configuration,
                                           const std::vector<int>& ranks, const Group& group) {
  const int own = group.ranks()[group.rank()];
  const bool listed = std::count(ranks.begin(), ranks.end(), own) > 0;
  if (!configuration || !listed) return SafetensorsImage();
  return internal::MakeSafetensors(*configuration);
}

// Collects the values of the exchange's ranks. `mine` is this rank's own.
absl::Status TakeAll(const Exchange& exchange, const Group& group,
                     const std::optional<Configuration>& mine, ExchangeMedium* medium,
                     std::vector<std::optional<Configuration>>* values) {
  for (const int index : exchange.Indexes()) {
    std::optional<Configuration>& value = values->emplace_back();
    if (index == group.rank()) {
      value = mine;
      continue;
    }
    if (!exchange.infos()[index].offers()) continue;
    absl::StatusOr<Configuration> taken = medium->Take(index, exchange.tickets()[index]);
    if (!taken.ok()) {
      return internal::WithMember(
          group, index,
          internal::Reworded(taken.status(),
                             absl::StrCat("what ", internal::NameOfMember(group, index),
                                          " offers cannot be read: ", taken.status().message())));
    }
    value = *std::move(taken);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ConfigurationExchange> GetConfigsParallel(
    const std::optional<Configuration>& configuration, const std::vector<int>& ranks,
    const Group& group, const ExchangeOptions& options) {
  const absl::StatusOr<SafetensorsImage> image = MakeImage(configuration, ranks, group);
  Exchange exchange(group, "GetConfigsParallel", options.call);
  absl::Status status = exchange.ShareInfos(PeerInfoOf(image, ranks, group, options));
  if (!status.ok()) return status;
  std::unique_ptr<ExchangeMedium> medium;
  if (options.folder.empty()) {
    medium = std::make_unique<SharedMemoryMedium>(&*image, exchange.total_bytes());
  } else {
    const std::string& token = exchange.infos()[exchange.first()].token();
    medium = std::make_unique<FolderMedium>(group, configuration ? &*configuration : nullptr,
                                            absl::StrCat(options.folder, "/exchange-", token),
                                            exchange.is_first());
  }
  std::vector<std::optional<Configuration>> values;
  status = exchange.Put([&] { return medium->Put(); });
  if (status.ok()) {
    status = exchange.Take(
        [&] { return TakeAll(exchange, group, configuration, medium.get(), &values); });
  }
  if (!status.ok()) return status;
  auto scope = std::make_unique<internal::ExchangeScope>(group, options.call.timeout);
  scope->Hold(medium->storage());
  return ConfigurationExchange(std::move(values), std::move(scope));
}

}  // namespace muster
