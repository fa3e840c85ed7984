#include "server/daemon/logging.h"

#include <unistd.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "grpc/support/log.h"
#include "nlohmann/json.hpp"
#include "server/daemon/async_log.h"
#include "spdlog/pattern_formatter.h"
#include "spdlog/spdlog.h"

namespace muster::daemon {
namespace {

// A formatter that writes the message as a JSON string.
class JsonText final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string text(message.payload.data(), message.payload.size());
    const std::string quoted =
        nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    out.append(quoted.data(), quoted.data() + quoted.size());
  }

  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonText>();
  }
};

std::unique_ptr<spdlog::formatter> Formatter(const std::string& format) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<JsonText>('*');
  formatter->set_pattern(format == "json"
                             ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%*})"
                             : "%Y-%m-%dT%H:%M:%S.%eZ %-7l %v");
  return formatter;
}

// More lines than the members of a large job cause at once when it forms or is lost.
constexpr size_t kMaxLines = 4096;

// The daemon's log. Never deleted, because its thread may hang in a write for good.
AsyncLog* standard_error = nullptr;

void LogFromGrpc(gpr_log_func_args* message) { spdlog::debug("gRPC: {}", message->message); }

}  // namespace

absl::Status Validate(const LogOptions& options) {
  const bool known_level = options.level == "debug" || options.level == "info" ||
                           options.level == "warning" || options.level == "error" ||
                           options.level == "off";
  if (!known_level) {
    return absl::InvalidArgumentError(
        absl::StrCat("--log-level (MUSTER_LOG_LEVEL): \"", options.level,
                     "\" is not a level; expected debug, info, warning, error or off"));
  }
  if (options.format != "text" && options.format != "json") {
    return absl::InvalidArgumentError(absl::StrCat("--log-format (MUSTER_LOG_FORMAT): \"",
                                                   options.format,
                                                   "\" is not a format; expected text or json"));
  }
  return absl::OkStatus();
}

void SetUpLogging(const LogOptions& options) {
  standard_error = new AsyncLog(STDERR_FILENO, kMaxLines, Formatter(options.format));
  standard_error->logger()->set_level(spdlog::level::from_str(options.level));
  spdlog::set_default_logger(standard_error->logger());
  gpr_set_log_function(LogFromGrpc);
}

void FlushLog(absl::Duration limit) { standard_error->Flush(limit); }

}  // namespace muster::daemon
