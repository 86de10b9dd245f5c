#include "options.h"

#include <stdlib.h>
#include <string.h>

static bool positive(const char * text, double * value)
{
  char * end = NULL;
  *value = strtod(text, &end);
  return end != text && *end == '\0' && *value >= 0;
}

static bool open_for_writing(const char * path, FILE ** file)
{
  *file = fopen(path, "w");
  if (!*file) {
    perror(path);
  }
  return *file != NULL;
}

bool options_parse(int argc, char ** argv, options_t * options)
{
  *options = (options_t){
    .topics = 1, .rate = 100, .count = 100, .size = 100, .prefix = "/load", .depth = 1000, .wait = 1, .seconds = 10};
  if (argc < 2 || (strcmp(argv[1], "pub") != 0 && strcmp(argv[1], "sub") != 0)) {
    fprintf(stderr, "usage: load pub|sub [--flag value]...\n");
    return false;
  }
  options->publish = strcmp(argv[1], "pub") == 0;
  for (int i = 2; i < argc; i++) {
    const char * flag = argv[i];
    if (strcmp(flag, "--best-effort") == 0) {
      options->best_effort = true;
      continue;
    }
    if (i + 1 >= argc) {
      fprintf(stderr, "%s needs a value\n", flag);
      return false;
    }
    const char * text = argv[++i];
    if (strcmp(flag, "--prefix") == 0) {
      options->prefix = text;
      continue;
    }
    if (strcmp(flag, "--sends") == 0 || strcmp(flag, "--stamps") == 0) {
      if (!open_for_writing(text, strcmp(flag, "--sends") == 0 ? &options->sends : &options->stamps)) {
        return false;
      }
      continue;
    }
    double value = 0;
    if (!positive(text, &value)) {
      fprintf(stderr, "%s: %s is no number\n", flag, text);
      return false;
    }
    if (strcmp(flag, "--topics") == 0) {
      options->topics = (int)value;
    } else if (strcmp(flag, "--rate") == 0) {
      options->rate = value;
    } else if (strcmp(flag, "--count") == 0) {
      options->count = (long)value;
    } else if (strcmp(flag, "--size") == 0) {
      options->size = (size_t)value;
    } else if (strcmp(flag, "--depth") == 0) {
      options->depth = (size_t)value;
    } else if (strcmp(flag, "--wait") == 0) {
      options->wait = (int)value;
    } else if (strcmp(flag, "--mark") == 0) {
      options->mark = (long)value;
    } else if (strcmp(flag, "--seconds") == 0) {
      options->seconds = value;
    } else if (strcmp(flag, "--poll") == 0) {
      options->poll_us = (long)value;
    } else {
      fprintf(stderr, "unknown flag %s\n", flag);
      return false;
    }
  }
  if (options->topics < 1 || options->rate <= 0) {
    fprintf(stderr, "--topics and --rate must be positive\n");
    return false;
  }
  return true;
}
