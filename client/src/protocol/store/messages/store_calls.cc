#include "client/src/protocol/store/messages/store_calls.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/text/utf8.h"

namespace muster::internal {
namespace {

using v1::StoreOperation;

absl::string_view NameOf(const StoreOperation& operation) {
  switch (operation.operation_case()) {
    case StoreOperation::kSet:
      return "Set";
    case StoreOperation::kGet:
      return "Get";
    case StoreOperation::kWait:
      return "Wait";
    case StoreOperation::kAdd:
      return "Add";
    case StoreOperation::kCompareAndSet:
      return "CompareAndSet";
    case StoreOperation::kAppend:
      return "Append";
    case StoreOperation::kDelete:
      return "Delete";
    case StoreOperation::kList:
      return "List";
    case StoreOperation::kCount:
      return "Count";
    case StoreOperation::kPush:
      return "Push";
    case StoreOperation::kPop:
      return "Pop";
    case StoreOperation::kQueueLength:
      return "Length";
    case StoreOperation::kBarrier:
      return "Barrier";
    case StoreOperation::kWatch:
      return "Watch";
    case StoreOperation::OPERATION_NOT_SET:
      break;
  }
  return "?";
}

}  // namespace

bool MayChange(const StoreOperation& operation) {
  switch (operation.operation_case()) {
    case StoreOperation::kGet:
    case StoreOperation::kWait:
    case StoreOperation::kList:
    case StoreOperation::kCount:
    case StoreOperation::kQueueLength:
    case StoreOperation::kWatch:
      return false;
    default:
      return true;
  }
}

const std::string& KeyOf(const StoreOperation& operation) {
  static const std::string& none = *new std::string();
  switch (operation.operation_case()) {
    case StoreOperation::kSet:
      return operation.set().key();
    case StoreOperation::kGet:
      return operation.get().key();
    case StoreOperation::kWait:
      return operation.wait().keys().empty() ? none : operation.wait().keys(0);
    case StoreOperation::kAdd:
      return operation.add().key();
    case StoreOperation::kCompareAndSet:
      return operation.compare_and_set().key();
    case StoreOperation::kAppend:
      return operation.append().key();
    case StoreOperation::kDelete:
      return operation.delete_().key();
    case StoreOperation::kList:
      return operation.list().prefix();
    case StoreOperation::kCount:
      return operation.count().prefix();
    case StoreOperation::kPush:
      return operation.push().key();
    case StoreOperation::kPop:
      return operation.pop().key();
    case StoreOperation::kQueueLength:
      return operation.queue_length().key();
    case StoreOperation::kBarrier:
      return operation.barrier().key();
    case StoreOperation::kWatch:
      return operation.watch().prefix();
    case StoreOperation::OPERATION_NOT_SET:
      break;
  }
  return none;
}

const std::string* ValueOf(const StoreOperation& operation) {
  switch (operation.operation_case()) {
    case StoreOperation::kSet:
      return &operation.set().value();
    case StoreOperation::kCompareAndSet:
      return &operation.compare_and_set().value();
    case StoreOperation::kAppend:
      return &operation.append().value();
    case StoreOperation::kPush:
      return &operation.push().value();
    default:
      return nullptr;
  }
}

std::string QuoteKey(absl::string_view key) {
  constexpr size_t kMost = 128;
  return absl::StrCat("'", ReplaceUnprintable(key.substr(0, kMost)),
                      key.size() > kMost ? "..." : "", "'");
}

std::string DescribeStoreCall(const StoreOperation& operation) {
  const int others = operation.wait().keys_size() - 1;
  return absl::StrCat("Store::", NameOf(operation), "(", QuoteKey(KeyOf(operation)),
                      others > 0 ? absl::StrCat(" and ", others, " more") : "", ")");
}

absl::Status AnswerStatus(const v1::StoreAnswer& answer) {
  if (!answer.has_error()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(answer.error().code()),
                      answer.error().message());
}

}  // namespace muster::internal
