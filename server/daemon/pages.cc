#include "server/daemon/pages.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/credentials/random_bytes.h"
#include "common/names/host_port.h"
#include "server/metrics/families.h"
#include "server/metrics/job_families.h"
#include "server/metrics/process_figures.h"
#include "server/service/base/daemon_version.h"
#include "server/service/base/listen_address.h"
#include "server/web/page/status_feed.h"
#include "server/web/page/status_json.h"
#include "server/web/page/status_page.h"
#include "spdlog/spdlog.h"

namespace muster::daemon {
namespace {

constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

metrics::Family BuildInfo() {
  metrics::Family build =
      metrics::Gauges("muster_build_info", "1, labelled with the version of musterd.");
  metrics::Add(&build, 1, {{"version", service::kDaemonVersion}});
  return build;
}

void AddServiceMetrics(const service::ServerMetrics& server_metrics, metrics::Families* families) {
  families->push_back(metrics::Counter("muster_unauthenticated_calls_total",
                                       "Calls that were refused for their credentials.",
                                       static_cast<double>(server_metrics.unauthenticated_calls)));
  families->push_back(metrics::Counter("muster_answers_let_go_total",
                                       "Answers that were dropped, because members had not read "
                                       "them when they made their next call.",
                                       static_cast<double>(server_metrics.answers_dropped)));
}

web::Response Metrics(const service::Server& server) {
  const service::ServerMetrics server_metrics = server.Measure();
  metrics::Families families = metrics::JobFamilies(server_metrics.job, server.options());
  AddServiceMetrics(server_metrics, &families);
  families.push_back(BuildInfo());
  for (metrics::Family& family : metrics::ProcessFigures()) {
    families.push_back(std::move(family));
  }
  return {200, kMetricsType, {}, metrics::ToText(families)};
}

std::shared_ptr<web::StatusFeed> FeedOf(const service::Server& server) {
  const auto clock = [] {
    return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  };
  return std::make_shared<web::StatusFeed>(RandomNumber(), clock, [&server] {
    const service::CoordinatorDriver::Snapshot snapshot = server.Status();
    return web::StatusFeed::Sample{
        snapshot.uptime, web::StatusJson(snapshot, server.options(), server.refused_calls())};
  });
}

void LogStart(const HostPort& address) {
  spdlog::info("serving metrics at http://{0}/metrics, and a page of the job at http://{0}/",
               address.ToString());
  if (service::IsLoopback(address)) return;
  spdlog::warn(
      "the page and the metrics need no credentials: anybody who can reach {} can read the job's "
      "name, its nodes, hosts and processes, the labels of its calls, and its log lines, but can "
      "change nothing",
      address.ToString());
}

}  // namespace

absl::Status Validate(const PageOptions& options) {
  if (options.listen.empty() && !options.port_file.empty()) {
    return absl::InvalidArgumentError(
        "--metrics-port-file: there is no port to write without --metrics-listen");
  }
  if (options.listen.empty()) return absl::OkStatus();
  const absl::Status s = ParseMetricsAddress(options.listen).status();
  if (s.ok()) return s;
  return absl::InvalidArgumentError(absl::StrCat("--metrics-listen: ", s.message()));
}

absl::StatusOr<std::unique_ptr<Pages>> Pages::Serve(const PageOptions& options,
                                                    const service::Server& server) {
  if (options.listen.empty()) return nullptr;
  web::HttpOptions http;
  http.address = *ParseMetricsAddress(options.listen);
  http.logger = spdlog::default_logger();
  http.pages = web::StatusPages(FeedOf(server));
  http.pages["/metrics"] = [&server](const web::Request&) { return Metrics(server); };
  absl::StatusOr<std::unique_ptr<web::HttpServer>> serving =
      web::HttpServer::Start(std::move(http));
  if (!serving.ok()) return serving.status();
  absl::StatusOr<std::unique_ptr<PortFile>> port_file =
      PortFile::Write("--metrics-port-file", options.port_file, (*serving)->address().port);
  if (!port_file.ok()) return port_file.status();
  LogStart((*serving)->address());
  return absl::WrapUnique(new Pages(*std::move(serving), *std::move(port_file)));
}

Pages::Pages(std::unique_ptr<web::HttpServer> http, std::unique_ptr<PortFile> port_file)
    : http_(std::move(http)), port_file_(std::move(port_file)) {}

}  // namespace muster::daemon
