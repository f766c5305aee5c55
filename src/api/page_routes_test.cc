#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "api/api.h"
#include "api/fake_job_service.h"
#include "http/test_client.h"
#include "platform/files/test_folder.h"

namespace sharewell::api {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class PageRoutesTest : public ::testing::Test {
 protected:
  explicit PageRoutesTest(std::vector<PageFile> files = {
                              {"index.html", "text/html; charset=utf-8", "<p>page", "zipped page"},
                              {"app.js", "text/javascript", "script", "zipped script"}}) {
    server_ = std::move(
        http::HttpServer::Listen(std::vector<http::ListenAddress>{{}}, {.refusal = Problem})
            .value());
    ApiOptions options{.access = {folder_.Path("tokens"), {}, ::getuid()}};
    options.page = std::move(files);
    api_ = std::make_unique<Api>(
        *server_, service_, [this] { return store_.Open(); }, Studies{}, options);
    server_->Start();
  }
  ~PageRoutesTest() override {
    server_->Stop();
    api_.reset();
  }
  std::string Ask(const std::string& what, const std::string& header = "") const {
    const http::TestClient client(server_->Port());
    client.Send(what + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + header + "\r\n");
    return client.All();
  }

  platform::TestFolder folder_;
  FakeJobService service_;
  FakeJobStore store_;
  std::unique_ptr<http::HttpServer> server_;
  std::unique_ptr<Api> api_;
};

class NoPageTest : public PageRoutesTest {
 protected:
  NoPageTest() : PageRoutesTest(std::vector<PageFile>{}) {}
};

TEST_F(PageRoutesTest, FilesComeWithTheirTypeAndAStrictPolicy) {
  EXPECT_THAT(Ask("GET /"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Content-Type: text/html; charset=utf-8"),
                    HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'"),
                    Not(HasSubstr("unsafe")), HasSubstr("nosniff"), EndsWith("\r\n\r\n<p>page")));
  EXPECT_THAT(Ask("GET /dashboard/app.js"),
              AllOf(HasSubstr("Content-Type: text/javascript"), EndsWith("\r\n\r\nscript")));
  EXPECT_THAT(Ask("GET /dashboard/../tokens"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Ask("GET /dashboard/none.js"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Ask("POST /", "Content-Length: 0\r\n"), StartsWith("HTTP/1.1 405"));
}

TEST_F(PageRoutesTest, CompressedForThoseWhoTakeIt) {
  EXPECT_THAT(Ask("GET /", "Accept-Encoding: br, gzip\r\n"),
              AllOf(HasSubstr("Content-Encoding: gzip"), EndsWith("\r\n\r\nzipped page")));
  EXPECT_THAT(Ask("GET /", "Accept-Encoding: gzip;q=0\r\n"), EndsWith("\r\n\r\n<p>page"));
}

TEST_F(PageRoutesTest, WhoHasItIsToldSo) {
  const std::string whole = Ask("GET /dashboard/app.js");
  const auto at = whole.find("ETag: ") + 6;
  const std::string tag = whole.substr(at, whole.find('\r', at) - at);
  EXPECT_THAT(Ask("GET /dashboard/app.js", "If-None-Match: " + tag + "\r\n"),
              AllOf(StartsWith("HTTP/1.1 304 Not Modified"), EndsWith("\r\n\r\n")));
  EXPECT_THAT(Ask("GET /", "If-None-Match: " + tag + "\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(NoPageTest, SaysThatItWasLeftOut) {
  EXPECT_THAT(Ask("GET /"), AllOf(StartsWith("HTTP/1.1 501"), HasSubstr("without its dashboard")));
}

}  // namespace
}  // namespace sharewell::api
