// Tests that secrets are removed from a bundle.

#include "client/observe/bundle/redact.h"

#include <pthread.h>

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/text/secret_name.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::observe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Calls `call` on a thread with a stack as small as glibc's default under a low stack limit.
void OnASmallStack(std::function<void()> call) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  ASSERT_EQ(pthread_attr_setstacksize(&small, 256 << 10), 0);
  pthread_t thread;
  const auto run = [](void* what) -> void* {
    (*static_cast<std::function<void()>*>(what))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &small, run, &call), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
}

TEST(RedactTest, SecretsAreKnownByTheirNames) {
  for (const char* name : {"AWS_REGION",
                           "aws_secret_access_key",
                           "HF_TOKEN",
                           "MUSTER_TOKEN_FILE",
                           "MUSTER_PROCESS_SECRET",
                           "WANDB_API_KEY",
                           "DB_PASSWORD",
                           "MyPasswd",
                           "GOOGLE_APPLICATION_CREDENTIALS",
                           "SLURM_JWT",
                           "UCX_AUTH",
                           "x-auth",
                           "Proxy-Authorization",
                           "SSH_PASSPHRASE",
                           "DB_PASS",
                           "--pass",
                           "Pwd",
                           "X-Amz-Signature",
                           "sig",
                           "Set-Cookie",
                           "MAX_TOKENS"}) {
    EXPECT_TRUE(IsSecretName(name)) << name;
  }
  for (const char* name : {"NCCL_DEBUG", "MUSTER_RANK", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES",
                           "AUTHOR", "GIT_AUTHOR_NAME", "--tokenizer", "TOKENIZERS_PARALLELISM",
                           "BYPASS", "NCCL_SIGNAL", "OLDPWD", "passes"}) {
    EXPECT_FALSE(IsSecretName(name)) << name;
  }
}

TEST(RedactTest, TheFingerprintHasOnlyKnownVariables) {
  EXPECT_THAT(Fingerprint({"NCCL_DEBUG=INFO", "HOME=/root", "AWS_REGION=eu", "MUSTER_RANK=3",
                           "MUSTER_PROCESS_SECRET=aabb", "NCCL_KEY_FILE=/x", "PATH=/bin",
                           "UCX_URL=https://joe:pw@host/x?sig=abc", "SLURM_JWT=eyJh"}),
              ElementsAre("MUSTER_PROCESS_SECRET=(left out)", "MUSTER_RANK=3", "NCCL_DEBUG=INFO",
                          "NCCL_KEY_FILE=(left out)", "SLURM_JWT=(left out)",
                          "UCX_URL=https://(left out)@host/x?sig=(left out)"));
  EXPECT_THAT(Fingerprint({"HOME=/root"}), IsEmpty());
}

TEST(RedactTest, ArgumentsKeepTheirNames) {
  EXPECT_THAT(RedactArguments({"train", "--token=abc", "--api-key", "abc", "--epochs", "3",
                               "HF_TOKEN=abc", "--key", "--verbose", "s3://a:b@c/d"}),
              ElementsAre("train", "--token=(left out)", "--api-key", "(left out)", "--epochs", "3",
                          "HF_TOKEN=(left out)", "--key", "--verbose", "s3://(left out)@c/d"));
}

TEST(RedactTest, AnArgumentMayHoldACommandOrAHeader) {
  EXPECT_THAT(
      RedactArguments({"sh", "-c", "HF_HOME=/x HF_TOKEN=abc python t.py --key abc --lr=1", "-H",
                       "Authorization: Bearer abc", "--header=Authorization: Basic am9lOnB3"}),
      ElementsAre("sh", "-c", "HF_HOME=/x HF_TOKEN=(left out) python t.py --key (left out) --lr=1",
                  "-H", "Authorization: Bearer (left out)",
                  "--header=Authorization: Basic (left out)"));
}

TEST(RedactTest, OutputLosesTheValuesOfSecretNames) {
  const std::string text = RedactText(
      "step 3 loss 0.5\n"
      "token=abc123 next\n"
      "{\"api_key\": \"abc123\", \"lr\": 1}\n"
      "Authorization: Bearer abc123\n"
      "fetching https://joe:abc123@host/x\n");
  EXPECT_THAT(text, Not(HasSubstr("abc123")));
  EXPECT_THAT(text, HasSubstr("step 3 loss 0.5\n"));
  EXPECT_THAT(text, HasSubstr("\"lr\": 1"));
  EXPECT_THAT(text, HasSubstr(" next\n"));
}

TEST(RedactTest, OutputLosesEveryKindOfValueThatMayBeASecret) {
  for (const char* line : {
           "Authorization: Basic am9lOnB3MTIz, x",
           "authorization: Digest username=joe, response=abc123",
           "sent Basic am9lOmFiYzEyMw== to it",
           "password = \"abc123 abc123\"",
           "{'token': b'abc123'}",
           R"({\"api_key\": \"abc123\"})",
           R"({"secret": "x\"abc123"})",
           "token => abc123",
           "SLURM_JWT=abc123",
           "passphrase: abc123",
           "auth: token abc123",
           "https://joe:p@abc123@host/x",
           "https://host/x?X-Amz-Date=1&X-Amz-Signature=abc123",
           "https://host/x?se=2&sig=abc123%3D",
           "Cookie: a=1; session=abc123",
           "Server=db;Uid=joe;Pwd=abc123;",
           "mysql --db-pass abc123",
       }) {
    const std::string redacted = RedactText(line);
    EXPECT_THAT(redacted, HasSubstr(kLeftOut)) << line;
    EXPECT_THAT(redacted, AllOf(Not(HasSubstr("abc123")), Not(HasSubstr("am9l")))) << line;
  }
}

TEST(RedactTest, OutputKeepsOtherText) {
  for (const std::string line :
       {"author: joe", "basic training: step 3", "Basic training", "at https://host/joe@x", "key",
        "token=", "://", "a://@b", "Bearer", "\xff=\xfe"}) {
    EXPECT_EQ(RedactText(line), line);
  }
}

TEST(RedactTest, LongWordsTakeLinearTimeAndNoStack) {
  const std::string word(16 << 10, 'A');
  std::string plain;
  std::string named;
  std::string address;
  OnASmallStack([&] {
    plain = RedactText(word);
    named = RedactText(absl::StrCat("key=", word, "\n"));
    address = RedactText(absl::StrCat("x://", word, "@host"));
  });
  EXPECT_EQ(plain, word);
  EXPECT_EQ(named, "key=(left out)\n");
  EXPECT_EQ(address, "x://(left out)@host");
}

}  // namespace
}  // namespace muster::observe
