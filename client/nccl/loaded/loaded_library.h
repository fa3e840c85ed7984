#ifndef MUSTER_CLIENT_NCCL_LOADED_LOADED_LIBRARY_H_
#define MUSTER_CLIENT_NCCL_LOADED_LOADED_LIBRARY_H_

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace muster::internal {

// Whether Muster can work with a library that lacks a function.
enum class Presence { kRequired, kOptional };

// A library of the machine that is opened at run time. Functions are added by static initializers:
//
//   LoadedLibrary& Nccl() {
//     static auto& library = *new LoadedLibrary({"libnccl.so.2"});
//     return library;
//   }
//   LoadedFunction<decltype(ncclGetVersion)> get_version(Nccl(), "ncclGetVersion");
//   ... absl::Status loaded = Nccl().Open(); if (loaded.ok()) loaded = Nccl().Bind();
//   ... get_version.get()(&version);
//
// Thread-safe. A library that has been opened is never closed.
class LoadedLibrary {
 public:
  // `names` are sonames, the preferred one first.
  explicit LoadedLibrary(std::vector<std::string> names) : names_(std::move(names)) {}
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  // Adds a function, whose address Bind() stores in `*address`.
  void Add(const char* name, std::atomic<void*>* address, Presence presence);

  // Opens the library that the process has already loaded under one of the names, or else the first
  // one that the loader finds. NOT_FOUND if it finds no such library; the text has the loader's
  // error for each name.
  absl::Status Open();

  // Returns the address of a function, or null if the open library lacks it.
  void* Find(const char* name) const;

  // Stores the addresses of all functions. NOT_FOUND: the open library lacks required functions;
  // the text is "ncclSend and 2 others". Stores nothing then.
  absl::Status Bind();

  // Returns the file of the open library.
  std::string path() const;

 private:
  struct Function {
    const char* name;
    std::atomic<void*>* address;
    Presence presence;
  };

  const std::vector<std::string> names_;
  mutable absl::Mutex mutex_;
  std::vector<Function> functions_ ABSL_GUARDED_BY(mutex_);
  void* handle_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

// A function of a LoadedLibrary.
template <class F>
class LoadedFunction {
 public:
  LoadedFunction(LoadedLibrary& library, const char* name,
                 Presence presence = Presence::kRequired) {
    library.Add(name, &address_, presence);
  }

  // Returns the function, or null if the library is not bound or lacks it.
  F* get() const { return reinterpret_cast<F*>(address_.load(std::memory_order_acquire)); }

 private:
  std::atomic<void*> address_ = nullptr;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_LOADED_LOADED_LIBRARY_H_
