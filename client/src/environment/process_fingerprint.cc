#include "client/src/environment/process_fingerprint.h"

#include <elf.h>
#include <link.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/text/secret_name.h"
#include "common/text/utf8.h"
#include "muster/version.h"

namespace muster::internal {
namespace {

// The coordinator's limits.
constexpr size_t kMaxFacts = 200;
constexpr size_t kMaxNameBytes = 128;
constexpr size_t kMaxValueBytes = 512;
// Enough of a build id to tell builds apart.
constexpr size_t kBuildIdBytes = 6;

using Registry = std::map<std::string, std::string (*)()>;

// Only written by static initializers, before there are threads.
Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

// Returns the linker's build id as hexadecimal digits (the first note of its type), or an empty
// string if there is none.
std::string BuildId(const dl_phdr_info& program) {
  for (int i = 0; i < program.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = program.dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const char*>(program.dlpi_addr + header.p_vaddr);
    const char* const end = at + header.p_memsz;
    while (end - at >= static_cast<ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof(note));
      const char* const name = at + sizeof(note);
      const char* const content = name + (note.n_namesz + 3) / 4 * 4;
      at = content + (note.n_descsz + 3) / 4 * 4;
      if (at > end) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(name, "GNU", 4) == 0) {
        return absl::BytesToHexString({content, std::min<size_t>(note.n_descsz, kBuildIdBytes)});
      }
    }
  }
  return "";
}

// Returns "train, build 3f2a91b04c77".
std::string Program() {
  char path[4096] = "";
  if (readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0) return "";
  const char* const slash = std::strrchr(path, '/');
  std::string build;
  // dl_iterate_phdr() visits the program first.
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<std::string*>(out) = BuildId(*info);
        return 1;
      },
      &build);
  const std::string name = slash == nullptr ? path : slash + 1;
  return build.empty() ? name : absl::StrCat(name, ", build ", build);
}

// Returns whether each rank has its own value by nature.
bool IsOwnToEachRank(absl::string_view name) { return name == "NCCL_HOSTID"; }

// Returns whether the value may contain credentials: "http://user:password@host".
bool MayHoldAUser(absl::string_view value) {
  return absl::StrContains(value, "://") && absl::StrContains(value, "@");
}

void AddVariables(std::map<std::string, std::string>* facts) {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const absl::string_view text = *variable;
    const size_t equals = text.find('=');
    if (!absl::StartsWith(text, "NCCL_") || equals == absl::string_view::npos) continue;
    const absl::string_view name = text.substr(0, equals);
    const absl::string_view value = text.substr(equals + 1);
    if (IsSecretName(name) || IsOwnToEachRank(name) || MayHoldAUser(value)) continue;
    facts->emplace(name, value);
  }
}

// Shortens the text and makes it printable, as the coordinator requires.
std::string Fitting(absl::string_view text, size_t bytes) {
  return ReplaceUnprintable(text.substr(0, bytes));
}

std::optional<uint64_t> FreeSharedMemory() {
  struct statvfs info = {};
  if (statvfs("/dev/shm", &info) != 0) return std::nullopt;
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

}  // namespace

ProcessFingerprint OwnFingerprint() {
  std::map<std::string, std::string> all = {{"Muster", MUSTER_VERSION}, {"program", Program()}};
  for (const auto& [name, value] : TheRegistry()) all[name] = value();
  AddVariables(&all);
  ProcessFingerprint fingerprint;
  for (const auto& [name, value] : all) {
    if (fingerprint.facts.size() == kMaxFacts || name.size() > kMaxNameBytes) continue;
    const bool is_variable = absl::StrContains(name, '_');
    if (!value.empty() || is_variable) {
      fingerprint.facts[Fitting(name, kMaxNameBytes)] = Fitting(value, kMaxValueBytes);
    }
  }
  fingerprint.free_shared_memory = FreeSharedMemory();
  return fingerprint;
}

bool RegisterFact(absl::string_view name, std::string (*value)()) {
  TheRegistry()[std::string(name)] = value;
  return true;
}

}  // namespace muster::internal
