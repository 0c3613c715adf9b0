// Clients that go away in the middle of a file.
#include "serve/file_server.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "temporary_folder.h"

namespace headrace {
namespace {

constexpr size_t kSize = size_t{64} << 20;  // more than sockets hold

/// Asks for the file and resets the connection when the first bytes are there.
void ask_and_go_away(uint16_t port) {
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port = htons(port);
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&server), sizeof server), 0);
  const std::string request = "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n";
  ASSERT_EQ(::send(client, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  char first[64];
  ASSERT_GT(::recv(client, first, sizeof first, 0), 0);
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(client);
}

TEST(FileServer, OutlivesClientsThatGoAway) {
  std::signal(SIGPIPE, SIG_DFL);  // as a program has it that does not think of it
  const TemporaryFolder folder;
  write_file(folder / "large", std::string(kSize, 'x'));
  const auto server = FileServer::start({.folder = folder.path()}).value();
  for (int i = 0; i < 100; ++i) {
    std::thread one([&] { ask_and_go_away(server->port()); });
    std::thread other([&] { ask_and_go_away(server->port()); });
    one.join();
    other.join();
  }
  EXPECT_EQ(server->counters().requests, 200u);
  EXPECT_LT(server->counters().bytes, 200 * kSize);
}

}  // namespace
}  // namespace headrace
