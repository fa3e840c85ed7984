#include "tests/bench/common/simulated_network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace muster::testing {
namespace {

// About what a kernel passes from one network device of this machine to another at once.
constexpr int kPacketBytes = 65000;
constexpr int kMostNodes = 200;
constexpr size_t kDestinationOffset = 16;  // of IPv4's header
constexpr size_t kHeaderBytes = 20;

absl::Status Refused(const std::string& what) {
  return absl::ErrnoToStatus(
      errno, absl::StrCat(what,
                          " failed. Nodes of their own need the rights to make network "
                          "namespaces and /dev/net/tun: run this as root, outside of "
                          "containers"));
}

// Gives this process the rights of root over namespaces that it makes itself.
absl::Status EnterUserNamespace() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER) != 0) return Refused("unshare(CLONE_NEWUSER)");
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << user << " " << user << " 1";
  std::ofstream("/proc/self/gid_map") << group << " " << group << " 1";
  return absl::OkStatus();
}

std::string OwnAddressOf(int node) { return absl::StrCat("10.77.0.", node + 1); }

sockaddr AddressIn(const std::string& text) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, text.c_str(), &address.sin_addr);
  sockaddr result;
  std::memcpy(&result, &address, sizeof(result));
  return result;
}

ifreq RequestFor(const char* device) {
  ifreq request = {};
  std::strncpy(request.ifr_name, device, IFNAMSIZ - 1);
  return request;
}

// Starts a device of the namespace in which the thread is.
bool SwitchOn(int socket, const char* device) {
  ifreq request = RequestFor(device);
  request.ifr_flags = IFF_UP;
  return ioctl(socket, SIOCSIFFLAGS, &request) == 0;
}

bool Configure(int socket, const char* device, const std::string& address) {
  ifreq request = RequestFor(device);
  request.ifr_addr = AddressIn(address);
  if (ioctl(socket, SIOCSIFADDR, &request) != 0) return false;
  request.ifr_netmask = AddressIn("255.255.255.0");
  if (ioctl(socket, SIOCSIFNETMASK, &request) != 0) return false;
  request.ifr_mtu = kPacketBytes;
  if (ioctl(socket, SIOCSIFMTU, &request) != 0) return false;
  return SwitchOn(socket, device) && SwitchOn(socket, "lo");
}

// A packet on its way.
struct Packet {
  absl::Time due;
  std::vector<char> bytes;
};

// Returns the node to which a packet goes, or -1 if it is for none, such as IPv6's first words.
int DestinationOf(const std::vector<char>& packet, int nodes) {
  if (packet.size() < kHeaderBytes || (packet.front() >> 4) != 4) return -1;
  const int node = static_cast<unsigned char>(packet[kDestinationOffset + 3]) - 1;
  return node >= 0 && node < nodes ? node : -1;
}

// Reads all packets that a node has sent.
void Collect(int device, absl::Duration latency, std::deque<Packet>* under_way) {
  char buffer[kPacketBytes + kHeaderBytes];
  for (;;) {
    const ssize_t size = read(device, buffer, sizeof(buffer));
    if (size <= 0) return;
    under_way->push_back({absl::Now() + latency, std::vector<char>(buffer, buffer + size)});
  }
}

// Makes the calling thread as punctual as a kernel's, as far as this process may.
void BePunctual() {
  prctl(PR_SET_TIMERSLACK, 1);
  sched_param priority = {};
  priority.sched_priority = 1;
  pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
}

}  // namespace

SimulatedNetwork::Visit::Visit(const SimulatedNetwork* network, int node)
    : home_(network == nullptr ? -1 : open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
  if (network != nullptr) setns(network->nodes_[node].space, CLONE_NEWNET);
}

SimulatedNetwork::Visit::~Visit() {
  if (home_ < 0) return;
  setns(home_, CLONE_NEWNET);
  close(home_);
}

std::string SimulatedNetwork::AddressOf(const SimulatedNetwork* network, int node) {
  return network == nullptr ? "127.0.0.1" : OwnAddressOf(node);
}

absl::StatusOr<std::unique_ptr<SimulatedNetwork>> SimulatedNetwork::Create(int nodes,
                                                                           absl::Duration latency) {
  if (nodes > kMostNodes) return absl::InvalidArgumentError("too many nodes: 200 at most");
  if (geteuid() != 0) {
    if (const absl::Status entered = EnterUserNamespace(); !entered.ok()) return entered;
  }
  std::unique_ptr<SimulatedNetwork> network(new SimulatedNetwork(latency));
  for (int number = 0; number < nodes; ++number) {
    if (const absl::Status added = network->AddNode(number); !added.ok()) return added;
  }
  network->stop_ = eventfd(0, EFD_CLOEXEC);
  network->carrier_ = std::thread([carried = network.get()] { carried->Carry(); });
  return network;
}

SimulatedNetwork::~SimulatedNetwork() {
  if (carrier_.joinable()) {
    eventfd_write(stop_, 1);
    carrier_.join();
    close(stop_);
  }
  for (const Node& node : nodes_) {
    close(node.device);
    close(node.space);
  }
}

// A thread of its own goes there, so that this one stays where it is.
absl::Status SimulatedNetwork::AddNode(int number) {
  absl::Status made;
  Node node;
  std::thread([&] { made = MakeDevice(number, &node); }).join();
  nodes_.push_back(node);
  return made;
}

absl::Status SimulatedNetwork::MakeDevice(int number, Node* node) {
  if (unshare(CLONE_NEWNET) != 0) return Refused("unshare(CLONE_NEWNET)");
  node->space = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  node->device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (node->device < 0) return Refused("open(\"/dev/net/tun\")");
  ifreq request = RequestFor("eth0");
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (ioctl(node->device, TUNSETIFF, &request) != 0) return Refused("ioctl(TUNSETIFF)");
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool configured = Configure(socket, "eth0", OwnAddressOf(number));
  const absl::Status result = configured ? absl::OkStatus() : Refused("ioctl() on the device");
  close(socket);
  return result;
}

void SimulatedNetwork::Carry() {
  BePunctual();
  std::vector<pollfd> ready = {{stop_, POLLIN, 0}};
  for (const Node& node : nodes_) ready.push_back({node.device, POLLIN, 0});
  std::deque<Packet> under_way;  // in the order in which they are due
  while ((ready.front().revents & POLLIN) == 0) {
    for (const Node& node : nodes_) Collect(node.device, latency_, &under_way);
    while (!under_way.empty() && under_way.front().due <= absl::Now()) {
      const std::vector<char>& bytes = under_way.front().bytes;
      const int to = DestinationOf(bytes, static_cast<int>(nodes_.size()));
      // A packet that is lost here is one that TCP sends again.
      if (to >= 0) static_cast<void>(write(nodes_[to].device, bytes.data(), bytes.size()) >= 0);
      under_way.pop_front();
    }
    timespec wait = {};
    if (!under_way.empty()) {
      wait = absl::ToTimespec(std::max(under_way.front().due - absl::Now(), absl::ZeroDuration()));
    }
    ppoll(ready.data(), ready.size(), under_way.empty() ? nullptr : &wait, nullptr);
  }
}

}  // namespace muster::testing
