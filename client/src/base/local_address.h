#ifndef MUSTER_CLIENT_SRC_BASE_LOCAL_ADDRESS_H_
#define MUSTER_CLIENT_SRC_BASE_LOCAL_ADDRESS_H_

#include <string>

namespace muster::internal {

// Returns the local IP address from which packets to the IP address `peer` leave, or an empty
// string if there is no route.
std::string LocalAddressTowards(const std::string& peer);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_LOCAL_ADDRESS_H_
