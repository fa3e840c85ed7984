#include "client/nccl/bootstrap/settings.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/nccl/device/features.h"
#include "client/src/group/rank_names.h"
#include "common/text/utf8.h"

namespace muster::internal {
namespace {

constexpr int kConfFileNcclVersion = 22300;  // the first version that reads NCCL_CONF_FILE

// The variables that decide which kernel runs, with which buffers, on how many channels, and when
// ranks connect. Each rank decides on its own. A rank that decides otherwise waits for data that
// never comes, or reads data that is not for it. Variables that NCCL compares itself, and variables
// that may differ (interfaces, adapters), are not here.
constexpr const char* kAlikeOnAllRanks[] = {
    "NCCL_ALGO",
    "NCCL_PROTO",
    "NCCL_BUFFSIZE",
    "NCCL_LL_BUFFSIZE",
    "NCCL_LL128_BUFFSIZE",
    "NCCL_NTHREADS",
    "NCCL_LL128_NTHREADS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_CTAS",
    "NCCL_MAX_CTAS",
    "NCCL_NCHANNELS_PER_NET_PEER",
    "NCCL_P2P_NET_CHUNKSIZE",
    "NCCL_P2P_PCI_CHUNKSIZE",
    "NCCL_P2P_NVL_CHUNKSIZE",
    "NCCL_CUMEM_ENABLE",
    "NCCL_RUNTIME_CONNECT",
    "NCCL_COMM_SPLIT_SHARE_RESOURCES",
};

// The variables that decide how two ranks of one node share memory.
constexpr const char* kAlikeOnANode[] = {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE",
                                         "NCCL_CUMEM_HOST_ENABLE"};

bool IsNodeSetting(absl::string_view name) {
  return std::find(std::begin(kAlikeOnANode), std::end(kAlikeOnANode), name) !=
         std::end(kAlikeOnANode);
}

// Returns whether a value means the same as an unset variable.
bool IsDefault(absl::string_view name, absl::string_view value) {
  if (value.empty()) return true;
  if (absl::EndsWith(name, "_DISABLE") || absl::EndsWith(name, "_SHARE_RESOURCES")) {
    return value == "0";
  }
  if (name == "NCCL_CUMEM_ENABLE") return value == "1" || value == "-2";
  return name == "NCCL_RUNTIME_CONNECT" && value == "1";
}

// Reads a file by NCCL's rules: "NAME=value", no spaces are removed, and '#' begins a comment in
// the first column only.
void ReadFile(const std::string& path, std::map<std::string, NcclVariable>* variables) {
  std::ifstream file(path);
  std::string text;
  for (int line = 1; std::getline(file, text); ++line) {
    if (!text.empty() && text.back() == '\r') text.pop_back();
    const size_t equals = text.find('=');
    if (equals == std::string::npos || text.front() == '#') continue;
    variables->emplace(text.substr(0, equals),
                       NcclVariable{text.substr(equals + 1), absl::StrCat(path, ", line ", line)});
  }
}

// Returns the user's home directory. Reentrant, unlike getpwuid().
std::string HomeOfUser() {
  std::vector<char> buffer(1 << 14);
  passwd entry = {};
  passwd* found = nullptr;
  getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr || found->pw_dir == nullptr ? "" : found->pw_dir;
}

std::string VariableOrEmpty(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> ConfigurationFiles() {
  std::vector<std::string> files;
  const std::string named = VariableOrEmpty("NCCL_CONF_FILE");
  if (!named.empty() && LoadedNcclVersion() >= kConfFileNcclVersion) {
    files.push_back(named);
  } else {
    for (const std::string& home : {HomeOfUser(), VariableOrEmpty("HOME")}) {
      if (!home.empty()) files.push_back(absl::StrCat(home, "/.nccl.conf"));
    }
  }
  files.push_back("/etc/nccl.conf");
  return files;
}

void Set(absl::string_view name, absl::string_view value, NcclPeerInfo* info) {
  auto* const setting = info->add_settings();
  setting->set_name(std::string(name));
  setting->set_value(std::string(value));
}

void SetNumber(absl::string_view field, int value, NcclPeerInfo* info) {
  if (value == NCCL_CONFIG_UNDEF_INT) return;
  Set(absl::StrCat("NcclOptions::config.", field), absl::StrCat(value), info);
}

std::map<std::string, std::string> SettingsOf(const NcclPeerInfo& info) {
  std::map<std::string, std::string> settings;
  for (const auto& setting : info.settings()) settings[setting.name()] = setting.value();
  return settings;
}

std::string DescribeSetting(const std::map<std::string, std::string>& settings,
                            const std::string& name) {
  const auto found = settings.find(name);
  if (found == settings.end()) return absl::StrCat("has no ", name);
  return absl::StrCat("has ", name, "=", ReplaceUnprintable(found->second));
}

absl::Status DifferenceError(const Group& group, int first, int second, const std::string& name,
                             const std::vector<std::map<std::string, std::string>>& settings) {
  return absl::FailedPreconditionError(absl::StrCat(
      DescribePeer(group, first), " ", DescribeSetting(settings[first], name), " and ",
      DescribePeer(group, second), " ", DescribeSetting(settings[second], name),
      "; NCCL chooses by it how ranks talk to each other: give it one value on all ranks",
      IsNodeSetting(name) ? " of a node" : "", " (see also NCCL's configuration files)"));
}

// Returns the first name in which the two differ, or an empty text.
std::string Difference(const std::map<std::string, std::string>& a,
                       const std::map<std::string, std::string>& b, bool one_node) {
  for (const auto& [of, with] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (const auto& [name, value] : *of) {
      const auto found = with->find(name);
      if (found != with->end() && found->second == value) continue;
      if (one_node || !IsNodeSetting(name)) return name;
    }
  }
  return "";
}

}  // namespace

std::map<std::string, NcclVariable> NcclVariables() {
  std::map<std::string, NcclVariable> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const absl::string_view text = *variable;
    const size_t equals = text.find('=');
    if (!absl::StartsWith(text, "NCCL_") || equals == absl::string_view::npos) continue;
    variables.emplace(text.substr(0, equals),
                      NcclVariable{std::string(text.substr(equals + 1)), ""});
  }
  for (const std::string& file : ConfigurationFiles()) ReadFile(file, &variables);
  return variables;
}

absl::Status CheckNcclVariables(const std::map<std::string, NcclVariable>& variables) {
  const auto refuse = [&](const char* name, bool (*is_bad)(absl::string_view value),
                          absl::string_view why) {
    const auto found = variables.find(name);
    if (found == variables.end() || !is_bad(found->second.value)) return absl::OkStatus();
    const std::string& place = found->second.place;
    return absl::FailedPreconditionError(
        absl::StrCat(name, " is set ('", ReplaceUnprintable(found->second.value), "')",
                     place.empty() ? "" : absl::StrCat(" in ", place), ": ", why));
  };
  absl::Status status = refuse(
      "NCCL_COMM_ID", [](absl::string_view id) { return !id.empty(); },
      "NCCL would use it instead of each communicator's id, so that communicators mix with each "
      "other and with those of former attempts; unset it: Muster gives NCCL its ids");
  status.Update(refuse(
      "NCCL_COMM_BLOCKING", [](absl::string_view mode) { return !mode.empty() && mode != "0"; },
      "NCCL's calls would block, and nothing could end them when a rank is lost; unset it"));
  return status;
}

void AddSettings(const std::map<std::string, NcclVariable>& variables, const ncclConfig_t& config,
                 NcclPeerInfo* info) {
  const auto add = [&](const char* name) {
    const auto found = variables.find(name);
    if (found == variables.end() || IsDefault(name, found->second.value)) return;
    Set(name, found->second.value, info);
  };
  std::for_each(std::begin(kAlikeOnAllRanks), std::end(kAlikeOnAllRanks), add);
  std::for_each(std::begin(kAlikeOnANode), std::end(kAlikeOnANode), add);
  SetNumber("minCTAs", config.minCTAs, info);
  SetNumber("maxCTAs", config.maxCTAs, info);
  SetNumber("splitShare", config.splitShare, info);
#if NCCL_VERSION_CODE >= 22800
  SetNumber("CTAPolicy", config.CTAPolicy, info);
  SetNumber("nChannelsPerNetPeer", config.nChannelsPerNetPeer, info);
#endif
}

absl::Status CheckSettings(const Group& group, const std::vector<NcclPeerInfo>& infos) {
  std::vector<std::map<std::string, std::string>> settings;
  std::map<std::string, int> first_of_node;
  for (int i = 0; i < static_cast<int>(infos.size()); ++i) {
    settings.push_back(SettingsOf(infos[i]));
    const int first = first_of_node.emplace(group.member(i).node_id, i).first->second;
    std::string name = Difference(settings[first], settings[i], /*one_node=*/true);
    if (!name.empty()) return DifferenceError(group, first, i, name, settings);
    name = Difference(settings[0], settings[i], /*one_node=*/false);
    if (!name.empty()) return DifferenceError(group, 0, i, name, settings);
  }
  return absl::OkStatus();
}

}  // namespace muster::internal
