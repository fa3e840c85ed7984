#include "tests/bench/contestants/peers_home.h"

#include <cstdlib>
#include <filesystem>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace muster::testing {
namespace {

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the folder that tools/peers would choose.
std::string ChosenPeersHome() {
  if (const std::string home = Variable("MUSTER_PEERS_HOME"); !home.empty()) return home;
  std::string data = Variable("XDG_DATA_HOME");
  if (data.empty()) data = Variable("HOME") + "/.local/share";
  return data + "/muster/peers";
}

}  // namespace

std::string PeersHome() {
  const std::string home = ChosenPeersHome();
  return std::filesystem::is_directory(home + "/python") ? home : "";
}

std::string PeerVersion(const std::string& package) {
  const std::string home = PeersHome();
  if (home.empty()) return "";
  for (const auto& entry : std::filesystem::directory_iterator(home + "/python")) {
    const std::string name = entry.path().filename().string();
    absl::string_view version = name;  // "torch-2.15.0.dist-info", which pip makes
    if (absl::ConsumePrefix(&version, package + "-") &&
        absl::ConsumeSuffix(&version, ".dist-info")) {
      return std::string(version);
    }
  }
  return "";
}

}  // namespace muster::testing
