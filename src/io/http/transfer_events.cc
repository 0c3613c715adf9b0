#include "io/http/transfer_events.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "io/system_error.h"

namespace headrace {
namespace {

constexpr int kMostEvents = 64;  // of one wait

/// Watches a descriptor for other events than before, or for the first time.
bool watch(int epoll, int descriptor, uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = descriptor}};
  if (::epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) == 0) return true;
  return errno == ENOENT && ::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

int milliseconds_until(TransferEvents::Clock::time_point until) {
  const auto left = until - TransferEvents::Clock::now();
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<int64_t>(wait, 0, 60'000));
}

}  // namespace

TransferEvents::TransferEvents(CURLM* multi)
    : multi_(multi),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_.is_open() || !wake_.is_open() || !watch(epoll_.get(), wake_.get(), EPOLLIN))
    status_ = system_error("wait for", "connections", errno);
  curl().multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &TransferEvents::on_socket);
  curl().multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl().multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &TransferEvents::on_timer);
  curl().multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

TransferEvents::~TransferEvents() {
  curl().multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, nullptr);
  curl().multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, nullptr);
}

int TransferEvents::on_socket(CURL*, curl_socket_t socket, int what, void* self, void*) {
  const int epoll = static_cast<TransferEvents*>(self)->epoll_.get();
  if (what == CURL_POLL_REMOVE) {
    ::epoll_ctl(epoll, EPOLL_CTL_DEL, socket, nullptr);
    return 0;
  }
  const uint32_t in = (what & CURL_POLL_IN) != 0 ? uint32_t{EPOLLIN} : 0;
  const uint32_t out = (what & CURL_POLL_OUT) != 0 ? uint32_t{EPOLLOUT} : 0;
  return watch(epoll, socket, in | out) ? 0 : -1;
}

int TransferEvents::on_timer(CURLM*, long milliseconds, void* self) {
  auto& timer = static_cast<TransferEvents*>(self)->timer_;
  timer.reset();
  if (milliseconds >= 0) timer = Clock::now() + std::chrono::milliseconds(milliseconds);
  return 0;
}

void TransferEvents::act(curl_socket_t socket, int what) {
  int running = 0;
  curl().multi_socket_action(multi_, socket, what, &running);
}

void TransferEvents::wait(Clock::time_point until) {
  std::array<epoll_event, kMostEvents> events;
  if (timer_) until = std::min(until, *timer_);
  const int count =
      ::epoll_wait(epoll_.get(), events.data(), kMostEvents, milliseconds_until(until));
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.fd == wake_.get()) {
      uint64_t times = 0;
      [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &times, sizeof times);
      continue;
    }
    const int in = (event.events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0;
    const int out = (event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0;
    const int error = (event.events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0;
    act(event.data.fd, in | out | error);
  }
  if (!timer_ || *timer_ > Clock::now()) return;
  timer_.reset();  // or curl would not name the same time again
  act(CURL_SOCKET_TIMEOUT, 0);
}

void TransferEvents::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = ::write(wake_.get(), &one, sizeof one);
}

}  // namespace headrace
