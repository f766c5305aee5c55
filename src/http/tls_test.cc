#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "http/http_server.h"
#include "http/test_client.h"
#include "platform/files/test_folder.h"

namespace sharewell::http {
namespace {

using ::testing::HasSubstr;

// A key and a certificate that it signed itself.
void MakeCertificate(const std::string& certificate, const std::string& key) {
  EVP_PKEY* pair = EVP_EC_gen("P-256");
  X509* x509 = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), -60);
  X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
  X509_set_pubkey(x509, pair);
  X509_NAME* name = X509_get_subject_name(x509);
  const auto* host = reinterpret_cast<const unsigned char*>("localhost");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, host, -1, -1, 0);
  X509_set_issuer_name(x509, name);
  X509_sign(x509, pair, EVP_sha256());
  std::FILE* file = std::fopen(certificate.c_str(), "w");
  PEM_write_X509(file, x509);
  std::fclose(file);
  file = std::fopen(key.c_str(), "w");
  PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  X509_free(x509);
  EVP_PKEY_free(pair);
}

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    MakeCertificate(folder_.Path("cert"), folder_.Path("key"));
    MakeCertificate(folder_.Path("cert2"), folder_.Path("key2"));
  }
  core::Result<std::unique_ptr<HttpServer>> Listen(const std::string& cert,
                                                   const std::string& key) {
    return HttpServer::Listen({ListenAddress{.kind = ListenKind::kTls,
                                             .endpoint = {"127.0.0.1", 0},
                                             .certificate = folder_.Path(cert),
                                             .key = folder_.Path(key)}},
                              {.timeout = core::Seconds(0.5)});
  }
  const platform::TestFolder folder_;
};

TEST_F(TlsTest, ServesPagesAndBodies) {
  auto listening = Listen("cert", "key");
  ASSERT_TRUE(listening) << listening.error().message;
  HttpServer& server = **listening;
  server.Route(
      "POST", "/echo",
      [](const HttpRequest& request, const Responder& responder) {
        responder.Answer({200,
                          "text/x",
                          request.body + (request.peer.came_by == ListenKind::kTls ? "!" : "?"),
                          {}});
      },
      1 << 21);
  server.Start();

  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_load_verify_locations(context, folder_.Path("cert").c_str(), nullptr);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  {
    const TestClient client(server.Port());
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, client.fd());
    ASSERT_EQ(SSL_connect(ssl), 1);
    const std::string body(1'000'000, 'b');
    const std::string request = "POST /echo HTTP/1.1\r\nConnection: close\r\nContent-Length: " +
                                std::to_string(body.size()) + "\r\n\r\n" + body;
    ASSERT_EQ(SSL_write(ssl, request.data(), static_cast<int>(request.size())),
              static_cast<int>(request.size()));
    std::string answer;
    char room[65536];
    for (int n = 0; (n = SSL_read(ssl, room, sizeof room)) > 0;) {
      answer.append(room, static_cast<std::size_t>(n));
    }
    EXPECT_EQ(SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN)
        << "cut off, not ended";
    EXPECT_TRUE(answer.ends_with(body + "!")) << answer.substr(0, 300);
    SSL_free(ssl);
  }
  SSL_CTX_free(context);
  // Whoever does not speak TLS, or never ends its greeting, is left.
  const TestClient plain(server.Port()), silent(server.Port());
  plain.Send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(plain.All(), testing::Not(HasSubstr("HTTP/1.1")));
  silent.Send("\x16\x03\x01");
  EXPECT_EQ(silent.All(), "");
}

TEST_F(TlsTest, WrongFilesAreNamed) {
  EXPECT_THAT(Listen("cert", "key2").error().message, HasSubstr("key values mismatch"));
  EXPECT_THAT(Listen("cert", "nothing").error().message, HasSubstr("--tls-key: "));
  EXPECT_THAT(Listen("key", "key").error().message, HasSubstr("--tls-cert: "));
  EXPECT_EQ(Listen("nothing", "key").error().kind, core::ErrorKind::kUsage);
}

}  // namespace
}  // namespace sharewell::http
