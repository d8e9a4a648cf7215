# lathe_add_kernels(TARGET WORKLOADS [NAME=]SPECIFICATION...
#                   [RECORDS FILE] [ON_MISS error|default] [TARGETS TARGET...] [PREFIX TEXT] [HIDDEN] [COLD]
#                   [LOAD LIBRARY...])
#
# Builds kernels for production with `lathe build` and makes TARGET a library of them: link it, include "TARGET.h".
#
#   lathe_add_kernels(net_kernels
#     WORKLOADS "fc1=matmul(m=1,n=4096,k=1024)" "fc2=matmul(m=1,n=1000,k=4096)"
#     RECORDS tunelogs/zen3.jsonl ON_MISS error TARGETS x86-64-v3 @zen3.target.json)
#   target_link_libraries(server PRIVATE net_kernels)
#
# WORKLOADS  what to build; a workload is a specification (`lathe workloads` lists them), or a file with a program in JSON.
# RECORDS    a text log of tuned schedules (`lathe db export`), relative to the source folder.
# ON_MISS    a workload without a record: an error that lists all of them (the default), or the default schedule.
# TARGETS    CPUs, or files of `lathe targets show`; the library picks among them when it runs. Default: host, which builds for
#            this machine alone.
# PREFIX     goes before every function's name. HIDDEN keeps the functions inside the shared object that links them.
# COLD       prefers records that were measured with cold caches; otherwise those of warm ones come first.
# LOAD       shared objects that define workloads.
#
# Nothing is tuned or timed, the same input gives the same bytes, and what is linked is the objects and lathe::runtime. It is
# built again when the log, a target file, a program or the `lathe` program changes. LATHE_PROGRAM is the program that does it.
function(lathe_add_kernels target)
  cmake_parse_arguments(ARG "HIDDEN;COLD" "RECORDS;ON_MISS;PREFIX" "WORKLOADS;TARGETS;LOAD" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS OR ARG_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "lathe_add_kernels(${target}): cannot make sense of ${ARG_UNPARSED_ARGUMENTS}${ARG_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT ARG_WORKLOADS)
    message(FATAL_ERROR "lathe_add_kernels(${target}): WORKLOADS is empty")
  endif()
  if(NOT ARG_ON_MISS)
    set(ARG_ON_MISS error)
  elseif(NOT ARG_ON_MISS MATCHES "^(error|default)$")
    message(FATAL_ERROR "lathe_add_kernels(${target}): ON_MISS is error or default, not ${ARG_ON_MISS}")
  endif()
  if(TARGET lathe_program) # Lathe's own tree
    set(program $<TARGET_FILE:lathe_program>)
    set(made_by lathe_program)
  elseif(LATHE_PROGRAM)
    set(program ${LATHE_PROGRAM})
    set(made_by ${LATHE_PROGRAM})
  else()
    message(FATAL_ERROR "lathe_add_kernels(${target}): the program `lathe` was not found; set LATHE_PROGRAM to it")
  endif()

  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target})
  set(command ${program})
  foreach(library ${ARG_LOAD})
    list(APPEND command --load ${library})
  endforeach()
  list(APPEND command build ${ARG_WORKLOADS} --name ${target} --on-miss ${ARG_ON_MISS} -o ${folder}
       --depfile ${folder}/${target}.d)
  if(ARG_RECORDS)
    get_filename_component(records ${ARG_RECORDS} ABSOLUTE)
    list(APPEND command --records ${records})
  endif()
  if(NOT ARG_TARGETS)
    set(ARG_TARGETS host)
  endif()
  foreach(cpu ${ARG_TARGETS})
    if(cpu MATCHES "^@(.+)$")
      get_filename_component(file ${CMAKE_MATCH_1} ABSOLUTE)
      set(cpu @${file})
    endif()
    list(APPEND command --target ${cpu})
  endforeach()
  if(ARG_PREFIX)
    list(APPEND command --prefix ${ARG_PREFIX})
  endif()
  if(ARG_HIDDEN)
    list(APPEND command --hidden)
  endif()
  if(ARG_COLD)
    list(APPEND command --cold)
  endif()

  file(MAKE_DIRECTORY ${folder}) # an include folder must exist when CMake runs
  set(library ${folder}/lib${target}.a)
  add_custom_command(OUTPUT ${library} ${folder}/${target}.h ${folder}/${target}.json
                     COMMAND ${command} DEPENDS ${made_by} DEPFILE ${folder}/${target}.d
                     WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} COMMENT "Building the kernels ${target}" VERBATIM)
  add_custom_target(${target}_build DEPENDS ${library} ${folder}/${target}.h)
  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${library} INTERFACE_INCLUDE_DIRECTORIES ${folder})
  target_link_libraries(${target} INTERFACE lathe::runtime $<$<PLATFORM_ID:Linux>:m>)
  add_dependencies(${target} ${target}_build)
endfunction()
