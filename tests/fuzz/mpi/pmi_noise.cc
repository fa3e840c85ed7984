#include "tests/fuzz/mpi/pmi_noise.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "client/launcher/pmi/wire.h"

namespace muster::fuzz {
namespace {

constexpr char kInit[] = "cmd=init pmi_version=1 pmi_subversion=1\n";

// Returns a line that a client may send, if not here.
std::string KnownLine(ByteSource* bytes) {
  static const char* const kLines[] = {
      kInit,
      "cmd=init pmi_version=2 pmi_subversion=0\n",
      "cmd=init\n",
      "cmd=get_maxes\n",
      "cmd=get_appnum\n",
      "cmd=get_my_kvsname\n",
      "cmd=get_universe_size\n",
      "cmd=barrier_in\n",
      "cmd=put kvsname=k key=bad value=b\\ c\\\\\n",
      "cmd=put kvsname=k key= value=b\n",
      "cmd=put kvsname=k key=bad\n",
      "cmd=get kvsname=k key=bad\n",
      "cmd=get kvsname=k\n",
      "cmd=finalize\n",
      "cmd=abort exitcode=7 message=bad\\ input\x1b[2J\n",
      "cmd=abort\n",
      "cmd=publish_name service=s port=p\n",
      "cmd=lookup_name service=s\n",
      "cmd=create_kvs\n",
      "cmd=mput key0=a value0=b\n",
      "mcmd=spawn\n",
      "nprocs=1\n",
      "totspawns=2\n",
      "totspawns=-2147483648\n",
      "totspawns=2147483647\n",
      "endcmd\n",
      "\n",
  };
  return kLines[bytes->Below(std::size(kLines))];
}

std::string LongLine(ByteSource* bytes) {
  const size_t length = launcher::pmi::kMaxLine - 20 + bytes->Below(40);
  return absl::StrCat("cmd=put kvsname=k key=bad value=", std::string(length - 32, 'x'),
                      bytes->OneIn(2) ? "\n" : "");
}

}  // namespace

std::string ManyPuts() {
  constexpr int kMany = 1200;
  std::string lines;
  for (int i = 0; i < kMany; ++i) {
    absl::StrAppend(&lines, "cmd=put kvsname=k key=bad", i,
                    " value=", std::string(launcher::pmi::kMaxValueLength - 1, 'v'), "\n");
  }
  return lines;
}

std::string DishonestBytes(ByteSource* bytes) {
  switch (bytes->Below(16)) {
    case 0:
      return kInit;
    case 1:
    case 2:
      return "cmd=barrier_in\n";
    case 3:
      return bytes->Text(bytes->Below(32));
    case 4:
      return LongLine(bytes);
    case 5: {
      std::string line = KnownLine(bytes);
      line[bytes->Below(line.size())] = static_cast<char>(bytes->Byte());
      return line;
    }
    case 6: {
      const std::string line = KnownLine(bytes);
      return line.substr(0, bytes->Below(line.size() + 1));
    }
    case 7:
      return "mcmd=spawn\n" + KnownLine(bytes) + "endcmd\n";
    default:
      return KnownLine(bytes);
  }
}

}  // namespace muster::fuzz
