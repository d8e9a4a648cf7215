# LLVM: 19 is the version that the figures in docs/measurements.md come from; 16 and 22 compile. The configuration file of
# LLVM 19 answers to major.minor only, and an unversioned search takes whatever comes first, so ask in this order.
option(LATHE_STATIC_LLVM "Link LLVM statically: larger programs that start faster (needs libzstd-dev)" OFF)
foreach(version 19.1 22.1 16.0)
  find_package(LLVM ${version} QUIET CONFIG)
  if(LLVM_FOUND)
    break()
  endif()
endforeach()
if(NOT LLVM_FOUND)
  find_package(LLVM REQUIRED CONFIG)
endif()
if(LLVM_PACKAGE_VERSION VERSION_LESS 16)
  message(FATAL_ERROR "Lathe needs LLVM 16 or later, and prefers 19; found ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}. "
                      "Install llvm-19-dev, or point LLVM_DIR at another one.")
endif()
message(STATUS "lathe: LLVM ${LLVM_PACKAGE_VERSION}")

# Either the one shared library or the static components: mixing them registers every option twice.
if(LATHE_STATIC_LLVM)
  llvm_map_components_to_libnames(LATHE_LLVM_LIBRARIES native orcjit passes)
else()
  set(LATHE_LLVM_LIBRARIES LLVM)
endif()
