#include "client/nccl/profiler/operation_tracker.h"

#include <utility>

namespace muster::nccl_profiler {

uint64_t OperationTracker::Begin(std::string_view function, uint64_t bytes, int channels) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Operation& place = operations_[++begun_ % kInProgress];
  if (place.channels > 0) activity_.End();
  place = {begun_, channels};
  activity_.Begin(function, bytes);
  if (channels <= 0) activity_.End();
  return begun_;
}

void OperationTracker::EndChannel(uint64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Operation& operation = operations_[number % kInProgress];
  if (operation.number != number || operation.channels <= 0) return;
  if (--operation.channels == 0) activity_.End();
}

uint64_t BytesOf(std::string_view data_type, uint64_t count) {
  // Char, Half, Int, Float and Double are older names.
  static constexpr std::pair<std::string_view, uint64_t> kSizes[] = {
      {"Int8", 1},     {"Uint8", 1},      {"Char", 1},      {"Float8", 1}, {"Float16", 2},
      {"Bfloat16", 2}, {"Half", 2},       {"Int32", 4},     {"Uint32", 4}, {"Int", 4},
      {"Float32", 4},  {"Float", 4},      {"Int64", 8},     {"Uint64", 8}, {"Float64", 8},
      {"Double", 8},   {"Float8e4m3", 1}, {"Float8e5m2", 1}};
  constexpr std::string_view kPrefix = "nccl";
  if (data_type.substr(0, kPrefix.size()) == kPrefix) data_type.remove_prefix(kPrefix.size());
  for (const auto& [name, size] : kSizes) {
    if (data_type == name) return size * count;
  }
  return 0;
}

}  // namespace muster::nccl_profiler
