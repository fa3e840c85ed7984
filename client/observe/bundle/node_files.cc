// Files that are the same for all ranks of a node.

#include <sys/statvfs.h>

#include <cstdlib>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/observe/bundle/bundle.h"
#include "client/observe/bundle/ras_client.h"
#include "client/observe/proc/proc.h"

namespace muster::observe {
namespace {

constexpr size_t kMaxNodeFileBytes = 16 << 10;
constexpr size_t kMaxRasBytes = 512 << 10;

std::string DescribeDisk(const std::string& path) {
  struct statvfs info;
  if (statvfs(path.c_str(), &info) != 0) return absl::StrCat(path, ": unknown\n");
  const double gib = static_cast<double>(info.f_frsize) / (1 << 30);
  return absl::StrFormat("%s: %.2f GiB of %.2f GiB free, %d of %d files free\n", path,
                         gib * static_cast<double>(info.f_bavail),
                         gib * static_cast<double>(info.f_blocks), info.f_favail, info.f_files);
}

std::string DescribeDisks(const std::vector<pid_t>& ranks) {
  std::set<std::string> paths = {"/", "/dev/shm", "/tmp"};
  for (pid_t rank : ranks) {
    std::string folder = ReadLink(absl::StrCat("/proc/", rank, "/cwd"));
    if (!folder.empty()) paths.insert(std::move(folder));
  }
  std::string text;
  for (const std::string& path : paths) absl::StrAppend(&text, DescribeDisk(path));
  return text;
}

// Returns the RAS port from a rank's NCCL_RAS_ADDR ("host:port"). The host is ignored, because only
// this machine is asked.
uint16_t RasPort(const std::vector<pid_t>& ranks) {
  if (ranks.empty()) return kRasPort;
  const std::string environment = ReadFile(absl::StrCat("/proc/", ranks[0], "/environ"), 1 << 20);
  const std::string address = VariableIn(environment, "NCCL_RAS_ADDR");
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  const bool found =
      colon != std::string::npos && absl::SimpleAtoi(address.substr(colon + 1), &port);
  return found ? static_cast<uint16_t>(port) : kRasPort;
}

File QueryNccl(const std::vector<pid_t>& ranks, absl::Duration timeout) {
  const absl::StatusOr<RasReport> report =
      QueryRas(kRasHost, RasPort(ranks), timeout, kMaxRasBytes);
  if (report.ok()) return {report->json ? "nccl-ras.json" : "nccl-ras.txt", report->text};
  return {
      "nccl-ras.txt",
      absl::StrCat("no report from NCCL's RAS (NCCL 2.24 or later has it, once a communicator is "
                   "there): ",
                   report.status().message(), "\n")};
}

}  // namespace

std::vector<File> NodeFiles(const std::vector<pid_t>& ranks, absl::Duration timeout) {
  std::vector<File> files;
  const auto add = [&](const std::string& name, const std::string& path) {
    std::string text = ReadFile(path, kMaxNodeFileBytes);
    if (!text.empty()) files.push_back({name, std::move(text)});
  };
  add("kernel.txt", "/proc/version");
  add("load.txt", "/proc/loadavg");
  add("memory.txt", "/proc/meminfo");
  for (const char* what : {"cpu", "io", "memory"}) {
    add(absl::StrCat("pressure-", what, ".txt"), absl::StrCat("/proc/pressure/", what));
  }
  add("nvidia-driver.txt", "/proc/driver/nvidia/version");
  files.push_back(QueryNccl(ranks, timeout));
  return files;
}

File DiskFile(const std::vector<pid_t>& ranks) { return {"disks.txt", DescribeDisks(ranks)}; }

}  // namespace muster::observe
