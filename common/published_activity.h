#ifndef MUSTER_COMMON_PUBLISHED_ACTIVITY_H_
#define MUSTER_COMMON_PUBLISHED_ACTIVITY_H_

#include <cstdint>
#include <string_view>

#include "common/activity_board.h"

namespace muster {

// What one communicator of this process publishes for its launcher: see rank_activity.h. Does
// nothing where no launcher has asked, or where there are too many communicators (64). Takes no
// locks and makes no system calls, but for the first one of a process. Needs the C++ library alone,
// since a plug-in of NCCL has it too. Not thread-safe.
class PublishedActivity {
 public:
  // Of a name of more than 96 bytes the beginning is published, with a fingerprint of all of it:
  // two names that differ do so there, too.
  explicit PublishedActivity(std::string_view name);
  ~PublishedActivity();
  PublishedActivity(const PublishedActivity&) = delete;
  PublishedActivity& operator=(const PublishedActivity&) = delete;

  // An operation begins, before the one before it has ended perhaps.
  void Begin(std::string_view operation, uint64_t bytes);
  // The oldest one that has not ended does.
  void End();

 private:
  activity::Slot* const slot_;  // null: nobody wants to know
};

}  // namespace muster

#endif  // MUSTER_COMMON_PUBLISHED_ACTIVITY_H_
