#ifndef MUSTER_SERVER_JOURNAL_RECORDS_OPTIONS_CONVERSION_H_
#define MUSTER_SERVER_JOURNAL_RECORDS_OPTIONS_CONVERSION_H_

#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "server/core/api/basic_types.h"
#include "server/core/api/options.h"
#include "server/journal/journal.pb.h"

namespace muster::journal {

// Convert the options, without `random` and `wants_inquiry`.
Options ToProto(const core::Options& options);
core::Options FromProto(const Options& in);

google::protobuf::Timestamp ToProto(core::Time time);
core::Time FromProto(const google::protobuf::Timestamp& in);

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_RECORDS_OPTIONS_CONVERSION_H_
