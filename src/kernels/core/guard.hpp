// Guards: checks that refuse input. A build for mutation tests (SAPWOOD_MUTANTS, see tools/mutants.py) can switch off one of them.
#pragma once
#ifdef SAPWOOD_MUTANTS
#include <cstdlib>
#include <cstring>
#include <source_location>
#include <string>
#endif

namespace sapwood {

#ifdef SAPWOOD_MUTANTS
// Whether the environment variable SAPWOOD_MUTANT names this guard: "scoring.cpp:42".
inline bool is_removed(const std::source_location& where) {
  const char* wanted = std::getenv("SAPWOOD_MUTANT");
  const char* slash = std::strrchr(where.file_name(), '/');
  return wanted && wanted == std::string(slash ? slash + 1 : where.file_name()) + ":" + std::to_string(where.line());
}
#endif

// What is wrong with a file: the text, or null where the guard is switched off.
#ifdef SAPWOOD_MUTANTS
inline const char* fault(const char* what, std::source_location where = std::source_location::current()) {
  return is_removed(where) ? nullptr : what;
}
#else
inline const char* fault(const char* what) { return what; }
#endif

}  // namespace sapwood
