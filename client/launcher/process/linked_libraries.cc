#include "client/launcher/process/linked_libraries.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"

namespace muster::launcher {
namespace {

constexpr uint64_t kMaxEntries = 4096;  // of a table; more means a damaged file
constexpr size_t kMaxName = 256;

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~ElfFile() {
    if (fd_ >= 0) close(fd_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  std::vector<Elf64_Phdr> Segments() const {
    const auto header = At<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
      return {};
    }
    return Table<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  }

  std::vector<Elf64_Dyn> DynamicEntries(const Elf64_Phdr& dynamic) const {
    return Table<Elf64_Dyn>(dynamic.p_offset, dynamic.p_filesz / sizeof(Elf64_Dyn));
  }

  // Returns the text at an offset, up to its NUL.
  std::string TextAt(uint64_t offset) const {
    char text[kMaxName + 1] = {};
    [[maybe_unused]] const ssize_t size =
        pread(fd_, text, kMaxName, static_cast<off_t>(offset));  // if it fails, the text is empty
    return text;
  }

 private:
  template <typename T>
  std::optional<T> At(uint64_t offset) const {
    T value;
    const bool read = pread(fd_, &value, sizeof(T), static_cast<off_t>(offset)) == sizeof(T);
    return read ? std::optional<T>(value) : std::nullopt;
  }

  template <typename T>
  std::vector<T> Table(uint64_t offset, uint64_t count) const {
    std::vector<T> table;
    for (uint64_t i = 0; i < std::min(count, kMaxEntries); ++i) {
      const auto entry = At<T>(offset + i * sizeof(T));
      if (!entry) break;
      table.push_back(*entry);
    }
    return table;
  }

  const int fd_;
};

// Returns where the file has what the program has at this address.
std::optional<uint64_t> OffsetOf(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    const bool holds = segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                       address - segment.p_vaddr < segment.p_filesz;
    if (holds) return segment.p_offset + (address - segment.p_vaddr);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> LinkedLibraries(const std::string& path) {
  const ElfFile file(path);
  const std::vector<Elf64_Phdr> segments = file.Segments();
  const auto dynamic =
      std::find_if(segments.begin(), segments.end(),
                   [](const Elf64_Phdr& segment) { return segment.p_type == PT_DYNAMIC; });
  if (dynamic == segments.end()) return {};
  std::optional<uint64_t> names;
  const std::vector<Elf64_Dyn> entries = file.DynamicEntries(*dynamic);
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_STRTAB) names = OffsetOf(segments, entry.d_un.d_ptr);
  }
  std::vector<std::string> libraries;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (names && entry.d_tag == DT_NEEDED) {
      libraries.push_back(file.TextAt(*names + entry.d_un.d_val));
    }
  }
  return libraries;
}

std::string PmixLibraryOf(const std::vector<std::string>& libraries) {
  // libmpi.so.12 is MPICH's and Intel's.
  constexpr const char* kNames[] = {"libmpi.so.1",
                                    "libmpi.so.20",
                                    "libmpi.so.40",
                                    "libmpi_cxx.so.40",
                                    "libmpi_mpifh.so.40",
                                    "libmpi_usempif08.so.40",
                                    "libmpi_usempi_ignore_tkr.so.40",
                                    "liboshmem.so.40",
                                    "libpmix.so.2"};
  for (const std::string& library : libraries) {
    const bool known = std::find(std::begin(kNames), std::end(kNames), library) != std::end(kNames);
    if (known || absl::StartsWith(library, "libopen-pal.so.")) return library;
  }
  return "";
}

}  // namespace muster::launcher
