#include "muster/log.h"

#include <string>

#include "muster/c.h"

extern "C" void muster_set_log_sink(muster_log_sink sink, void* context) {
  if (sink == nullptr) return muster::SetLogSink(nullptr);
  muster::SetLogSink([sink, context](muster::LogLevel level, absl::string_view line) {
    sink(context, static_cast<muster_log_level>(level), std::string(line).c_str());
  });
}
