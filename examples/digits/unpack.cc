#include "examples/digits/unpack.h"

#include <stdlib.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace digits {
namespace {

struct CloseGzip {
  void operator()(gzFile file) const { gzclose(file); }
};
using GzipFile = std::unique_ptr<gzFile_s, CloseGzip>;

// Returns why reading stopped before the end.
absl::Status ReadError(gzFile file, const std::string& name) {
  int code = Z_OK;
  const char* text = gzerror(file, &code);
  if (code == Z_ERRNO) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", name));
  return absl::InvalidArgumentError(absl::StrCat("cannot unpack ", name, ": ", text));
}

}  // namespace

ScratchDir::~ScratchDir() {
  std::error_code ignored;  // errors do not matter here
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

absl::StatusOr<std::string> ScratchDir::Create() {
  std::error_code error;
  std::string path = std::filesystem::temp_directory_path(error) / "digits-XXXXXX";
  if (error || mkdtemp(path.data()) == nullptr) {
    return absl::ErrnoToStatus(error ? error.value() : errno,
                               "cannot make a temporary directory; set TMPDIR to one that can be "
                               "written");
  }
  path_ = path;
  return path_;
}

absl::Status Gunzip(const std::string& packed, const std::string& plain) {
  const GzipFile in(gzopen(packed.c_str(), "rb"));
  if (in == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", packed));
  std::ofstream out(plain, std::ios::binary);
  std::array<char, 1 << 16> buffer;
  int size = 0;
  while ((size = gzread(in.get(), buffer.data(), buffer.size())) > 0)
    out.write(buffer.data(), size);
  // A truncated file reads like a complete one, and only gzerror() shows the difference.
  int code = Z_OK;
  gzerror(in.get(), &code);
  if (size < 0 || code != Z_OK) return ReadError(in.get(), packed);
  if (gzdirect(in.get())) {
    return absl::InvalidArgumentError(absl::StrCat("cannot unpack ", packed, ": not a gzip file"));
  }
  if (!out.flush()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", plain));
  return absl::OkStatus();
}

}  // namespace digits
