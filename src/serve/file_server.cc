#include "serve/file_server.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <list>
#include <mutex>
#include <thread>

#include "base/block_signals.h"
#include "base/try.h"
#include "io/file.h"
#include "io/system_error.h"
#include "serve/connection.h"

namespace headrace {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* ip4 = reinterpret_cast<const sockaddr_in*>(address);
    return ntohl(ip4->sin_addr.s_addr) >> 24 == 127;
  }
  const auto* ip6 = reinterpret_cast<const sockaddr_in6*>(address);
  return IN6_IS_ADDR_LOOPBACK(&ip6->sin6_addr) != 0;
}

Result<Addresses> look_up(const ServeOptions& options) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(options.port);
  if (const int problem = ::getaddrinfo(options.host.c_str(), port.c_str(), &hints, &found))
    return Error{.code = Code::kUsage,
                 .message = "cannot listen on '" + options.host + "': " + ::gai_strerror(problem)};
  return Addresses(found);
}

Result<File> listen_on(const ServeOptions& options) {
  HR_TRY(const Addresses addresses, look_up(options));
  const addrinfo& first = *addresses;
  if (options.token.empty() && !is_loopback(first.ai_addr))
    return Error{
        .code = Code::kUsage,
        .message = "without a token only this machine is served, not '" + options.host + "'",
        .hint = "Give --token, or let --host be 127.0.0.1."};
  File listener(::socket(first.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  const std::string name = options.host + ":" + std::to_string(options.port);
  if (!listener.is_open() ||
      ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(listener.get(), first.ai_addr, first.ai_addrlen) != 0 ||
      ::listen(listener.get(), 1024) != 0)
    return system_error("listen on", name, errno);
  return listener;
}

Result<uint16_t> port_of(const File& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return system_error("look at", "the socket", errno);
  if (address.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

}  // namespace

class FileServer::Impl {
 public:
  Impl(ServeOptions options, File root, File listener, uint16_t port)
      : options_(std::move(options)),
        root_(std::move(root)),
        listener_(std::move(listener)),
        stop_(::eventfd(0, EFD_CLOEXEC)),
        port_(port),
        acceptor_([this] { accept_all(); }) {}

  ~Impl() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = ::write(stop_.get(), &one, sizeof one);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const Client& client : clients_) ::shutdown(client.socket.get(), SHUT_RDWR);
    }
    for (Client& client : clients_) client.thread.join();
  }

  uint16_t port() const { return port_; }
  const ServeCounters& counters() const { return counters_; }

 private:
  struct Client {
    File socket;
    std::thread thread;
    bool ended = false;
  };

  void accept_all() {
    pollfd watched[] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    while (true) {
      if (::poll(watched, 2, -1) < 0 && errno != EINTR) return;
      if (watched[1].revents != 0) return;
      if (watched[0].revents == 0) continue;
      File socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      forget_ended();
      // Out of descriptors: those that are served first give some back.
      if (!socket.is_open() && (errno == EMFILE || errno == ENFILE))
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (socket.is_open()) serve(std::move(socket));
    }
  }

  void forget_ended() {
    const std::lock_guard lock(mutex_);
    for (auto i = clients_.begin(); i != clients_.end();) {
      if (!i->ended) {
        ++i;
        continue;
      }
      i->thread.join();
      i = clients_.erase(i);
    }
  }

  void serve(File socket) {
    const std::lock_guard lock(mutex_);
    const bool full = clients_.size() >= options_.max_connections;
    Client& client = clients_.emplace_back();
    client.socket = std::move(socket);
    client.thread = std::thread([this, &client, full] {
      Connection connection(options_, root_, client.socket, counters_);
      if (full)
        connection.refuse(503);
      else
        connection.serve();
      const std::lock_guard ending(mutex_);
      ::shutdown(client.socket.get(), SHUT_RDWR);
      client.ended = true;
    });
  }

  const ServeOptions options_;
  const File root_;
  const File listener_;
  const File stop_;
  const uint16_t port_;
  ServeCounters counters_;
  std::mutex mutex_;
  std::list<Client> clients_;
  std::thread acceptor_;
};

Result<std::unique_ptr<FileServer>> FileServer::start(ServeOptions options) {
  File root = open_file(AT_FDCWD, options.folder.c_str(), O_PATH | O_DIRECTORY);
  if (!root.is_open()) return system_error("open", options.folder, errno);
  HR_TRY(File listener, listen_on(options));
  HR_TRY(const uint16_t port, port_of(listener));
  const BlockSignals block;
  return std::unique_ptr<FileServer>(new FileServer(
      std::make_unique<Impl>(std::move(options), std::move(root), std::move(listener), port)));
}

FileServer::FileServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FileServer::~FileServer() = default;

uint16_t FileServer::port() const { return impl_->port(); }
const ServeCounters& FileServer::counters() const { return impl_->counters(); }

}  // namespace headrace
