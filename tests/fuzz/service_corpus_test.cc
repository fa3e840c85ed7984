// Runs the fuzzer's corpus and random schedules without a fuzzer, so that every build can.

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/fuzz/fuzzed_service.h"
#include "tests/util/process/process.h"

namespace muster::fuzz {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr uint32_t kSchedules = 2000;  // each takes ten times as long
#else
constexpr uint32_t kSchedules = 20000;
#endif
constexpr size_t kLongest = 2000;

// The running input, which is printed if the program crashes.
std::string running;

void SayWhatRuns(int) { std::fprintf(stderr, "in %s\n", running.c_str()); }

std::vector<uint8_t> ReadBytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ServiceCorpusTest, NoScheduleOfTheCorpusBreaksAPromise) {
  std::signal(SIGABRT, SayWhatRuns);
  int schedules = 0;
  const std::filesystem::path corpus = testing::Runfile("tests/fuzz/corpus");
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    running = entry.path().filename().string();
    const std::vector<uint8_t> bytes = ReadBytes(entry.path());
    RunFuzzedSchedule(bytes.data(), bytes.size());
    ++schedules;
  }
  EXPECT_GT(schedules, 0) << corpus;
}

TEST(ServiceCorpusTest, NoRandomScheduleBreaksAPromise) {
  std::signal(SIGABRT, SayWhatRuns);
  const char* one = std::getenv("MUSTER_TEST_SEED");
  const uint32_t first = one == nullptr ? 1 : static_cast<uint32_t>(std::stoul(one));
  const uint32_t last = one == nullptr ? kSchedules : first;
  for (uint32_t seed = first; seed <= last; ++seed) {
    running = "seed " + std::to_string(seed) +
              "; replay with --test_env=MUSTER_TEST_SEED=" + std::to_string(seed);
    std::mt19937 random(seed);
    std::vector<uint8_t> bytes(random() % kLongest);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    std::fprintf(stderr, "%s", seed % 5000 == 0 ? "." : "");
    RunFuzzedSchedule(bytes.data(), bytes.size());
  }
}

}  // namespace
}  // namespace muster::fuzz
