// Named moments of a job at which tests kill it: `fault_point("rooted")` ends the process, as
// SIGKILL does, when the environment says HEADRACE_CRASH_AT=rooted (or rooted:3, the third time).
// A look at one static flag otherwise.
#pragma once

namespace headrace {

void fault_point(const char* name);

}  // namespace headrace
