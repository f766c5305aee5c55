# `cmake --install build/release --prefix DIR`: the program (its data is inside it) and its licence.
include(GNUInstallDirs)
if(TARGET sharewell)
  install(TARGETS sharewell RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS sharewell-supervise sharewell-pause RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/sharewell)
endif()
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
