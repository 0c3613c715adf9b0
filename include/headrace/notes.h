// Things that people should know and that are no errors, as that a server makes reading slow. Each
// is kept once a process, until whoever faces people takes it: the program prints it on standard
// error, the Python package warns.
//
// Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace headrace {

/// Keeps the text, one or more sentences, unless it was kept before.
void note_once(const std::string& text);

/// What was noted since the last call, in order.
std::vector<std::string> take_notes();

}  // namespace headrace
