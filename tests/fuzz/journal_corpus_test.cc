// Runs journals of real jobs, intact and damaged, without a fuzzer, so that every build can.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/journal/journal.pb.h"
#include "server/journal/replay/reader.h"
#include "tests/fuzz/fuzzed_journal.h"
#include "tests/util/process/process.h"

namespace muster::fuzz {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr int kSpoilt = 200;
#else
constexpr int kSpoilt = 2000;
#endif

std::vector<std::string> Corpus() {
  std::vector<std::string> files;
  const std::filesystem::path corpus = testing::Runfile("tests/fuzz/journal_corpus");
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    files.push_back(testing::ReadFile(entry.path().string()));
  }
  return files;
}

// Returns the records of a file as one block.
journal::Block RecordsOf(const std::string& file) {
  journal::Block block;
  const auto reader =
      journal::Reader::Open(std::make_unique<std::istringstream>(file), "the corpus");
  while (const auto record = (*reader)->Next()) *block.add_records() = *record;
  return block;
}

TEST(JournalCorpusTest, WholeFilesAndTheirBeginningsAreRead) {
  const std::vector<std::string> files = Corpus();
  ASSERT_FALSE(files.empty());
  std::mt19937 random(1);
  for (const std::string& file : files) {
    ReadFuzzedJournal(file);
    for (int i = 0; i < kSpoilt / 20; ++i)
      ReadFuzzedJournal(file.substr(0, random() % file.size()));
  }
}

TEST(JournalCorpusTest, SpoiltFilesBreakNoPromise) {
  std::mt19937 random(2);
  for (const std::string& file : Corpus()) {
    const std::string whole = RecordsOf(file).SerializeAsString();
    for (int i = 0; i < kSpoilt; ++i) {
      std::string block = whole.substr(0, random() % whole.size() + 1);
      for (int byte = 0; byte < 3; ++byte) block[random() % block.size()] = random() % 256;
      ReadFuzzedBlock(block);
    }
  }
}

// Valid records that come twice, not at all, or in another order.
TEST(JournalCorpusTest, RecordsInAnotherOrderBreakNoPromise) {
  std::mt19937 random(3);
  for (const std::string& file : Corpus()) {
    const journal::Block whole = RecordsOf(file);
    for (int i = 0; i < kSpoilt; ++i) {
      journal::Block block;
      const int first = random() % whole.records_size();
      *block.add_records() = whole.records(1);  // the start
      for (int j = 0; j < 50; ++j) {
        const int near = first + random() % 20;
        *block.add_records() = whole.records(near % whole.records_size());
      }
      ReadFuzzedBlock(block.SerializeAsString());
    }
  }
}

}  // namespace
}  // namespace muster::fuzz
