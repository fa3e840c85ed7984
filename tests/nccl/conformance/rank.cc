// Runs one rank of a scenario. Reads one command a line from standard input, and writes each answer
// as a line to file descriptor 3. The same source is linked with the fake NCCL and with the real
// one.

#include "tests/nccl/conformance/rank.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <sstream>

namespace muster::testing {

std::string Command::Get(const std::string& option, const std::string& otherwise) const {
  const auto it = options.find(option);
  return it == options.end() ? otherwise : it->second;
}

int Command::Number(const std::string& option, int otherwise) const {
  const auto it = options.find(option);
  return it == options.end() ? otherwise : std::atoi(it->second.c_str());
}

Command ParseCommand(const std::string& line) {
  Command command;
  std::stringstream words(line);
  words >> command.verb;
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      command.flags.insert(word);
    } else {
      command.options[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  return command;
}

std::string NameOf(ncclResult_t result) {
  static const char* const kNames[] = {"Success",       "UnhandledCudaError", "SystemError",
                                       "InternalError", "InvalidArgument",    "InvalidUsage",
                                       "RemoteError",   "InProgress"};
  return result >= 0 && result < 8 ? kNames[result] : "result " + std::to_string(result);
}

}  // namespace muster::testing

int main(int argc, char** argv) {
  using namespace muster::testing;
  constexpr int kAnswerFile = 3;
  if (argc < 2) return 1;
  RankState rank;
  rank.number = std::atoi(argv[1]);
  if (const char* ranks = std::getenv("CONFORMANCE_RANKS")) rank.ranks = std::atoi(ranks);
  if (const char* directory = std::getenv("CONFORMANCE_DIRECTORY")) rank.directory = directory;
  for (std::string line; std::getline(std::cin, line);) {
    const std::string answer = Answer(rank, ParseCommand(line)) + "\n";
    if (write(kAnswerFile, answer.data(), answer.size()) < 0) return 1;
  }
  _exit(0);  // skips destructors of libraries whose communicators are open
}
