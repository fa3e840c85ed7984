#include "client/src/workspace/safetensors_reader.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/src/workspace/checksum.h"
#include "client/src/workspace/safetensors_format.h"
#include "common/text/utf8.h"
#include "nlohmann/json.hpp"

namespace muster::internal {
namespace {

using Json = nlohmann::json;

template <class... Parts>
absl::Status Damaged(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat(parts...));
}

uint64_t LittleEndian(absl::string_view bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    number |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return number;
}

struct Sections {
  absl::string_view header;
  absl::string_view data;
};

absl::StatusOr<Sections> Split(absl::string_view bytes) {
  if (bytes.size() < kLengthBytes) {
    return Damaged("it has ", bytes.size(), " bytes; the header's length alone takes ",
                   kLengthBytes);
  }
  const uint64_t length = LittleEndian(bytes.substr(0, kLengthBytes));
  bytes.remove_prefix(kLengthBytes);
  if (length > kMaxHeaderBytes || length > bytes.size()) {
    return Damaged("its header should have ", length, " bytes, and it has ", bytes.size(),
                   " bytes after the length (at most ", kMaxHeaderBytes, " are allowed)");
  }
  return Sections{bytes.substr(0, length), bytes.substr(length)};
}

absl::StatusOr<Json> ParseHeader(absl::string_view text) {
  Json header = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (header.is_object()) return header;
  return Damaged("its header is not a JSON object");
}

const std::string* FindText(const Json& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : found->get_ptr<const std::string*>();
}

// Returns the metadata, after it has checked the header's checksum.
absl::StatusOr<Json> TakeMetadata(absl::string_view text, Json* header) {
  const auto found = header->find(kMetadata);
  if (found == header->end() || !found->is_object()) {
    return Damaged("its header has no ", kMetadata, ": it was not written by a muster::Workspace");
  }
  Json metadata = std::move(*found);
  header->erase(kMetadata);
  const std::string* const checksum = FindText(metadata, kHeaderChecksumKey);
  const std::string key = absl::StrCat("\"", kHeaderChecksumKey, "\":\"");
  const size_t place = text.find(key);
  if (checksum == nullptr || checksum->size() != sizeof(kNoChecksum) - 1 ||
      place == absl::string_view::npos || text.size() - place < key.size() + checksum->size()) {
    return Damaged("its header has no checksum: it was not written by a muster::Workspace");
  }
  std::string cleared(text);
  cleared.replace(place + key.size(), checksum->size(), kNoChecksum);
  if (Checksum(cleared.data(), cleared.size()) == *checksum) return metadata;
  return Damaged("its header does not match its checksum");
}

std::optional<DataType> FindType(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(DataType::kFloat64); ++i) {
    const auto type = static_cast<DataType>(i);
    if (SafetensorsName(type) == name) return type;
  }
  return std::nullopt;
}

std::optional<std::vector<int64_t>> FindShape(const Json& json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<int64_t> shape;
  for (const Json& length : json) {
    if (!length.is_number_unsigned()) return std::nullopt;
    const auto value = length.get<uint64_t>();
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    shape.push_back(static_cast<int64_t>(value));
  }
  return shape;
}

// Returns the part of `data` that "data_offsets" names.
std::optional<absl::string_view> FindData(const Json& offsets, absl::string_view data) {
  if (!offsets.is_array() || offsets.size() != 2) return std::nullopt;
  if (!offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned()) return std::nullopt;
  const auto begin = offsets[0].get<uint64_t>();
  const auto end = offsets[1].get<uint64_t>();
  if (begin > end || end > data.size()) return std::nullopt;
  return data.substr(begin, end - begin);
}

absl::StatusOr<TensorView> ReadTensor(const Json& json, absl::string_view data) {
  if (!json.is_object()) return Damaged("its description is not a JSON object");
  const std::string* const type_name = FindText(json, "dtype");
  const std::optional<DataType> type = type_name == nullptr ? std::nullopt : FindType(*type_name);
  if (!type) return Damaged("its dtype is missing or unknown");
  std::optional<std::vector<int64_t>> shape = FindShape(json.value("shape", Json()));
  if (!shape) return Damaged("its shape is missing or malformed");
  const auto bytes = FindData(json.value("data_offsets", Json()), data);
  if (!bytes) {
    return Damaged("its data_offsets are missing, malformed, or outside the ", data.size(),
                   " bytes of data");
  }
  TensorView tensor = {*type, *std::move(shape), bytes->data(), bytes->size()};
  if (absl::Status status = CheckShape(tensor); !status.ok()) return Damaged(status.message());
  return tensor;
}

absl::Status InTensor(const std::string& name, const absl::Status& status) {
  return Damaged("tensor '", ReplaceUnprintable(name), "': ", status.message());
}

absl::StatusOr<Tensors> ReadTensors(const Json& header, absl::string_view data) {
  Tensors tensors;
  for (const auto& [name, description] : header.items()) {
    absl::StatusOr<TensorView> tensor = ReadTensor(description, data);
    if (!tensor.ok()) return InTensor(name, tensor.status());
    tensors.emplace(name, *std::move(tensor));
  }
  return tensors;
}

// Checks that every byte of the data belongs to exactly one tensor.
absl::Status CheckCoverage(const Tensors& tensors, absl::string_view data) {
  std::vector<absl::string_view> parts;
  for (const auto& [name, tensor] : tensors) {
    parts.emplace_back(static_cast<const char*>(tensor.data), tensor.num_bytes);
  }
  std::sort(parts.begin(), parts.end(), [](absl::string_view a, absl::string_view b) {
    return std::make_pair(a.data(), a.size()) < std::make_pair(b.data(), b.size());
  });
  size_t covered = 0;
  for (const absl::string_view part : parts) {
    const size_t begin = part.data() - data.data();
    if (begin != covered) {
      return Damaged("its tensors ", begin < covered ? "overlap" : "leave a gap", " at byte ",
                     std::min(begin, covered), " of the data");
    }
    covered += part.size();
  }
  if (covered == data.size()) return absl::OkStatus();
  return Damaged("it has ", data.size(), " bytes of data, and its tensors take ", covered);
}

absl::Status CheckChecksums(const Tensors& tensors, const Json& metadata) {
  for (const auto& [name, tensor] : tensors) {
    const std::string* const expected =
        FindText(metadata, absl::StrCat(kTensorChecksumPrefix, name));
    if (expected == nullptr) return InTensor(name, Damaged("it has no checksum"));
    if (Checksum(tensor.data, tensor.num_bytes) == *expected) continue;
    return InTensor(name, Damaged("its data does not match its checksum"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Configuration> ReadSafetensors(absl::string_view bytes) {
  const absl::StatusOr<Sections> sections = Split(bytes);
  if (!sections.ok()) return sections.status();
  absl::StatusOr<Json> header = ParseHeader(sections->header);
  if (!header.ok()) return header.status();
  const absl::StatusOr<Json> metadata = TakeMetadata(sections->header, &*header);
  if (!metadata.ok()) return metadata.status();
  const std::string* const json = FindText(*metadata, kConfigKey);
  if (json == nullptr) return Damaged("its header has no configuration");
  absl::StatusOr<Tensors> tensors = ReadTensors(*header, sections->data);
  if (!tensors.ok()) return tensors.status();
  absl::Status status = CheckCoverage(*tensors, sections->data);
  if (status.ok()) status = CheckChecksums(*tensors, *metadata);
  if (!status.ok()) return status;
  return Configuration{*json, *std::move(tensors), nullptr};
}

}  // namespace muster::internal
