#include "client/nccl/loaded/loaded_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::internal {
namespace {

// Returns "a" for one name, and "a and 2 others" for several.
std::string Abbreviate(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  if (names.size() == 1) return names.front();
  return absl::StrCat(names.front(), " and ", names.size() - 1, " others");
}

}  // namespace

void LoadedLibrary::Add(const char* name, std::atomic<void*>* address, Presence presence) {
  absl::MutexLock lock(&mutex_);
  functions_.push_back({name, address, presence});
}

absl::Status LoadedLibrary::Open() {
  absl::MutexLock lock(&mutex_);
  for (const std::string& name : names_) {
    if (handle_ == nullptr) handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
  }
  std::vector<std::string> errors;
  for (const std::string& name : names_) {
    if (handle_ != nullptr) return absl::OkStatus();
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) errors.push_back(dlerror());
  }
  return handle_ != nullptr ? absl::OkStatus() : absl::NotFoundError(absl::StrJoin(errors, "; "));
}

void* LoadedLibrary::Find(const char* name) const {
  absl::MutexLock lock(&mutex_);
  return dlsym(handle_, name);
}

absl::Status LoadedLibrary::Bind() {
  absl::MutexLock lock(&mutex_);
  std::vector<std::pair<std::atomic<void*>*, void*>> found;
  std::vector<std::string> missing;
  for (const Function& function : functions_) {
    void* const address = dlsym(handle_, function.name);
    if (address == nullptr && function.presence == Presence::kRequired) {
      missing.push_back(function.name);
    }
    found.emplace_back(function.address, address);
  }
  if (!missing.empty()) return absl::NotFoundError(Abbreviate(std::move(missing)));
  for (const auto& [place, address] : found) place->store(address, std::memory_order_release);
  return absl::OkStatus();
}

std::string LoadedLibrary::path() const {
  absl::MutexLock lock(&mutex_);
  link_map* map = nullptr;
  if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0) return names_.front();
  return map->l_name;
}

}  // namespace muster::internal
