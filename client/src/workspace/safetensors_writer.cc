#include "client/src/workspace/safetensors_writer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/src/base/checks.h"
#include "client/src/workspace/checksum.h"
#include "client/src/workspace/safetensors_format.h"
#include "nlohmann/json.hpp"

namespace muster::internal {
namespace {

using Json = nlohmann::json;
using NamedTensor = Tensors::value_type;

constexpr size_t kMaxTensorNameBytes = 1024;

absl::Status CheckTensor(const std::string& name, const TensorView& tensor) {
  absl::Status status = CheckName("tensor name", name, kMaxTensorNameBytes);
  if (!status.ok()) return status;
  if (name == kMetadata) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor name ", kMetadata, " is reserved by the safetensors format"));
  }
  status = CheckShape(tensor);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat("tensor '", name, "': ", status.message()));
}

absl::Status Check(const Configuration& configuration) {
  if (!Json::accept(configuration.json)) {
    return absl::InvalidArgumentError("the configuration is not JSON");
  }
  for (const auto& [name, tensor] : configuration.tensors) {
    if (absl::Status status = CheckTensor(name, tensor); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Sorts tensors with larger elements first. So every tensor is aligned without gaps, which the
// format forbids.
std::vector<const NamedTensor*> FileOrder(const Tensors& tensors) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return SizeOf(a->second.type) > SizeOf(b->second.type);
  });
  return order;
}

Json DescribeAt(const TensorView& tensor, size_t offset) {
  return {{"dtype", SafetensorsName(tensor.type)},
          {"shape", tensor.shape},
          {"data_offsets", {offset, offset + tensor.num_bytes}}};
}

// Replaces the placeholder in `header` by the header's checksum.
void FillInChecksum(std::string* header) {
  const std::string checksum = Checksum(header->data(), header->size());
  const std::string key = absl::StrCat("\"", kHeaderChecksumKey, "\":\"");
  header->replace(header->find(key) + key.size(), checksum.size(), checksum);
}

std::string LittleEndian(uint64_t number) {
  std::string bytes;
  for (size_t i = 0; i < kLengthBytes; ++i) bytes.push_back(static_cast<char>(number >> (8 * i)));
  return bytes;
}

std::string HeaderWithLength(const Json& json) {
  std::string header = json.dump();
  header.resize((header.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  FillInChecksum(&header);
  return LittleEndian(header.size()) + header;
}

}  // namespace

size_t SafetensorsImage::size() const {
  size_t size = header.size();
  for (const absl::string_view tensor : tensors) size += tensor.size();
  return size;
}

absl::StatusOr<SafetensorsImage> MakeSafetensors(const Configuration& configuration) {
  if (absl::Status status = Check(configuration); !status.ok()) return status;
  SafetensorsImage image;
  Json header;
  Json& metadata = header[kMetadata];
  metadata = {{kConfigKey, configuration.json}, {kHeaderChecksumKey, kNoChecksum}};
  size_t offset = 0;
  for (const NamedTensor* named : FileOrder(configuration.tensors)) {
    const auto& [name, tensor] = *named;
    header[name] = DescribeAt(tensor, offset);
    metadata[absl::StrCat(kTensorChecksumPrefix, name)] = Checksum(tensor.data, tensor.num_bytes);
    image.tensors.emplace_back(static_cast<const char*>(tensor.data), tensor.num_bytes);
    offset += tensor.num_bytes;
  }
  image.header = HeaderWithLength(header);
  if (image.header.size() - kLengthBytes <= kMaxHeaderBytes) return image;
  return absl::InvalidArgumentError(
      absl::StrCat("the configuration's JSON and the tensors' names need a header of ",
                   image.header.size(), " bytes; the safetensors format allows ", kMaxHeaderBytes));
}

}  // namespace muster::internal
