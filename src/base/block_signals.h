// While one of these lives, its thread takes no signals, and neither do the threads it starts,
// ever: a Ctrl-C stays the program's, and a write to a connection that its peer closed is an error
// that is returned (EPIPE) instead of a SIGPIPE that ends the process, also where no flag asks for
// that, as with sendfile and in TLS libraries.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace headrace {

class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace headrace
