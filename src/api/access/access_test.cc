#include "api/access/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/files/test_folder.h"

namespace sharewell::api {
namespace {

using platform::TestFolder;
using ::testing::HasSubstr;

TEST(Tokens, AreMadeFoundAndRevoked) {
  const TestFolder folder;
  const std::string path = folder.Path("tokens");
  TokenFile file(path);
  EXPECT_FALSE(file.Find("anything"));
  const core::Account ann{"ann", 1000, 1001, false}, root{"root", 0, 0, true};
  const auto anns = CreateToken(path, ann, "for the dashboard", 5);
  const auto roots = CreateToken(path, root, "", 6);
  ASSERT_TRUE(anns) << anns.error().message;
  ASSERT_TRUE(roots);
  EXPECT_EQ(file.Find(*anns), ann);
  EXPECT_EQ(file.Find(*roots), root);
  for (const std::string& wrong : {std::string(), anns->substr(1), *anns + "0", *anns + *roots,
                                   anns->substr(0, 9) + roots->substr(9)}) {
    EXPECT_FALSE(file.Find(wrong)) << wrong;
  }
  EXPECT_THAT(TestFolder::Read(path), testing::Not(HasSubstr(anns->substr(9))));
  struct stat now {};
  ASSERT_EQ(::stat(path.c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 0777, 0600U);

  const auto tokens = ReadTokens(path);
  ASSERT_TRUE(tokens);
  ASSERT_EQ(tokens->size(), 2U);
  EXPECT_EQ((*tokens)[0].label, "for the dashboard");
  EXPECT_EQ((*tokens)[1].account, root);
  ASSERT_TRUE(RevokeToken(path, (*tokens)[0].id));
  EXPECT_FALSE(file.Find(*anns));
  EXPECT_EQ(file.Find(*roots), root);
  EXPECT_EQ(RevokeToken(path, "nothing").error().kind, core::ErrorKind::kUsage);
  EXPECT_FALSE(CreateToken(path, ann, "two\nlines", 7));

  // A file that others may read gives no rights at all.
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_FALSE(file.Find(*roots));
  EXPECT_THAT(file.problem(), HasSubstr("chmod 600"));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_TRUE(file.Find(*roots));
  folder.Write("tokens", "rubbish\n");
  EXPECT_FALSE(file.Find(*roots));
  EXPECT_THAT(file.problem(), HasSubstr("line 1"));
}

class AccessTest : public ::testing::Test {
 protected:
  AccessTest() {
    const core::Account ann{"ann", 1000, 1000, false};
    token_ = "Bearer " + CreateToken(folder_.Path("tokens"), ann, "", 1).value();
  }
  static http::HttpRequest Ask(const std::string& method, http::ListenKind listen_at,
                               bool loopback = true) {
    http::HttpRequest request;
    request.method = method;
    request.path = "/api/v1/jobs";
    request.peer.came_by = listen_at;
    request.peer.loopback = loopback;
    request.host = "localhost:10401";
    return request;
  }
  int StatusOf(const http::HttpRequest& request) {
    const auto who = access_.Admit(request);
    return who ? 200 : who.error().status;
  }

  const TestFolder folder_;
  Access access_{{folder_.Path("tokens"), 4242, 77}};
  std::string token_;
};

TEST_F(AccessTest, TheKernelSaysWhoIsAtASocket) {
  const auto who = [&](std::uint32_t uid, std::vector<std::uint32_t> groups) {
    http::HttpRequest request = Ask("POST", http::ListenKind::kUnix);
    request.peer.uid = uid;
    request.peer.gid = 100;
    request.peer.groups = std::move(groups);
    request.authorization = "Bearer whatever it says";
    return access_.Admit(request).value().value();
  };
  EXPECT_EQ(who(0, {}).name, "root");
  EXPECT_TRUE(who(0, {}).admin);
  EXPECT_TRUE(who(77, {}).admin) << "the server's own";
  EXPECT_TRUE(who(1, {1, 4242}).admin) << "by group";
  EXPECT_FALSE(who(1, {1, 2}).admin);
  EXPECT_EQ(who(1, {1, 2}), (core::Account{"daemon", 1, 100, false}));
  EXPECT_EQ(StatusOf(Ask("GET", http::ListenKind::kUnix)), 403) << "the kernel says nothing";
}

TEST_F(AccessTest, A1_WhoHasNoAccountIsNobodyHere) {
  http::HttpRequest request = Ask("GET", http::ListenKind::kUnix);
  request.peer.uid = 4'000'000'000;
  EXPECT_EQ(StatusOf(request), 403);
  request.peer.groups = {4242};
  EXPECT_EQ(StatusOf(request), 403) << "an admin by group alone";
}

TEST_F(AccessTest, ElsewhereATokenDoes) {
  for (const http::ListenKind listen_at : {http::ListenKind::kTcp, http::ListenKind::kTls}) {
    const bool loopback = listen_at == http::ListenKind::kTcp;
    http::HttpRequest request = Ask("POST", listen_at, loopback);
    EXPECT_EQ(StatusOf(request), 401);
    request.authorization = token_;
    EXPECT_EQ(access_.Admit(request).value()->name, "ann");
    request.authorization = token_ + "0";
    EXPECT_EQ(StatusOf(request), 401);
    request.authorization = "Basic YW5uOmFubg==";
    EXPECT_EQ(StatusOf(request), 401);
    request.method = "GET";
    EXPECT_EQ(StatusOf(request), 401) << "a wrong token is not nobody";
    request.authorization.clear();
    EXPECT_EQ(StatusOf(request), loopback ? 200 : 401);
  }
  http::HttpRequest health = Ask("GET", http::ListenKind::kTls, false);
  health.path = "/healthz";
  EXPECT_EQ(StatusOf(health), 200);
  // The dashboard's files are the same on every server: what it shows it must ask for with a token.
  for (const char* path : {"/", "/dashboard/app.js"}) {
    http::HttpRequest page = Ask("GET", http::ListenKind::kTls, false);
    page.path = path;
    EXPECT_EQ(StatusOf(page), 200) << path;
  }
  for (const char* path : {"/api/v1", "/metrics", "/dashboard"}) {
    http::HttpRequest other = Ask("GET", http::ListenKind::kTls, false);
    other.path = path;
    EXPECT_EQ(StatusOf(other), 401) << path;
  }
}

TEST_F(AccessTest, ABrowserOnAnotherSitesBehalfIsRefused) {
  http::HttpRequest request = Ask("POST", http::ListenKind::kTcp);
  request.authorization = token_;
  request.origin = "https://evil.example";
  EXPECT_EQ(StatusOf(request), 403);
  request.origin = "null";
  EXPECT_EQ(StatusOf(request), 403);
  request.origin = "http://localhost:10401";
  EXPECT_EQ(StatusOf(request), 200);
  // A name that was made to point at this machine.
  http::HttpRequest rebound = Ask("GET", http::ListenKind::kTcp);
  rebound.host = "evil.example:10401";
  EXPECT_EQ(StatusOf(rebound), 421);
  for (const char* host : {"127.0.0.1:10401", "[::1]:10401", "localhost", "127.1.2.3"}) {
    rebound.host = host;
    EXPECT_EQ(StatusOf(rebound), 200) << host;
  }
  rebound.host = "127.evil.example";
  EXPECT_EQ(StatusOf(rebound), 421);
}

TEST_F(AccessTest, OwnersAndAdminsTouchJobs) {
  const core::Account ann{"ann", 1000, 1000, false}, admin{"adm", 5, 5, true};
  EXPECT_TRUE(Access::Touch(ann, 1000));
  EXPECT_TRUE(Access::Touch(admin, 1000));
  EXPECT_EQ(Access::Touch(ann, 1001).error().status, 403);
  EXPECT_EQ(Access::Touch(std::nullopt, 1000).error().status, 401);
  EXPECT_FALSE(access_.RunAs(ann)) << "the server is no root";
  EXPECT_TRUE(access_.RunAs({"self", 77, 77, true}));
  EXPECT_TRUE(Access({"", {}, 0}).RunAs(ann));
  EXPECT_EQ(GroupNamed("--admin-group", "4242").value(), 4242U);
  EXPECT_FALSE(GroupNamed("--admin-group", "no such group here"));
}

}  // namespace
}  // namespace sharewell::api
