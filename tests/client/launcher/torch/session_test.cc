#include "client/launcher/torch/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/client/launcher/torch/torch_clients.h"

namespace muster::launcher::torch {
namespace {

using ::testing::HasSubstr;

const std::string kStop(1, '\0');
const std::string kCancelled(1, '\1');
const std::string kReady(1, '\0');
const std::string kNotReady(1, '\1');

std::string Set(const std::string& key, const std::string& value) {
  return Code(Op::kSet) + Blob(key) + Blob(value);
}
std::string Get(const std::string& key) { return Code(Op::kGet) + Blob(key); }
std::string Add(const std::string& key, int64_t amount) {
  return Code(Op::kAdd) + Blob(key) + I64(amount);
}
std::string Wait(const std::vector<std::string>& keys) { return Code(Op::kWait) + Keys(keys); }
std::string Check(const std::vector<std::string>& keys) { return Code(Op::kCheck) + Keys(keys); }
std::string CompareSet(const std::string& key, const std::string& expected,
                       const std::string& value) {
  return Code(Op::kCompareSet) + Blob(key) + Blob(expected) + Blob(value);
}
std::string Push(const std::string& key, const std::string& element) {
  return Code(Op::kQueuePush) + Blob(key) + Blob(element);
}
std::string Pop(const std::string& key) { return Code(Op::kQueuePop) + Blob(key); }
std::string Length(const std::string& key) { return Code(Op::kQueueLen) + Blob(key); }
std::string Barrier(const std::string& key, int64_t world) {
  return Code(Op::kBarrier) + Blob(key) + I64(world);
}
std::string Delete(const std::string& key) { return Code(Op::kDeleteKey) + Blob(key); }

TEST(Session, SetsAndGetsValues) {
  Clients clients(2);
  EXPECT_EQ(clients.Ask(0, Set("/a", "1")), "");
  EXPECT_EQ(clients.Ask(1, Get("/a")), Blob("1"));
  EXPECT_EQ(clients.Ask(1, Get("/none")), Blob(""));
  EXPECT_EQ(clients.Ask(0, Code(Op::kAppend) + Blob("/a") + Blob("23")), "");
  EXPECT_EQ(clients.Ask(1, Get("/a")), Blob("123"));
  EXPECT_EQ(clients.Ask(1, Code(Op::kPing) + "abcd"), "abcd");
}

TEST(Session, SetsAndGetsSeveralValues) {
  Clients clients(2);
  std::string set = Code(Op::kMultiSet) + I64(200);
  std::vector<std::string> keys;
  std::string values;
  for (int i = 0; i < 200; ++i) {
    keys.push_back("/" + std::to_string(i));
    set += Blob(keys.back()) + Blob(std::to_string(i));
    values += Blob(std::to_string(i));
  }
  EXPECT_EQ(clients.Ask(0, set), "");
  EXPECT_EQ(clients.Ask(1, Code(Op::kMultiGet) + Keys(keys)), values);
  EXPECT_EQ(clients.Ask(1, Code(Op::kMultiGet) + Keys({"/none", "/7"})), Blob("") + Blob("7"));
  EXPECT_EQ(clients.Ask(1, Code(Op::kMultiGet) + Keys({})), "");
}

TEST(Session, AddsToNumbers) {
  Clients clients(2);
  EXPECT_EQ(clients.Ask(0, Add("/n", 5)), I64(5));
  EXPECT_EQ(clients.Ask(1, Add("/n", -7)), I64(-2));
  EXPECT_EQ(clients.Ask(1, Get("/n")), Blob("-2"));
}

TEST(Session, ClosesTheConnectionWhenTextIsAddedTo) {
  Clients clients(1);
  clients.Ask(0, Set("/a", "text"));
  EXPECT_EQ(clients.Ask(0, Add("/a", 1)), "");
  EXPECT_THAT(clients.closed(0), HasSubstr("'t/k/a'"));
}

// The replies are those of PyTorch's server.
TEST(Session, ComparesAndSets) {
  Clients clients(1);
  EXPECT_EQ(clients.Ask(0, CompareSet("/a", "x", "y")), Blob("x"));  // not there
  EXPECT_EQ(clients.Ask(0, Check({"/a"})), kNotReady);
  EXPECT_EQ(clients.Ask(0, CompareSet("/a", "", "1")), Blob("1"));
  EXPECT_EQ(clients.Ask(0, CompareSet("/a", "", "2")), Blob("1"));
  EXPECT_EQ(clients.Ask(0, CompareSet("/a", "0", "2")), Blob("1"));
  EXPECT_EQ(clients.Ask(0, CompareSet("/a", "1", "2")), Blob("2"));
  clients.Ask(0, Set("/empty", ""));
  EXPECT_EQ(clients.Ask(0, CompareSet("/empty", "", "3")), Blob("3"));
}

TEST(Session, ChecksKeys) {
  Clients clients(1);
  clients.Ask(0, Set("/a", "") + Set("/b", ""));
  EXPECT_EQ(clients.Ask(0, Check({"/a"})), kReady);
  EXPECT_EQ(clients.Ask(0, Check({"/c"})), kNotReady);
  EXPECT_EQ(clients.Ask(0, Check({"/a", "/b"})), kReady);
  EXPECT_EQ(clients.Ask(0, Check({"/a", "/c"})), kNotReady);
  EXPECT_EQ(clients.Ask(0, Check({})), kReady);
}

TEST(Session, WaitsForOneKey) {
  Clients clients(2);
  EXPECT_EQ(clients.Ask(0, Wait({"/a"})), "");
  clients.Ask(1, Set("/b", "1"));
  EXPECT_EQ(clients.Take(0), "");
  clients.Ask(1, Set("/a", "1"));
  EXPECT_EQ(clients.Take(0), kStop);
  EXPECT_EQ(clients.Ask(0, Get("/a")), Blob("1"));
}

TEST(Session, WaitsForSeveralKeys) {
  Clients clients(2);
  EXPECT_EQ(clients.Ask(0, Wait({"/a", "/b"})), "");
  clients.Ask(1, Set("/b", "1"));
  EXPECT_EQ(clients.Take(0), "");
  clients.Ask(1, Add("/a", 1));
  EXPECT_EQ(clients.Take(0), kStop);
  EXPECT_EQ(clients.Ask(0, Wait({"/a", "/b"})), kStop);
  EXPECT_EQ(clients.Ask(0, Wait({})), kStop);
}

// The store takes 1 MiB of keys in one wait.
TEST(Session, WaitsForMoreKeysThanTheStoreTakesAtOnce) {
  Clients clients(2);
  std::vector<std::string> keys;
  for (int i = 0; i < 300; ++i) keys.push_back(std::string(8000, 'k') + std::to_string(i));
  EXPECT_EQ(clients.Ask(0, Wait(keys)), "");
  for (const std::string& key : keys) {
    EXPECT_EQ(clients.Take(0), "");
    clients.Ask(1, Set(key, ""));
  }
  EXPECT_EQ(clients.Take(0), kStop);
  EXPECT_EQ(clients.Ask(0, Check(keys)), kReady);
}

// The value that a WAIT has found is the reply to the GET after it, and to no other one.
TEST(Session, DoesNotKeepTheValueOfAWait) {
  Clients clients(2);
  clients.Ask(1, Set("/a", "1"));
  EXPECT_EQ(clients.Ask(0, Wait({"/a"})), kStop);
  EXPECT_EQ(clients.Ask(0, Get("/a")), Blob("1"));
  clients.Ask(1, Set("/a", "2"));
  EXPECT_EQ(clients.Ask(0, Get("/a")), Blob("2"));
  EXPECT_EQ(clients.Ask(0, Wait({"/a"})), kStop);
  EXPECT_EQ(clients.Ask(0, Get("/b")), Blob(""));
  clients.Ask(1, Set("/a", "3"));
  EXPECT_EQ(clients.Ask(0, Get("/a")), Blob("3"));
}

TEST(Session, CancelsAWait) {
  Clients clients(2);
  clients.Ask(0, Wait({"/a"}));
  EXPECT_EQ(clients.Ask(0, Code(Op::kCancelWait)), kCancelled);
  clients.Ask(1, Set("/a", "1"));
  EXPECT_EQ(clients.Take(0), "");
  EXPECT_EQ(clients.Ask(0, Get("/a")), Blob("1"));
  clients.Ask(0, Wait({"/b", "/c"}));
  EXPECT_EQ(clients.Ask(0, Code(Op::kCancelWait)), kCancelled);
  EXPECT_EQ(clients.Ask(0, Wait({"/a"})), kStop);
}

// The client has sent CANCEL_WAIT before it could see that the wait had ended.
TEST(Session, AnswersACancelAfterTheWaitHasEnded) {
  Clients clients(1);
  clients.Ask(0, Set("/a", "1"));
  EXPECT_EQ(clients.Ask(0, Wait({"/a"})), kStop);
  EXPECT_EQ(clients.Ask(0, Code(Op::kCancelWait)), kCancelled);
  EXPECT_EQ(clients.Ask(0, Wait({"/a"}) + Code(Op::kCancelWait)), kCancelled);
}

// Clients of PyTorch 2.0 and older only stop listening.
TEST(Session, ServesAnOldClientAfterAWaitThatTimedOut) {
  Clients clients(2);
  clients.Send(0, std::string(1, '\5') + Keys({"/a"}));
  EXPECT_EQ(clients.Take(0), "");
  clients.Send(0, std::string(1, '\3') + Blob("/n") + I64(1));
  EXPECT_EQ(clients.Take(0), I64(1));
  clients.Ask(1, Set("/a", "1"));
  EXPECT_EQ(clients.Take(0), "");
}

TEST(Session, AnswersACancelWhileTheStoreIsAway) {
  Clients clients(2);
  clients.Greet(0);
  clients.HoldAnswers();
  EXPECT_EQ(clients.Ask(0, Wait({"/a"})), "");
  EXPECT_EQ(clients.Ask(0, Code(Op::kCancelWait)), kCancelled);
  EXPECT_EQ(clients.Ask(0, Barrier("/b", 1)), "");
  EXPECT_EQ(clients.Ask(0, Code(Op::kCancelWait)), kCancelled);
  clients.ReleaseAnswers();
  EXPECT_EQ(clients.Take(0), "");
  // The arrival counts, so the barrier is complete.
  EXPECT_EQ(clients.Ask(1, Barrier("/b", 2)), kStop);
}

TEST(Session, ServesRequestsInTheirOrder) {
  Clients clients(1);
  clients.Greet(0);
  clients.HoldAnswers();
  clients.Ask(0, Set("/a", "1") + Get("/a") + Set("/a", "2") + Get("/a"));
  clients.ReleaseAnswers();
  EXPECT_EQ(clients.Take(0), Blob("1") + Blob("2"));
}

// A SET has no reply, so the client may send any number of them.
TEST(Session, KeepsAFewChangesInProgress) {
  Clients clients(2);
  clients.Greet(0);
  clients.HoldAnswers();
  for (int i = 0; i < 100; ++i) clients.Send(0, Set("/" + std::to_string(i), "1"));
  EXPECT_GT(clients.session(0).buffered(), 0u);
  clients.Send(0, Code(Op::kGetNumKeys));
  clients.ReleaseAnswers();
  EXPECT_EQ(clients.Take(0), I64(100));
}

TEST(Session, KeepsARequestThatArrivesDuringAWait) {
  Clients clients(2);
  EXPECT_EQ(clients.Ask(0, Wait({"/a"}) + Get("/a") + Get("/b")), "");
  clients.Ask(1, Set("/a", "1"));
  EXPECT_EQ(clients.Take(0), kStop + Blob("1") + Blob(""));
}

TEST(Session, CountsListsAndDeletesKeys) {
  Clients clients(1);
  clients.Ask(0, Set("/a", "1") + Set("/b", "2"));
  EXPECT_EQ(clients.Ask(0, Code(Op::kGetNumKeys)), I64(2));
  EXPECT_EQ(clients.Ask(0, Code(Op::kListKeys)), I64(2) + Blob("/a") + Blob("/b"));
  EXPECT_EQ(clients.Ask(0, Delete("/a")), I64(1));
  EXPECT_EQ(clients.Ask(0, Delete("/a")), I64(0));
  EXPECT_EQ(clients.Ask(0, Code(Op::kGetNumKeys)), I64(1));
}

TEST(Session, PassesElementsThroughQueues) {
  Clients clients(2);
  EXPECT_EQ(clients.Ask(0, Length("/q")), I64(0));
  EXPECT_EQ(clients.Ask(0, Pop("/q")), I64(0));
  clients.Ask(0, Push("/q", "1") + Push("/q", "2"));
  EXPECT_EQ(clients.Ask(1, Length("/q")), I64(2));
  EXPECT_EQ(clients.Ask(1, Wait({"/q"}) + Pop("/q")), kStop + I64(1) + Blob("1"));
  EXPECT_EQ(clients.Ask(1, Pop("/q")), I64(1) + Blob("2"));
  EXPECT_EQ(clients.Ask(1, Pop("/q")), I64(0));
  EXPECT_EQ(clients.Ask(1, Check({"/q"})), kNotReady);
}

// PyTorch's client waits and pops in two requests. Of several, a push must wake only one.
TEST(Session, GivesEachElementToOneWaitingClient) {
  Clients clients(3);
  EXPECT_EQ(clients.Ask(0, Wait({"/q"})), "");
  EXPECT_EQ(clients.Ask(1, Wait({"/q"})), "");
  clients.Ask(2, Push("/q", "1"));
  EXPECT_EQ(clients.Take(0), kStop);
  EXPECT_EQ(clients.Take(1), "");
  EXPECT_EQ(clients.Ask(0, Pop("/q")), I64(1) + Blob("1"));
  EXPECT_EQ(clients.Ask(0, Wait({"/q"})), "");  // the queue exists, but is empty
  clients.Ask(2, Push("/q", "2") + Push("/q", "3"));
  EXPECT_EQ(clients.Ask(1, Pop("/q")), kStop + I64(1) + Blob("2"));
  EXPECT_EQ(clients.Ask(0, Pop("/q")), kStop + I64(1) + Blob("3"));
}

// As after store.wait([queue]): PyTorch's client pops by WAIT and QUEUE_POP.
TEST(Session, GivesAnElementThatAWaitHasTakenToTheNextPop) {
  Clients clients(2);
  clients.Ask(0, Push("/q", "1") + Push("/q", "2"));
  EXPECT_EQ(clients.Ask(1, Wait({"/q"}) + Check({"/q"}) + Length("/q")), kStop + kReady + I64(2));
  EXPECT_EQ(clients.Ask(1, Wait({"/q"}) + Pop("/q")), kStop + I64(1) + Blob("1"));
  EXPECT_EQ(clients.Ask(1, Wait({"/q"}) + Pop("/q")), kStop + I64(1) + Blob("2"));
  EXPECT_EQ(clients.Ask(1, Check({"/q"}) + Length("/q")), kNotReady + I64(0));
}

TEST(Session, ReturnsAnElementThatTheClientDoesNotPop) {
  Clients clients(3);
  clients.Ask(0, Wait({"/q"}));
  clients.Ask(2, Push("/q", "1"));
  EXPECT_EQ(clients.Ask(0, Get("/a")), kStop + Blob(""));
  EXPECT_EQ(clients.Ask(1, Wait({"/q"})), kStop);
  clients.Disconnect(1);
  EXPECT_TRUE(clients.session(1).finished());
  EXPECT_EQ(clients.Ask(0, Wait({"/q"})), kStop);
  EXPECT_EQ(clients.Ask(0, Pop("/q")), I64(1) + Blob("1"));
}

TEST(Session, ReturnsAnElementThatArrivesAfterTheCancel) {
  Clients clients(2);
  clients.Ask(0, Push("/q", "1"));
  clients.Greet(1);
  clients.Ask(1, Get("/a"));
  clients.HoldAnswers();
  clients.Ask(1, Wait({"/q"}));
  clients.ReleaseAnswers();  // the wait takes the element
  EXPECT_EQ(clients.Take(1), kStop);
  EXPECT_EQ(clients.Ask(1, Code(Op::kCancelWait)), kCancelled);
  EXPECT_EQ(clients.Ask(0, Pop("/q")), I64(1) + Blob("1"));
}

TEST(Session, DoesNotTakeAnElementAfterACancel) {
  Clients clients(2);
  clients.Ask(0, Push("/q", "1") + Pop("/q"));
  clients.Take(0);
  EXPECT_EQ(clients.Ask(1, Wait({"/q"})), "");
  EXPECT_EQ(clients.Ask(1, Code(Op::kCancelWait)), kCancelled);
  EXPECT_EQ(clients.Ask(0, Push("/q", "2") + Pop("/q")), I64(1) + Blob("2"));
}

TEST(Session, CompletesABarrier) {
  Clients clients(3);
  EXPECT_EQ(clients.Ask(0, Barrier("/b", 3)), "");
  EXPECT_EQ(clients.Ask(1, Barrier("/b", 3)), "");
  EXPECT_EQ(clients.Ask(2, Barrier("/b", 3)), kStop);
  EXPECT_EQ(clients.Take(0), kStop);
  EXPECT_EQ(clients.Take(1), kStop);
  // As in PyTorch, the count goes on, and is the key's value.
  EXPECT_EQ(clients.Ask(0, Barrier("/b", 3)), kStop);
  EXPECT_EQ(clients.Ask(0, Get("/b")), Blob("4"));
  EXPECT_EQ(clients.Ask(0, Code(Op::kGetNumKeys)), I64(1));
  EXPECT_EQ(clients.Ask(0, Delete("/b")), I64(1));
  EXPECT_EQ(clients.Ask(0, Barrier("/b", 3)), "");
}

// A rank sends its last requests and exits.
TEST(Session, ServesWhatHasArrivedBeforeTheEndOfTheConnection) {
  Clients clients(2);
  clients.Greet(0);
  clients.HoldAnswers();
  clients.Send(0, Set("/a", "1") + Wait({"/none"}) + Set("/b", "2") + Barrier("/c", 2));
  clients.Disconnect(0);
  EXPECT_FALSE(clients.session(0).finished());
  clients.ReleaseAnswers();
  EXPECT_TRUE(clients.session(0).finished());
  EXPECT_EQ(clients.Take(0), "");
  EXPECT_EQ(clients.Ask(1, Check({"/a", "/b"})), kReady);
  EXPECT_EQ(clients.Ask(1, Barrier("/c", 2)), kStop);
}

TEST(Session, EndsTheWaitOfAClientThatIsGone) {
  Clients clients(2);
  clients.Ask(0, Wait({"/a"}));
  clients.Disconnect(0);
  EXPECT_TRUE(clients.session(0).finished());
}

TEST(Session, ClosesTheConnectionOfAClientThatBreaksTheProtocol) {
  Clients clients(1);
  EXPECT_EQ(clients.Ask(0, "\x63"), "");
  EXPECT_EQ(clients.closed(0), "it sent request code 99, which is not offered");
  EXPECT_EQ(clients.Ask(0, Get("/a")), "");
  clients.Disconnect(0);
  EXPECT_TRUE(clients.session(0).finished());
}

TEST(Session, GivesUpAWaitWhenAnEarlierChangeFails) {
  Clients clients(2);
  clients.Ask(1, Push("/q", "1"));
  clients.Greet(0);
  clients.HoldAnswers();
  clients.Send(0, Set("/q", "1") + Wait({"/a"}));
  clients.ReleaseAnswers();
  EXPECT_THAT(clients.closed(0), HasSubstr("'t/k/q'"));
  clients.Disconnect(0);
  EXPECT_TRUE(clients.session(0).finished());
}

TEST(Session, ServesNothingWhileItIsPaused) {
  Clients clients(1);
  clients.Ask(0, Set("/a", "1"));
  clients.session(0).Pause();
  EXPECT_EQ(clients.Ask(0, Get("/a")), "");
  EXPECT_GT(clients.session(0).buffered(), 0u);
}

}  // namespace
}  // namespace muster::launcher::torch
