// The verbs, in the order in which `headrace --help` shows them.
#pragma once

#include "cli/command.h"

namespace headrace::cli {

extern const Verb kPack;
extern const Verb kLs;
extern const Verb kCat;
extern const Verb kInfo;
extern const Verb kIndex;
extern const Verb kVerify;
extern const Verb kShow;
extern const Verb kCopy;
extern const Verb kCache;
extern const Verb kServe;

inline constexpr const Verb* kVerbs[] = {&kPack,   &kLs,   &kCat,  &kInfo,  &kIndex,
                                         &kVerify, &kShow, &kCopy, &kCache, &kServe};

}  // namespace headrace::cli
