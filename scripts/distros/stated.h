// What bindgen does not write down of the C interface of ROS: the macros that the C and Go code of node/ and rclgo use,
// and functions whose headers bindgen was not given or told to leave out. With the distros that are installed here it is
// compared, but for the codes of actions: their numbers changed in Kilted, and nothing here looks at one.
#define RMW_MESSAGE_INFO_SEQUENCE_NUMBER_UNSUPPORTED UINT64_MAX
#define RMW_RET_OK 0
#define RMW_RET_ERROR 1
#define RMW_RET_TIMEOUT 2
#define RMW_RET_UNSUPPORTED 3
#define RMW_RET_BAD_ALLOC 10
#define RMW_RET_INVALID_ARGUMENT 11
#define RMW_RET_INCORRECT_RMW_IMPLEMENTATION 12
#define RCUTILS_RET_OK 0
#define RCUTILS_RET_ERROR 2
#define RCL_RET_OK 0
#define RCL_RET_ERROR 1
#define RCL_RET_TIMEOUT 2
#define RCL_RET_UNSUPPORTED 3
#define RCL_RET_BAD_ALLOC 10
#define RCL_RET_INVALID_ARGUMENT 11
#define RCL_RET_ALREADY_INIT 100
#define RCL_RET_NOT_INIT 101
#define RCL_RET_MISMATCHED_RMW_ID 102
#define RCL_RET_TOPIC_NAME_INVALID 103
#define RCL_RET_SERVICE_NAME_INVALID 104
#define RCL_RET_UNKNOWN_SUBSTITUTION 105
#define RCL_RET_ALREADY_SHUTDOWN 106
#define RCL_RET_NODE_INVALID 200
#define RCL_RET_NODE_INVALID_NAME 201
#define RCL_RET_NODE_INVALID_NAMESPACE 202
#define RCL_RET_NODE_NAME_NON_EXISTENT 203
#define RCL_RET_PUBLISHER_INVALID 300
#define RCL_RET_SUBSCRIPTION_INVALID 400
#define RCL_RET_SUBSCRIPTION_TAKE_FAILED 401
#define RCL_RET_CLIENT_INVALID 500
#define RCL_RET_CLIENT_TAKE_FAILED 501
#define RCL_RET_SERVICE_INVALID 600
#define RCL_RET_SERVICE_TAKE_FAILED 601
#define RCL_RET_TIMER_INVALID 800
#define RCL_RET_TIMER_CANCELED 801
#define RCL_RET_WAIT_SET_INVALID 900
#define RCL_RET_WAIT_SET_EMPTY 901
#define RCL_RET_WAIT_SET_FULL 902
#define RCL_RET_INVALID_REMAP_RULE 1001
#define RCL_RET_WRONG_LEXEME 1002
#define RCL_RET_INVALID_ROS_ARGS 1003
#define RCL_RET_INVALID_PARAM_RULE 1010
#define RCL_RET_INVALID_LOG_LEVEL_RULE 1020
#define RCL_RET_EVENT_INVALID 2000
#define RCL_RET_EVENT_TAKE_FAILED 2001
#define RCL_RET_ACTION_GOAL_ACCEPTED 2100
#define RCL_RET_ACTION_GOAL_REJECTED 2101
#define RCL_RET_ACTION_CLIENT_INVALID 2102
#define RCL_RET_ACTION_CLIENT_TAKE_FAILED 2103
#define RCL_RET_ACTION_SERVER_INVALID 2200
#define RCL_RET_ACTION_SERVER_TAKE_FAILED 2201
#define RCL_RET_ACTION_GOAL_HANDLE_INVALID 2300
#define RCL_RET_ACTION_GOAL_EVENT_INVALID 2301
#define RCL_RET_LIFECYCLE_STATE_REGISTERED 3000
#define RCL_RET_LIFECYCLE_STATE_NOT_REGISTERED 3001
#define rcl_error_is_set rcutils_error_is_set
#define rcl_get_default_allocator rcutils_get_default_allocator
#define rcl_get_error_string rcutils_get_error_string
#define rcl_get_zero_initialized_names_and_types rmw_get_zero_initialized_names_and_types
#define rcl_get_zero_initialized_topic_endpoint_info_array rmw_get_zero_initialized_topic_endpoint_info_array
#define rcl_names_and_types_fini rmw_names_and_types_fini
#define rcl_reset_error rcutils_reset_error
#define rcl_topic_endpoint_info_array_fini rmw_topic_endpoint_info_array_fini
#define rmw_get_zero_initialized_serialized_message rcutils_get_zero_initialized_uint8_array
#define rmw_serialized_message_fini rcutils_uint8_array_fini
#define rmw_serialized_message_init rcutils_uint8_array_init
#define rmw_serialized_message_resize rcutils_uint8_array_resize
extern rcl_ret_t rcl_expand_topic_name(
  const char * topic, const char * node, const char * node_namespace, const rcutils_string_map_t * substitutions,
  rcl_allocator_t allocator, char ** name);
extern rcl_ret_t rcl_remap_node_name(
  const rcl_arguments_t * local, const rcl_arguments_t * global, const char * name, rcl_allocator_t allocator,
  char ** remapped);
extern rcl_ret_t rcl_remap_node_namespace(
  const rcl_arguments_t * local, const rcl_arguments_t * global, const char * name, rcl_allocator_t allocator,
  char ** remapped);
extern const rosidl_message_type_support_t * get_message_typesupport_handle(
  const rosidl_message_type_support_t * handle, const char * identifier);
extern const rosidl_service_type_support_t * get_service_typesupport_handle(
  const rosidl_service_type_support_t * handle, const char * identifier);
extern const char * rosidl_typesupport_introspection_c__identifier;
#ifdef HAS_DESCRIPTIONS
extern bool rosidl_runtime_c__String__assign(rosidl_runtime_c__String * text, const char * value);
extern bool rosidl_runtime_c__type_description__TypeDescription__init(
  rosidl_runtime_c__type_description__TypeDescription * type);
extern void rosidl_runtime_c__type_description__TypeDescription__fini(
  rosidl_runtime_c__type_description__TypeDescription * type);
extern bool rosidl_runtime_c__type_description__TypeSource__Sequence__init(
  rosidl_runtime_c__type_description__TypeSource__Sequence * sources, size_t size);
extern void rosidl_runtime_c__type_description__TypeSource__Sequence__fini(
  rosidl_runtime_c__type_description__TypeSource__Sequence * sources);
extern bool rosidl_runtime_c__type_description__IndividualTypeDescription__Sequence__init(
  rosidl_runtime_c__type_description__IndividualTypeDescription__Sequence * types, size_t size);
extern bool rosidl_runtime_c__type_description__Field__Sequence__init(
  rosidl_runtime_c__type_description__Field__Sequence * fields, size_t size);
#endif
