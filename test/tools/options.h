#ifndef TOOLS_OPTIONS_H_
#define TOOLS_OPTIONS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// What the command line of `load` says; see load.c for the meaning of each flag.
typedef struct
{
  bool publish;
  int topics;
  double rate;
  long count;
  size_t size;
  const char * prefix;
  size_t depth;
  bool best_effort;
  int wait;
  long mark;
  FILE * sends;
  FILE * stamps;
  double seconds;
  long poll_us;
} options_t;

// Fills options from argv; prints what is wrong and returns false when it can not.
bool options_parse(int argc, char ** argv, options_t * options);

#endif  // TOOLS_OPTIONS_H_
