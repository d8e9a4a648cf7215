# Installing: `find_package(lathe COMPONENTS runtime)` for production programs, which need threads and nothing else;
# `lathe` (the compiler) and `tuner` bring LLVM and SQLite.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(LATHE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/lathe)

# lathe_install_library(target component): called by lathe_library for each library.
function(lathe_install_library target component)
  install(TARGETS ${target} EXPORT lathe-${component}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT lathe-${component} NAMESPACE lathe:: FILE lathe-${component}-targets.cmake DESTINATION ${LATHE_CMAKE_DIR})
endfunction()

# lathe_install_package(): headers, the package's configuration and version files, and the runtime's pkg-config file.
function(lathe_install_package)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lathe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lathe-config.cmake.in ${PROJECT_BINARY_DIR}/lathe-config.cmake
                                INSTALL_DESTINATION ${LATHE_CMAKE_DIR}
                                PATH_VARS CMAKE_INSTALL_BINDIR)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/lathe-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/lathe-config.cmake ${PROJECT_BINARY_DIR}/lathe-config-version.cmake
                ${PROJECT_SOURCE_DIR}/cmake/LatheKernels.cmake
          DESTINATION ${LATHE_CMAKE_DIR})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/lathe-runtime.pc.in ${PROJECT_BINARY_DIR}/lathe-runtime.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/lathe-runtime.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
