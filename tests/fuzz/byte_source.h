#ifndef MUSTER_TESTS_FUZZ_BYTE_SOURCE_H_
#define MUSTER_TESTS_FUZZ_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace muster::fuzz {

// Reads decisions from a fuzzer's input, front to back, and zeros after its end. A small decision
// takes one byte, so that the fuzzer's mutations stay local.
class ByteSource {
 public:
  ByteSource(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool empty() const { return size_ == 0; }
  uint8_t Byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  uint64_t Bits(int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value = value << 8 | Byte();
    return value;
  }
  // Returns a number from 0 to `count` - 1; `count` is at most 256.
  size_t Below(size_t count) { return Byte() % count; }
  bool OneIn(size_t count) { return Below(count) == count - 1; }
  std::string Text(size_t length) {
    std::string text(length, '\0');
    for (char& c : text) c = static_cast<char>(Byte());
    return text;
  }
  template <typename T>
  const T& Pick(const std::vector<T>& values) {
    return values[Below(values.size())];
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_BYTE_SOURCE_H_
