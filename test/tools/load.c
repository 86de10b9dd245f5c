// load: numbered traffic on plain rcl, and the cheapest possible receiver of it, for tests and for measuring.
//
//   load pub [--topics N] [--rate HZ] [--count N] [--size B] [--prefix P] [--depth D] [--best-effort]
//            [--wait N] [--mark N] [--sends FILE]
//     Publishes --count messages on each of the topics P/t0, P/t1, ... at --rate a topic, after each publisher has
//     --wait subscriptions (0 starts at once). Prints the line "matched" before the first message and "mark" after the
//     N-th message of the last topic. --sends writes "topic number wall-nanoseconds" before each send. When all
//     reliable messages are acknowledged it prints one line of JSON and ends.
//   load sub [--topics N] [--seconds S] [--prefix P] [--depth D] [--best-effort] [--poll US] [--stamps FILE]
//     Takes serialized messages and throws them away: the floor for any recorder. --poll drains at an interval instead
//     of waiting for each message. --stamps writes "topic number source-nanoseconds received-nanoseconds".
//
// A message is a std_msgs/String: 16 hexadecimal digits of a number that counts from 0 on each topic, then filler.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <rcl/error_handling.h>
#include <rcl/rcl.h>
#include <rosidl_runtime_c/message_type_support_struct.h>
#include <std_msgs/msg/string.h>

#include "options.h"

#define CHECK(call) check((call), #call)
#define SECOND 1000000000LL

enum { DIGITS = 16, TEXT_AT = 8, SMALLEST = TEXT_AT + DIGITS + 1, NAME_SIZE = 256 };
static const int64_t match_timeout = 30 * SECOND;
static const int64_t acknowledge_timeout = 20 * SECOND;

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
  (void)number;
  stopped = 1;
}

static void check(rcl_ret_t result, const char * what)
{
  if (result != RCL_RET_OK) {
    fprintf(stderr, "%s: %s\n", what, rcl_get_error_string().str);
    exit(1);
  }
}

static int64_t now(clockid_t clock)
{
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * SECOND + time.tv_nsec;
}

static void sleep_until(int64_t due)
{
  struct timespec time = {.tv_sec = due / SECOND, .tv_nsec = due % SECOND};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static double cpu_seconds(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// An empty std_msgs/String message of the wanted serialized size, the number still to be written at TEXT_AT.
static rcl_serialized_message_t filled_message(size_t size)
{
  rcl_allocator_t allocator = rcl_get_default_allocator();
  rcl_serialized_message_t message = rmw_get_zero_initialized_serialized_message();
  size_t length = size < SMALLEST ? SMALLEST : size;
  if (rmw_serialized_message_init(&message, length, &allocator) != RMW_RET_OK) {
    fprintf(stderr, "no memory for a message of %zu bytes\n", length);
    exit(1);
  }
  const uint8_t little_endian[4] = {0, 1, 0, 0};
  uint32_t text = (uint32_t)(length - TEXT_AT);
  memcpy(message.buffer, little_endian, sizeof little_endian);
  memcpy(message.buffer + 4, &text, sizeof text);
  for (size_t i = TEXT_AT; i < length - 1; i++) {
    message.buffer[i] = (uint8_t)('a' + i % 26);
  }
  message.buffer[length - 1] = 0;
  message.buffer_length = length;
  return message;
}

static bool all_matched(const rcl_publisher_t * publishers, const options_t * options)
{
  for (int i = 0; i < options->topics; i++) {
    size_t count = 0;
    CHECK(rcl_publisher_get_subscription_count(&publishers[i], &count));
    if (count < (size_t)options->wait) {
      return false;
    }
  }
  return true;
}

static void wait_for_match(const rcl_publisher_t * publishers, const options_t * options)
{
  int64_t end = now(CLOCK_MONOTONIC) + match_timeout;
  while (!stopped && !all_matched(publishers, options)) {
    if (now(CLOCK_MONOTONIC) > end) {
      fprintf(stderr, "not every topic has %d subscriptions\n", options->wait);
      exit(1);
    }
    sleep_until(now(CLOCK_MONOTONIC) + SECOND / 100);
  }
}

static void publish(rcl_node_t * node, const rosidl_message_type_support_t * type, const options_t * options)
{
  rcl_publisher_t * publishers = calloc((size_t)options->topics, sizeof *publishers);
  for (int i = 0; i < options->topics; i++) {
    char topic[NAME_SIZE];
    snprintf(topic, sizeof topic, "%s/t%d", options->prefix, i);
    rcl_publisher_options_t settings = rcl_publisher_get_default_options();
    settings.qos.depth = options->depth;
    if (options->best_effort) {
      settings.qos.reliability = RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
    }
    publishers[i] = rcl_get_zero_initialized_publisher();
    CHECK(rcl_publisher_init(&publishers[i], node, type, topic, &settings));
  }
  wait_for_match(publishers, options);
  puts("matched");
  fflush(stdout);

  rcl_serialized_message_t message = filled_message(options->size);
  double used = cpu_seconds();
  int64_t start = now(CLOCK_MONOTONIC);
  double step = (double)SECOND / options->rate / options->topics;
  long sent = 0;
  for (long number = 0; number < options->count && !stopped; number++) {
    char digits[DIGITS + 1];
    snprintf(digits, sizeof digits, "%016lx", number);
    memcpy(message.buffer + TEXT_AT, digits, DIGITS);
    for (int i = 0; i < options->topics; i++, sent++) {
      sleep_until(start + (int64_t)((double)sent * step));
      if (options->sends) {
        fprintf(options->sends, "%s/t%d %ld %" PRId64 "\n", options->prefix, i, number, now(CLOCK_REALTIME));
      }
      CHECK(rcl_publish_serialized_message(&publishers[i], &message, NULL));
    }
    if (number + 1 == options->mark) {
      puts("mark");
      fflush(stdout);
    }
  }
  double took = (double)(now(CLOCK_MONOTONIC) - start) / SECOND;
  used = cpu_seconds() - used;
  bool acknowledged = true;
  for (int i = 0; i < options->topics && !stopped; i++) {
    acknowledged = rcl_publisher_wait_for_all_acked(&publishers[i], acknowledge_timeout) == RCL_RET_OK && acknowledged;
  }
  printf(
    "{\"topics\":%d,\"sent\":%ld,\"seconds\":%.3f,\"bytes\":%zu,\"acknowledged\":%s,\"cpu\":%.3f}\n", options->topics,
    sent, took, message.buffer_length, acknowledged ? "true" : "false", used);
  for (int i = 0; i < options->topics; i++) {
    CHECK(rcl_publisher_fini(&publishers[i], node));
  }
  CHECK(rmw_serialized_message_fini(&message));
  free(publishers);
}

typedef struct
{
  uint64_t got;
  uint64_t missing;
  uint64_t bytes;
  uint64_t * next;  // by topic: the number that should come now
} tally_t;

static void drain(
  const rcl_subscription_t * subscription, int topic, rcl_serialized_message_t * message, tally_t * tally, FILE * stamps)
{
  rmw_message_info_t info;
  while (rcl_take_serialized_message(subscription, message, &info, NULL) == RCL_RET_OK) {
    char digits[DIGITS + 1] = {0};
    if (message->buffer_length >= SMALLEST) {
      memcpy(digits, message->buffer + TEXT_AT, DIGITS);
    }
    uint64_t number = strtoull(digits, NULL, 16);
    if (number > tally->next[topic]) {
      tally->missing += number - tally->next[topic];
    }
    tally->next[topic] = number + 1;
    tally->got++;
    tally->bytes += message->buffer_length;
    if (stamps) {
      fprintf(
        stamps, "%d %" PRIu64 " %" PRId64 " %" PRId64 "\n", topic, number, (int64_t)info.source_timestamp,
        (int64_t)info.received_timestamp);
    }
  }
  rcl_reset_error();
}

static void subscribe(
  rcl_context_t * context, rcl_node_t * node, const rosidl_message_type_support_t * type, const options_t * options)
{
  size_t topics = (size_t)options->topics;
  rcl_allocator_t allocator = rcl_get_default_allocator();
  rcl_subscription_t * subscriptions = calloc(topics, sizeof *subscriptions);
  for (int i = 0; i < options->topics; i++) {
    char topic[NAME_SIZE];
    snprintf(topic, sizeof topic, "%s/t%d", options->prefix, i);
    rcl_subscription_options_t settings = rcl_subscription_get_default_options();
    settings.qos.depth = options->depth;
    if (options->best_effort) {
      settings.qos.reliability = RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
    }
    subscriptions[i] = rcl_get_zero_initialized_subscription();
    CHECK(rcl_subscription_init(&subscriptions[i], node, type, topic, &settings));
  }
  puts("ready");
  fflush(stdout);

  rcl_wait_set_t set = rcl_get_zero_initialized_wait_set();
  CHECK(rcl_wait_set_init(&set, topics, 0, 0, 0, 0, 0, context, allocator));
  rcl_serialized_message_t message = filled_message(SMALLEST);
  tally_t tally = {.next = calloc(topics, sizeof(uint64_t))};
  double used = cpu_seconds();
  int64_t end = now(CLOCK_MONOTONIC) + (int64_t)(options->seconds * SECOND);
  while (!stopped && now(CLOCK_MONOTONIC) < end) {
    if (options->poll_us) {
      sleep_until(now(CLOCK_MONOTONIC) + options->poll_us * 1000);
    } else {
      CHECK(rcl_wait_set_clear(&set));
      for (size_t i = 0; i < topics; i++) {
        CHECK(rcl_wait_set_add_subscription(&set, &subscriptions[i], NULL));
      }
      if (rcl_wait(&set, SECOND / 10) != RCL_RET_OK) {
        rcl_reset_error();
        continue;
      }
    }
    for (size_t i = 0; i < topics; i++) {
      if (options->poll_us || set.subscriptions[i]) {
        drain(&subscriptions[i], (int)i, &message, &tally, options->stamps);
      }
    }
  }
  printf(
    "{\"got\":%" PRIu64 ",\"missing\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"cpu\":%.3f}\n", tally.got, tally.missing,
    tally.bytes, cpu_seconds() - used);
  CHECK(rcl_wait_set_fini(&set));
  for (size_t i = 0; i < topics; i++) {
    CHECK(rcl_subscription_fini(&subscriptions[i], node));
  }
  CHECK(rmw_serialized_message_fini(&message));
  free(tally.next);
  free(subscriptions);
}

int main(int argc, char ** argv)
{
  options_t options;
  if (!options_parse(argc, argv, &options)) {
    return 2;
  }
  rcl_allocator_t allocator = rcl_get_default_allocator();
  rcl_init_options_t init = rcl_get_zero_initialized_init_options();
  CHECK(rcl_init_options_init(&init, allocator));
  rcl_context_t context = rcl_get_zero_initialized_context();
  CHECK(rcl_init(0, NULL, &init, &context));
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);

  char name[NAME_SIZE];
  snprintf(name, sizeof name, "load_%s_%d", options.publish ? "pub" : "sub", (int)getpid());
  rcl_node_options_t node_options = rcl_node_get_default_options();
  node_options.enable_rosout = false;
  rcl_node_t node = rcl_get_zero_initialized_node();
  CHECK(rcl_node_init(&node, name, "", &context, &node_options));
  const rosidl_message_type_support_t * type = ROSIDL_GET_MSG_TYPE_SUPPORT(std_msgs, msg, String);
  if (options.publish) {
    publish(&node, type, &options);
  } else {
    subscribe(&context, &node, type, &options);
  }
  if (options.sends) {
    fclose(options.sends);
  }
  if (options.stamps) {
    fclose(options.stamps);
  }
  CHECK(rcl_node_fini(&node));
  CHECK(rcl_shutdown(&context));
  CHECK(rcl_context_fini(&context));
  CHECK(rcl_init_options_fini(&init));
  return 0;
}
