#include "server/web/served_connection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "boost/asio/buffer.hpp"
#include "boost/asio/dispatch.hpp"
#include "boost/asio/read_until.hpp"
#include "boost/beast/core.hpp"
#include "boost/beast/http.hpp"
#include "server/web/answer.h"

namespace muster::web {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kMaxRequestBytes = 16384;  // without a body; no page takes one
constexpr unsigned kHttp11 = 11;

absl::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

// Returns the text with the escapes of a query decoded: "a%20b+c" is "a b c".
std::string Decoded(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const char* const digits = text.data() + i + 1;
    unsigned char byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, /*base=*/16).ptr == digits + 2) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

std::map<std::string, std::string> Parameters(absl::string_view query) {
  std::map<std::string, std::string> parameters;
  for (absl::string_view field : absl::StrSplit(query, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(field, absl::MaxSplits('=', 1));
    parameters.emplace(Decoded(parts.first), Decoded(parts.second));
  }
  return parameters;
}

// Returns the target without "http://host", which a client may send (RFC 9112, section 3.2.2).
absl::string_view PathAndQuery(absl::string_view target) {
  if (!absl::ConsumePrefix(&target, "http://")) return target;
  const size_t path = target.find('/');
  return path == absl::string_view::npos ? "/" : target.substr(path);
}

Request ToRequest(const http::request_header<>& header) {
  const std::pair<std::string, absl::string_view> target =
      absl::StrSplit(PathAndQuery(View(header.target())), absl::MaxSplits('?', 1));
  Request request{target.first, Parameters(target.second), {}};
  for (const auto& field : header) {
    request.headers.emplace(absl::AsciiStrToLower(View(field.name_string())), View(field.value()));
  }
  return request;
}

// The life of one connection: one request, one answer. Pending handlers keep it alive; when the
// last one is gone, the socket is closed.
class ServedConnection : public std::enable_shared_from_this<ServedConnection> {
 public:
  ServedConnection(asio::ip::tcp::socket socket, const HttpServerState& all,
                   std::function<void()> closed)
      : stream_(std::move(socket)), state_(all), closed_(std::move(closed)) {}

  ~ServedConnection() {
    stream_.close();
    closed_();
  }

  void Start() {
    asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->Read(); });
  }

 private:
  // Reads the header. One deadline limits the whole request, however slowly it comes. The header is
  // parsed only when it is complete: the parser applies its limit to each piece, so a client could
  // otherwise add fields without end.
  void Read() {
    stream_.expires_after(IoTimeout());
    asio::async_read_until(
        stream_, asio::dynamic_buffer(header_, kMaxRequestBytes), "\r\n\r\n",
        [self = shared_from_this()](beast::error_code error, size_t) { self->OnHeader(error); });
  }

  void OnHeader(beast::error_code error) {
    if (error == asio::error::not_found) return Answer(ErrorAnswer(400));  // the header is too long
    if (error) return;                                                     // the client is gone
    parser_.header_limit(kMaxRequestBytes);
    // Bodies are not read here, so their length does not matter. Boost 1.74 takes boost::none for
    // 0.
    parser_.body_limit(std::numeric_limits<uint64_t>::max());
    parser_.put(asio::buffer(header_), error);
    if (!error) return Answer(MakeAnswer());
    state_.options.logger->debug("HTTP: {}", error.message());
    Answer(ErrorAnswer(400));
  }

  Response MakeAnswer() const {
    const Request request = ToRequest(parser_.get());
    try {
      return AnswerTo({state_.options.pages, state_.loopback_only},
                      View(parser_.get().method_string()), request);
    } catch (const std::exception& e) {
      state_.options.logger->error("the page {} could not be made: {}", request.path, e.what());
    } catch (...) {
      state_.options.logger->error("the page {} could not be made", request.path);
    }
    return ErrorAnswer(500);
  }

  void Answer(Response answer) {
    response_.version(kHttp11);
    response_.result(static_cast<unsigned>(answer.status));
    response_.set(http::field::content_type, answer.content_type);
    response_.content_length(answer.body.size());
    response_.keep_alive(false);
    for (const auto& [name, value] : SecurityHeaders()) response_.set(name, value);
    for (const auto& [name, value] : answer.headers) response_.set(name, value);
    if (parser_.get().method() != http::verb::head) response_.body() = std::move(answer.body);
    serializer_.emplace(response_);
    deadline_ = Clock::now() + absl::ToChronoNanoseconds(state_.options.answer_timeout);
    Write();
  }

  // Writes the next part of the answer. Each part and the whole answer have deadlines, so a client
  // that accepts nothing is dropped sooner than a slow one.
  void Write() {
    stream_.expires_at(std::min(Clock::now() + IoTimeout(), deadline_));
    http::async_write_some(stream_, *serializer_,
                           [self = shared_from_this()](beast::error_code error, size_t) {
                             if (!error) self->OnWritten();
                           });
  }

  void OnWritten() {
    if (!serializer_->is_done()) return Write();
    beast::error_code ignored;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    if (parser_.is_done()) return;
    stream_.expires_after(IoTimeout());
    Discard();
  }

  // Reads and drops the rest of the request. If a socket is closed with unread data, the kernel
  // resets the connection, and the client may miss the answer. Bodies that do not end in time are
  // not read to the end.
  void Discard() {
    stream_.async_read_some(asio::buffer(discarded_),
                            [self = shared_from_this()](beast::error_code error, size_t) {
                              if (!error) self->Discard();
                            });
  }

  Clock::duration IoTimeout() const { return absl::ToChronoNanoseconds(state_.options.io_timeout); }

  beast::tcp_stream stream_;
  const HttpServerState& state_;
  const std::function<void()> closed_;
  std::string header_;
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> response_;
  std::optional<http::response_serializer<http::string_body>> serializer_;
  Clock::time_point deadline_;
  std::array<char, 8192> discarded_;
};

}  // namespace

void ServeConnection(asio::ip::tcp::socket socket, const HttpServerState& all,
                     std::function<void()> closed) {
  std::make_shared<ServedConnection>(std::move(socket), all, std::move(closed))->Start();
}

}  // namespace muster::web
