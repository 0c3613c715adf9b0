// A read that others wait for too, so that nothing stops it. Who asked for it may leave all the
// same, told by the token of its thread (StopScope): its own `done` is called then, with
// Code::kInterrupted, and the read goes on into memory of its own.
// For reads that somebody waits for (kNow): loaders own the memory of theirs.
//
// Thread-safety: all of it; `done` is called once.
#pragma once

#include <string>

#include "headrace/bytes.h"
#include "headrace/store.h"

namespace headrace {

/// What to read into, and what to call then; it keeps the memory.
struct LeavableRead {
  MutableBytes into;
  ByteSource::Done done;
};

/// For a read of `object` into `into`, whose end `done` wants to hear of. Where nobody leaves, it
/// is these two.
LeavableRead leavable_read(const std::string& object, MutableBytes into, Deadline deadline,
                           ByteSource::Done done);

}  // namespace headrace
