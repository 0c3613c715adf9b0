// The verbs, in the order in which `headrace --help` shows them.
#pragma once

#include "cli/command.h"

namespace headrace::cli {

inline constexpr const char* kReshapeGroup = "write data sets anew";
inline constexpr const char* kPlanGroup = "plans, versions";

extern const Verb kPack;
extern const Verb kLs;
extern const Verb kCat;
extern const Verb kInfo;
extern const Verb kIndex;
extern const Verb kVerify;
extern const Verb kShow;
extern const Verb kSplit;
extern const Verb kMerge;
extern const Verb kConcat;
extern const Verb kConvert;
extern const Verb kShuffle;
extern const Verb kSelect;
extern const Verb kSort;
extern const Verb kDedupe;
extern const Verb kRename;
extern const Verb kProject;
extern const Verb kJoin;
extern const Verb kZip;
extern const Verb kMap;
extern const Verb kPlan;
extern const Verb kRun;
extern const Verb kRunTask;
extern const Verb kResume;
extern const Verb kStatus;
extern const Verb kAbandon;
extern const Verb kCopy;
extern const Verb kCache;
extern const Verb kServe;
extern const Verb kHistory;
extern const Verb kRestore;
extern const Verb kGc;

inline constexpr const Verb* kVerbs[] = {
    &kPack,    &kLs,      &kCat,     &kInfo,    &kIndex,  &kVerify, &kShow,    &kSplit,
    &kMerge,   &kConcat,  &kConvert, &kShuffle, &kSelect, &kSort,   &kDedupe,  &kRename,
    &kProject, &kJoin,    &kZip,     &kMap,     &kPlan,   &kRun,    &kRunTask, &kResume,
    &kStatus,  &kAbandon, &kHistory, &kRestore, &kGc,     &kCopy,   &kCache,   &kServe};

}  // namespace headrace::cli
