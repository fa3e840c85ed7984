#ifndef MUSTER_CLIENT_OBSERVE_BUNDLE_FOLDER_H_
#define MUSTER_CLIENT_OBSERVE_BUNDLE_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/observe/bundle.h"

namespace muster::observe {

// "hang-20261122-220504": what everybody calls the bundle of an inquiry that began then.
std::string BundleName(absl::Time began);

// A node's name as a part of a path.
std::string PathPart(const std::string& name);

// Writes the files below `folder`, which is created if needed, for this user's eyes only. One that
// is there is replaced, as a whole, by whoever comes last. Files whose names lead out of it are
// refused, and so is a folder, this one or one inside, that is a link or another user's. The text
// of an error is for the user.
absl::Status WriteFiles(const std::string& folder, const std::vector<File>& files);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_BUNDLE_FOLDER_H_
