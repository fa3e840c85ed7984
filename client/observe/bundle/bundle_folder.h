#ifndef MUSTER_CLIENT_OBSERVE_BUNDLE_BUNDLE_FOLDER_H_
#define MUSTER_CLIENT_OBSERVE_BUNDLE_BUNDLE_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/observe/bundle/bundle.h"

namespace muster::observe {

// Returns the name of the bundle of an inquiry that began at this time: "hang-20261122-220504". It
// is the same on all nodes.
std::string BundleName(absl::Time began);

// Returns a node's name as one part of a path.
std::string PathPart(const std::string& name);

// Writes the files below `folder`, readable by this user only. Creates the folder if needed.
// Replaces existing files, each as a whole; the last writer wins. Refuses file names that lead out
// of the folder, and folders that are symbolic links or belong to another user. An error is a text
// for the user.
absl::Status WriteFiles(const std::string& folder, const std::vector<File>& files);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_BUNDLE_BUNDLE_FOLDER_H_
