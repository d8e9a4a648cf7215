# Helpers that every CMakeLists of the project uses.
find_program(LATHE_CCACHE ccache)
if(LATHE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LATHE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${LATHE_CCACHE})
endif()

# A sanitizer reaches the whole build: a program and a library that disagree about it do not link.
set(LATHE_SANITIZE "" CACHE STRING "Sanitizers for the whole build, e.g. address,undefined or thread")
if(LATHE_SANITIZE)
  add_compile_options(-fsanitize=${LATHE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LATHE_SANITIZE})
endif()

# lathe_warnings(target): the warnings that stay clean; errors in CI (LATHE_WERROR).
function(lathe_warnings target)
  # The optimiser of GCC 12 warns of what cannot happen inside std::string (its bug 105651) and std::variant.
  set(doubtful -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds -Wno-free-nonheap-object
      # Sources that are compiled together look like headers to it.
      -Wno-subobject-linkage)
  target_compile_options(${target} PRIVATE -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:${doubtful}>
                                           $<$<BOOL:${LATHE_WERROR}>:-Werror>)
endfunction()

# lathe_library(target ALIAS name FOLDERS folder... [EXCEPT folder...]): a library of all sources below the folders
# (relative to the repository root) but those below the exceptions, with the public headers and, privately, the layers
# under src/. With OBJECT instead of ALIAS: objects for another library, nothing that is installed.
function(lathe_library target)
  cmake_parse_arguments(ARG "OBJECT" "ALIAS" "FOLDERS;EXCEPT" ${ARGN})
  set(sources)
  foreach(folder ${ARG_FOLDERS})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
    list(APPEND sources ${found})
  endforeach()
  foreach(folder ${ARG_EXCEPT})
    list(FILTER sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/${folder}/")
  endforeach()
  if(ARG_OBJECT)
    add_library(${target} OBJECT ${sources})
  else()
    add_library(${target} ${sources})
    add_library(lathe::${ARG_ALIAS} ALIAS ${target})
  endif()
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
                             PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  lathe_warnings(${target})
  if(NOT ARG_OBJECT)
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${ARG_ALIAS})
    lathe_install_library(${target} ${ARG_ALIAS})
  endif()
endfunction()
